// The limits of a tier in the configuration file: every form, and what is said of a wrong one.
import { describe, expect, it, test } from 'vitest';
import type { Tier } from '../../src/tier.ts';
import { amountNumber, amountText, tierText } from '../../src/tier.ts';
import { faultsOf, load } from './folder.ts';

const file = (tier: string): string => `providers: { sim: }\ntiers:\n  team: ${tier}\n`;

function tier(text: string): Tier | undefined {
  return load(file(text)).tiers.get('team');
}

const limit = (kind: string, per: string, most: number, more = {}) => ({ kind, per, most, ...more });

describe('a tier', () => {
  test.each([
    ['60', [limit('requests', 'hour', 60)], 60, false],
    ['"60"', [limit('requests', 'hour', 60)], 60, false],
    ['{ requests: 60/hour }', [limit('requests', 'hour', 60)], 60, false],
    ['{ requests: 1000/day }', [limit('requests', 'day', 1000)], Infinity, true],
    [
      '{ requests: 60/hour, tokens: 2M/day, cost: 5/day }',
      [limit('requests', 'hour', 60), limit('tokens', 'day', 2_000_000), limit('cost', 'day', 5_000_000_000)],
      60,
      true,
    ],
    [
      '{ cost: [0.5/day, "10.000000001 / Month"], requests: [60/hour, 500/week] }',
      [
        limit('cost', 'day', 500_000_000),
        limit('cost', 'month', 10_000_000_001),
        limit('requests', 'hour', 60),
        limit('requests', 'week', 500),
      ],
      60,
      true,
    ],
    [
      '{ tokens: { limit: 2.5M/day, count: fresh } }',
      [limit('tokens', 'day', 2_500_000, { fresh: true })],
      Infinity,
      true,
    ],
    [
      '{ tokens: { limit: [1k/hour, 1B/week] } }',
      [limit('tokens', 'hour', 1000), limit('tokens', 'week', 1e9)],
      Infinity,
      true,
    ],
    ['{ cost: 0.1/hours }', [limit('cost', 'hour', 100_000_000)], Infinity, true],
  ])('%s', (text, limits, perHour, held) => {
    expect(tier(text)).toEqual({ perHour, limits, held });
  });

  it('in the long form takes the place of a built-in one, whole', () => {
    const { tiers } = load('providers: { sim: }\ntiers: { pro: { cost: 5/day } }\n');
    expect(tiers.get('pro')).toEqual({ perHour: Infinity, limits: [limit('cost', 'day', 5e9)], held: true });
    expect(tiers.get('lite')?.perHour).toBe(30);
  });

  const where = 'gateway.yaml:3 tiers.team';
  test.each([
    ['fast', `${where}: is not a number of requests an hour; write a whole number of 1 or more`],
    [
      '60/hour',
      `${where}: is not a number of requests an hour; write a whole number of 1 or more, or { requests: 60/hour, cost: 5/day }`,
    ],
    ['{}', `${where}: has no limit; write requests, tokens or cost`],
    ['{ costs: 5/day }', `${where}.costs: is not a known key; did you mean cost?`],
    ['{ cost: 5 }', `${where}.cost: names no period; write one like 5/day`],
    ['{ cost: }', `${where}.cost: is missing; write one like 5/day`],
    ['{ cost: 5/dya }', `${where}.cost: has an unknown period; did you mean day?`],
    ['{ cost: 5/year }', `${where}.cost: has an unknown period; known: hour, day, week, month`],
    ['{ cost: five/day }', `${where}.cost: is not a limit; write one like 5/day (hour, day, week, month)`],
    ['{ cost: -5/day }', `${where}.cost: is not a limit; write one like 5/day (hour, day, week, month)`],
    [
      '{ cost: 0/day }',
      `${where}.cost: is not an amount of USD; write more than 0, with nine decimals at most`,
    ],
    [
      '{ cost: 0.0000000001/day }',
      `${where}.cost: is not an amount of USD; write more than 0, with nine decimals at most`,
    ],
    [
      '{ cost: 9007199.3/month }',
      `${where}.cost: is not an amount of USD; write more than 0, with nine decimals at most`,
    ],
    ['{ cost: [5/day, 6/days] }', `${where}.cost[1]: limits the day twice; keep one`],
    ['{ cost: [] }', `${where}.cost: is an empty list; write 5/day`],
    [
      '{ tokens: 2X/day }',
      `${where}.tokens: has an unknown unit; write one like 2M/day, with k, M or B for thousands, millions or billions`,
    ],
    ['{ tokens: 1.5/day }', `${where}.tokens: is not a number of tokens; write a whole number of 1 or more`],
    [
      '{ tokens: { limit: 2M/day, count: frsh } }',
      `${where}.tokens.count: is not a known choice; write all or fresh`,
    ],
    [
      '{ tokens: { limt: 2M/day } }',
      `${where}.tokens.limt: is not a known key; did you mean limit?`,
      `${where}.tokens.limit: is missing; write one like 2M/day`,
    ],
    [
      '{ requests: { limit: 5/day } }',
      `${where}.requests: is not a limit; write one like 60/hour (hour, day, week, month)`,
    ],
  ])('%s is a fault', (text, ...lines) => {
    expect([...faultsOf(file(text))].sort()).toEqual(lines.sort());
  });

  it('is told in words', () => {
    const given = tier('{ requests: 1/hour, tokens: { limit: 2M/day, count: fresh }, cost: 0.25/month }');
    expect(given && tierText(given)).toBe(
      '1 request an hour, 2,000,000 tokens without cache reads a day, 0.25 USD a month',
    );
    expect(tierText({ perHour: Infinity, limits: [], held: false })).toBe('no limit');
  });
});

it('writes money with as many decimals as it has', () => {
  expect([1, 1_230_000_000, 5e9, 0, 9_007_199_254_740_991].map((nanos) => amountText('cost', nanos))).toEqual(
    ['0.000000001', '1.23', '5', '0', '9007199.254740991'],
  );
  expect(amountNumber('cost', 100_000_001)).toBe(0.100000001);
  expect(amountText('tokens', 100)).toBe('100');
});
