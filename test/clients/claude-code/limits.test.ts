// Limits on Claude Code's screen: what it gets with an answer and at the end of a limit, and what clients without the mark get instead.
import { describe, expect, it } from 'vitest';
import { wholeOf } from '../../gateway/wire.ts';
import { ENDS, headersOf, NOW, place, send, type Place } from './place.ts';

const UNIFIED = 'anthropic-ratelimit-unified-';

/** Of the answer to the request of this number. */
async function nth(at: Place, count: number, question = {}): Promise<Record<string, string>> {
  for (let done = 1; done < count; done += 1) await send(at, question);
  return headersOf(await send(at, question), UNIFIED);
}

const shown = (status: string, utilization: string, end: number, threshold?: string): object => ({
  status,
  'representative-claim': 'overage',
  'overage-status': status,
  'overage-utilization': utilization,
  ...(threshold !== undefined && { 'overage-surpassed-threshold': threshold }),
  reset: String(end),
  'overage-reset': String(end),
});

describe('headers of an answer', () => {
  it('tell how full the hour is, with a threshold past 75 % and past 95 % alone', async () => {
    const at = await place(20);
    expect(await nth(at, 1)).toEqual(shown('allowed', '0.05', ENDS.hour));
    expect(await nth(at, 13)).toEqual(shown('allowed', '0.70', ENDS.hour));
    expect(await nth(at, 1)).toEqual(shown('allowed_warning', '0.75', ENDS.hour, '0.75'));
    expect(await nth(at, 3)).toEqual(shown('allowed_warning', '0.90', ENDS.hour, '0.75'));
    expect(await nth(at, 1)).toEqual(shown('allowed_warning', '0.95', ENDS.hour, '0.95'));
  });

  it('stay below one for the last request that is let in', async () => {
    const at = await place(2);
    expect(await nth(at, 2)).toEqual(shown('allowed_warning', '0.99', ENDS.hour, '0.95'));
  });

  it.each(['day', 'week', 'month'] as const)('tell how full a limit of money is, for a %s', async (per) => {
    const at = await place({ cost: `0.04/${per}` });
    expect(await nth(at, 1)).toEqual(shown('allowed', '0.25', ENDS[per]));
    expect(await nth(at, 2)).toEqual(shown('allowed_warning', '0.75', ENDS[per], '0.75'));
  });

  it('tell the fullest of requests, tokens and money, and of two that are as full the one that lasts longer', async () => {
    const at = await place({ requests: '100/hour', tokens: '1000/day', cost: ['0.2/week', '1/month'] });
    expect(await nth(at, 1)).toEqual(shown('allowed', '0.05', ENDS.week));
    const even = await place({ requests: '10/hour', cost: '0.1/month' });
    expect(await nth(even, 1)).toEqual(shown('allowed', '0.10', ENDS.month));
  });

  it('stand at streams too, with what is settled when the head goes out', async () => {
    const at = await place({ cost: '0.02/day' });
    const stream = { model: 'sim/echo', stream: true };
    await send(at);
    expect(await nth(at, 1, stream)).toEqual(shown('allowed', '0.50', ENDS.day));
  });

  it('come to a key without the mark if the request bears it, and else not at all', async () => {
    const at = await place(20);
    const marked = await send(at, { headers: { 'x-gateway-native': '1' } }, at.plain);
    expect(headersOf(marked, UNIFIED)).toEqual(shown('allowed', '0.05', ENDS.hour));
    const plain = await send(at, {}, at.plain);
    expect(headersOf(plain, UNIFIED)).toEqual({});
    expect(plain.headers.get('anthropic-ratelimit-requests-remaining')).toBe('18');
  });

  it('are left out where the account has no limit', async () => {
    const at = await place(20);
    const free = await at.server.newKey({ account: 'free', tier: 'unlimited', native: true });
    expect(headersOf(await send(at, {}, free), 'anthropic-ratelimit-')).toEqual({});
  });

  it("are the gateway's own, never a provider's", async () => {
    const at = await place(20);
    at.upstream.playAlways({
      body: wholeOf('chat', 'hello'),
      headers: { [`${UNIFIED}status`]: 'rejected', [`${UNIFIED}5h-utilization`]: '1' },
    });
    expect(headersOf(await send(at, {}, at.plain), UNIFIED)).toEqual({});
    expect(await nth(at, 1)).not.toHaveProperty('5h-utilization');
  });
});

describe('the end of a limit', () => {
  const ended = (end: number, period?: string): object => ({
    status: 'rejected',
    reset: String(end),
    'overage-reset': String(end),
    'overage-utilization': '1',
    'overage-surpassed-threshold': '1',
    ...(period !== undefined && { 'overage-period': period }),
    'overage-disabled-reason': 'org_spend_cap_reached',
  });

  it('of requests is one sentence of a billing error, without a word for the hour', async () => {
    const at = await place(1);
    await send(at);
    const seen = await send(at);
    expect([seen.status, seen.error?.type]).toEqual([429, 'billing_error']);
    expect(seen.error?.message).toMatch(
      /has used 1 of 1 request of this hour .*; the next hour begins at .*; for more/,
    );
    expect(headersOf(seen, UNIFIED)).toEqual(ended(ENDS.hour));
    expect(seen.headers.get('retry-after')).toBe(String(ENDS.hour - Math.floor(NOW / 1000)));
    expect(seen.headers.get('x-should-retry')).toBe('false');
    expect(at.upstream.requests).toHaveLength(1);
  });

  it.each([
    ['day', 'daily'],
    ['week', 'weekly'],
    ['month', 'monthly'],
  ] as const)('of money for a %s names the period', async (per, word) => {
    const at = await place({ cost: `0.01/${per}` });
    await send(at);
    for (const stream of [false, true]) {
      const seen = await send(at, { stream });
      expect([seen.status, seen.error?.type]).toEqual([429, 'billing_error']);
      expect(seen.error?.message).toContain(`has spent 0.01 of 0.01 USD of this ${per}`);
      expect(headersOf(seen, UNIFIED)).toEqual(ended(ENDS[per], word));
      expect(seen.headers.get('x-should-retry')).toBe('false');
    }
    expect(at.upstream.requests).toHaveLength(1);
  });

  it('in the last minute of a window is final for a client with the mark', async () => {
    const at = await place(1);
    await send(at);
    at.clock.advance(ENDS.hour * 1000 - NOW - 30_000);
    const seen = await send(at);
    expect([seen.headers.get('retry-after'), seen.headers.get('x-should-retry')]).toEqual(['30', 'false']);
    expect((await send(at, {}, at.plain)).headers.has('x-should-retry')).toBe(false);
  });

  it('has the form of today for a client without the mark, of every protocol', async () => {
    const at = await place(1);
    await send(at);
    const types = {
      messages: 'rate_limit_error',
      chat: 'rate_limit_error',
      responses: 'usage_limit_reached',
    };
    for (const [protocol, type] of Object.entries(types)) {
      const seen = await send(at, { protocol: protocol as keyof typeof types }, at.plain);
      expect([seen.status, seen.error?.type]).toEqual([429, type]);
      expect(headersOf(seen, UNIFIED)).toEqual({});
    }
    expect((await send(at, { protocol: 'chat' })).error?.type).toBe('rate_limit_error');
  });

  it('that is only held by requests under way is no end: the client may try again', async () => {
    const at = await place({ cost: '0.01/day' });
    let answer = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (answer = resolve));
    const headers = { 'content-type': 'application/json' };
    at.upstream.play({ headers, steps: [waiting, JSON.stringify(wholeOf('chat', 'hello'))] });
    const first = send(at);
    await expect.poll(() => at.upstream.requests.length).toBe(1);
    const seen = await send(at);
    expect([seen.status, seen.error?.type]).toEqual([429, 'rate_limit_error']);
    expect(seen.headers.has('x-should-retry')).toBe(false);
    expect(headersOf(seen, UNIFIED)).toEqual({});
    answer();
    await first;
  });
});

describe("Codex's status line", () => {
  const codex = { protocol: 'responses' } as const;

  it('has the hour, or the two fullest limits, with the shorter window first', async () => {
    const hourly = await place(20);
    expect(headersOf(await send(hourly, codex, hourly.plain), 'x-codex-')).toEqual({
      'primary-used-percent': '5',
      'primary-window-minutes': '60',
      'primary-reset-at': String(ENDS.hour),
    });
    const dear = await place({ requests: '100/hour', cost: ['0.1/day', '0.02/month'] });
    expect(headersOf(await send(dear, codex, dear.plain), 'x-codex-')).toEqual({
      'primary-used-percent': '10',
      'primary-window-minutes': '1440',
      'primary-reset-at': String(ENDS.day),
      'secondary-used-percent': '50',
      'secondary-window-minutes': '43200',
      'secondary-reset-at': String(ENDS.month),
    });
  });

  it('is full at the end of a limit of money, whose error says when it begins anew', async () => {
    const at = await place({ cost: '0.01/month' });
    await send(at, codex, at.plain);
    const seen = await send(at, codex, at.plain);
    expect(seen.json?.error).toMatchObject({ type: 'usage_limit_reached', resets_at: ENDS.month });
    expect(headersOf(seen, 'x-codex-')).toMatchObject({
      'primary-used-percent': '100',
      'primary-window-minutes': '43200',
      'primary-reset-at': String(ENDS.month),
    });
  });
});
