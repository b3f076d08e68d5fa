// `GET /api/oauth/usage`: what Claude Code's `/usage` shows under "Spend limit", whatever kind of limit the account has.
import { expect, describe, it } from 'vitest';
import { ENDS, place, send, type Place } from './place.ts';

async function usageOf({ server }: Place, key: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.url}/api/oauth/usage`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return (await answer.json()) as Record<string, unknown>;
}

const row = (group: string, percent: number, end: number): object => ({
  kind: 'spend',
  group,
  percent,
  resets_at: new Date(end * 1000).toISOString(),
  severity: 'normal',
  is_active: true,
});

describe("Claude Code's /usage", () => {
  it.each([
    ['day', 'daily'],
    ['week', 'weekly'],
    ['month', 'monthly'],
  ] as const)('is told a limit of money for a %s in cents', async (per, group) => {
    const at = await place({ cost: `0.05/${per}` });
    const reset = (await send(at)).headers.get('anthropic-ratelimit-unified-reset');
    const usage = await usageOf(at, at.native);
    const spent = { limit: null, used_credits: 1, utilization: null };
    const window = { limit: 5, used_credits: 1, utilization: 20 };
    expect(usage).toEqual({
      extra_usage: {
        ...{ is_enabled: true, monthly_limit: 5, used_credits: 1, utilization: 20, currency: 'USD' },
        daily: per === 'day' ? window : spent,
        weekly: per === 'week' ? window : spent,
      },
      limits: [row(group, 20, ENDS[per])],
    });
    expect(Number(reset)).toBe(ENDS[per]);
  });

  it('is told a limit of requests alone as hundredfold requests, not as money', async () => {
    const at = await place(60);
    for (let count = 0; count < 50; count += 1) await send(at);
    expect(await usageOf(at, at.native)).toEqual({
      extra_usage: {
        ...{ is_enabled: true, monthly_limit: 6000, used_credits: 5000, utilization: 83, currency: 'REQ' },
      },
      limits: [row('hourly', 83, ENDS.hour)],
    });
  });

  it('is told a limit of tokens in their own unit, and the fuller one of two', async () => {
    const at = await place({ tokens: '100/day', requests: '1000/hour' });
    await send(at);
    expect(await usageOf(at, at.native)).toMatchObject({
      extra_usage: { monthly_limit: 10_000, used_credits: 1000, utilization: 10, currency: 'TOK' },
      limits: [row('daily', 10, ENDS.day)],
    });
  });

  it('is told what was spent where nothing is limited', async () => {
    const at = await place({ cost: '1/day' });
    const free = await at.server.newKey({ account: 'free', tier: 'unlimited', native: true });
    await send(at, {}, free);
    // The row of the request is written with the next batch.
    at.clock.advance(1000);
    const spent = { limit: null, used_credits: 1, utilization: null };
    await expect
      .poll(() => usageOf(at, free))
      .toEqual({
        extra_usage: {
          ...{ is_enabled: true, monthly_limit: null, used_credits: 1, utilization: null, currency: 'USD' },
          ...{ daily: spent, weekly: spent },
        },
        limits: [],
      });
  });

  it('is told nothing of other accounts, and nothing without a key', async () => {
    const at = await place({ cost: '1/day' });
    await send(at);
    const other = await at.server.newKey({ account: 'other', tier: 'team' });
    expect(await usageOf(at, other)).toMatchObject({ extra_usage: { used_credits: 0 } });
    const answer = await fetch(`${at.server.url}/api/oauth/usage`);
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([401, 'false']);
  });
});
