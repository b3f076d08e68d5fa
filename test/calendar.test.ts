// The windows of limits, in UTC: their edges, months of every length, and zones that change their clocks.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PERIODS, windowOf } from '../src/calendar.ts';

const at = (text: string): number => Date.parse(text);

describe('a window of the calendar', () => {
  it.each([
    ['hour', '2026-11-26T18:37:12Z', '2026-11-26T18:00:00Z', '2026-11-26T19:00:00Z'],
    ['day', '2026-11-26T23:59:59.999Z', '2026-11-26T00:00:00Z', '2026-11-27T00:00:00Z'],
    ['day', '2026-11-27T00:00:00Z', '2026-11-27T00:00:00Z', '2026-11-28T00:00:00Z'],
    ['week', '2026-11-26T12:00:00Z', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['week', '2026-11-29T23:59:59.999Z', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['week', '2026-11-30T00:00:00Z', '2026-11-30T00:00:00Z', '2026-12-07T00:00:00Z'],
    ['week', '1970-01-01T00:00:00Z', '1969-12-29T00:00:00Z', '1970-01-05T00:00:00Z'],
    ['month', '2026-01-31T23:59:59Z', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
    ['month', '2028-02-29T10:00:00Z', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
    ['month', '2026-08-31T00:00:00Z', '2026-08-01T00:00:00Z', '2026-09-01T00:00:00Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
    // Where Europe and America change their clocks.
    ['day', '2026-03-29T01:30:00Z', '2026-03-29T00:00:00Z', '2026-03-30T00:00:00Z'],
    ['hour', '2026-10-25T01:30:00Z', '2026-10-25T01:00:00Z', '2026-10-25T02:00:00Z'],
  ] as const)('%s of %s', (per, time, start, end) => {
    expect(windowOf(per, at(time))).toEqual({ start: at(start), end: at(end) });
  });

  it('follows the one before without a gap, and holds its own start, at any time', () => {
    const time = fc.integer({ min: 0, max: at('2200-01-01T00:00:00Z') });
    fc.assert(
      fc.property(time, fc.constantFrom(...PERIODS), (now, per) => {
        const { start, end } = windowOf(per, now);
        expect(start <= now && now < end).toBe(true);
        expect(windowOf(per, start)).toEqual({ start, end });
        expect(windowOf(per, end).start).toBe(end);
        expect(windowOf(per, start - 1).end).toBe(start);
        const begin = new Date(start);
        if (per !== 'hour') expect(begin.getUTCHours()).toBe(0);
        if (per === 'week') expect(begin.getUTCDay()).toBe(1);
        if (per === 'month') expect(begin.getUTCDate()).toBe(1);
      }),
    );
  });
});
