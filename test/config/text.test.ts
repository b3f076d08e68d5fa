import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { didYouMean, didYouMeanAll } from '../../src/config/did-you-mean.ts';
import { parseDuration, parseSize } from '../../src/config/schema/scalars.ts';

describe('durations and sizes', () => {
  test.each([
    ['500ms', 500],
    ['10s', 10_000],
    ['2m', 120_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    [' 5 S ', 5000],
    ['1500', 1500],
    [1500, 1500],
    [0, 0],
    ['', undefined],
    ['s', undefined],
    ['1.5h', undefined],
    ['-1s', undefined],
    ['1h30m', 5_400_000],
    ['1d 2h 3m 4s 5ms', 93_784_005],
    ['1w', 604_800_000],
    ['1y', 31_536_000_000],
    ['30m1h', undefined],
    ['1h1h', undefined],
    ['1M', undefined],
    ['1h30M', undefined],
    ['1h30', undefined],
    ['1constructor', undefined],
    [1.5, undefined],
    [-1, undefined],
    [NaN, undefined],
    ['9999999999999999d', undefined],
  ])('%s is %s milliseconds', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    ['64KB', 64_000],
    ['32MiB', 33_554_432],
    ['1GiB', 1_073_741_824],
    ['2mb', 2_000_000],
    ['7B', 7],
    ['7', 7],
    [7, 7],
    ['7K', undefined],
    ['7 bytes', undefined],
    ['7s', undefined],
  ])('%s is %s bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });
});

describe('the nearest name', () => {
  const names = ['claude-sonnet-5', 'claude-opus-5', 'gpt-5.2', 'gpt-5-mini', 'auto', 'openai'];
  test.each([
    ['opnai', 'openai'],
    ['opneai', 'openai'],
    ['OPENAI', 'openai'],
    ['gpt5.2', 'gpt-5.2'],
    ['sonnet', 'claude-sonnet-5'],
    ['atuo', 'auto'],
    ['claude-sonnet-5-20260101', 'claude-sonnet-5'],
    ['zzz', undefined],
    ['', undefined],
  ])('of %s is %s', (name, expected) => {
    expect(didYouMean(name, names)).toBe(expected);
  });

  it('comes first among several', () => {
    expect(didYouMeanAll('claude-sonet-5', names, 2)).toEqual(['claude-sonnet-5', 'claude-opus-5']);
    expect(didYouMeanAll('gpt-5', names, 1)).toHaveLength(1);
  });

  it('of a name that exists is itself', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (list) => {
        const unique = [...new Map(list.map((name) => [name.toLowerCase(), name])).values()];
        for (const name of unique) expect(didYouMean(name, unique)).toBe(name);
      }),
    );
  });
});
