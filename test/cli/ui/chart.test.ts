import { describe, expect, it, test } from 'vitest';
import { chart, meter } from '../../../src/cli/ui/chart.ts';
import { HOUR_MS } from '../../../src/clock.ts';
import { displayWidth } from '../../../src/display-width.ts';

const START = Date.parse('2026-11-20T12:00:00Z');
const hours = (values: number[]) =>
  values.map((requests, index) => ({ hour: START + index * HOUR_MS, requests }));

test.each([
  [0, 10, '░░░░░░░░░░'],
  [5, 10, '█████░░░░░'],
  [10, 10, '██████████'],
  [99, 10, '██████████'],
  [1, 1000, '▏░░░░░░░░░'],
  [3, 0, '██████████'],
])('a meter of %i of %i', (used, limit, line) => {
  expect(meter(used, limit, 10)).toBe(line);
});

describe('chart', () => {
  it('draws a bar for each hour, with the hour under it', () => {
    expect(chart(hours([0, 1, 2, 4, 8]), { height: 2, width: 40, limit: 60 })).toEqual([
      '8 ┤                ███',
      '  │    ▂▂▂ ▄▄▄ ███ ███',
      '0 ┼────────────────────',
      '   12  13  14  15  16',
    ]);
  });

  it('shows even one request among thousands', () => {
    const [, bottom] = chart(hours([1, 5000]), { height: 2, width: 40, limit: 60 });
    expect(bottom).toContain('▁');
  });

  it.each([1, 2, 12, 24, 25, 49, 168, 720, 2160, 40_000])('keeps %i hours within any terminal', (count) => {
    const values = Array.from({ length: count }, (_, index) => index % 7);
    for (const width of [20, 38, 78, 120]) {
      for (const line of chart(hours(values), { height: 3, width, limit: 60 })) {
        expect(displayWidth(line), `${count} hours in ${width}: ${line}`).toBeLessThanOrEqual(width);
      }
    }
  });

  it('says so when a bar is more than an hour, and loses no request', () => {
    const lines = chart(hours(Array.from({ length: 168 }, () => 1)), { height: 1, width: 60, limit: 60 });
    expect(lines.at(-1)).toBe('one bar: 4 h');
    expect(lines[0]).toMatch(/^4 ┤/);
  });

  it('marks the hours that reached the limit', () => {
    const mark = (name: string) => (text: string) => `<${name}>${text}`;
    const style = {
      bold: mark('bold'),
      dim: (text: string) => text,
      red: mark('red'),
      green: mark('green'),
      yellow: mark('yellow'),
      cyan: mark('cyan'),
    };
    const [line] = chart(hours([10, 5]), { height: 1, width: 20, limit: 10, style });
    expect(line).toBe('10 ┤<red>███ <cyan>▄▄▄');
  });
});
