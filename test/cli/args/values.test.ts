import { describe, expect, test } from 'vitest';
import { parseExpiry, parseSince } from '../../../src/cli/args/values.ts';
import { NOW } from '../harness.ts';

const iso = (at: number) => new Date(at).toISOString();

describe('--expires', () => {
  test.each([
    ['30d', '2026-12-21T14:25:30.000Z'],
    ['1h', '2026-11-21T15:25:30.000Z'],
    ['2026-11-21', '2026-11-21T23:59:59.999Z'],
    ['2028-02-29', '2028-02-29T23:59:59.999Z'],
    ['2026-12-01T10:00Z', '2026-12-01T10:00:00.000Z'],
    ['2026-12-01T10:00', '2026-12-01T10:00:00.000Z'],
    ['2026-12-01T10:00:30.5+02:00', '2026-12-01T08:00:30.500Z'],
    ['2026-12-01 10:00:00z', '2026-12-01T10:00:00.000Z'],
  ])('%s is %s', (text, at) => {
    expect(iso(parseExpiry(text, NOW))).toBe(at);
  });

  test.each(['2026-11-20', '2026-11-21T14:25:30Z', '0s', '0h'])('%s is in the past', (text) => {
    expect(() => parseExpiry(text, NOW)).toThrow('past');
  });

  test.each([
    '',
    'soon',
    '30',
    '-1d',
    '2027-02-30',
    '2027-13-01',
    '2026-12-01T25:00Z',
    '30 fortnights',
    '1e3d',
    '999999999d',
  ])('%j cannot be read', (text) => {
    expect(() => parseExpiry(text, NOW)).toThrow();
  });
});

describe.each([
  { option: '--expires', parse: parseExpiry },
  { option: '--since', parse: parseSince },
])('$option', ({ parse }) => {
  test.each(['1M', '30D', '1H30m', '2weeks', '3 months'])(
    '%s has an unknown unit: the error lists the units',
    (text) => {
      expect(() => parse(text, NOW)).toThrow('the units are ms s m h d w y, in lower case');
    },
  );
});

describe('--since', () => {
  test.each([
    ['24h', '2026-11-20T14:25:30.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T10:00Z', '2026-11-21T10:00:00.000Z'],
    ['0s', '2026-11-21T14:25:30.000Z'],
  ])('%s is %s', (text, at) => {
    expect(iso(parseSince(text, NOW))).toBe(at);
  });

  test.each(['2026-11-22', '2026-11-21T15:00Z', '1990-01-01', 'yesterday', '99999d'])(
    '%s is refused',
    (text) => {
      expect(() => parseSince(text, NOW)).toThrow();
    },
  );
});
