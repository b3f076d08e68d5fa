// Limits of tokens and money at the whole gateway: what is held, what is settled before the last byte, and what a refused client is told.
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../src/tier.ts';
import { gateway, provider, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { type Clock, HOUR_MS } from '../../src/clock.ts';
import { manualClock } from '../helpers/clock.ts';
import { settableClock, temporaryDatabase } from '../helpers/postgres.ts';
import { CUT, type Script, scriptedProvider } from '../helpers/scripted-provider.ts';

/** A dollar a token of input, two of output. */
const PRICE = { input: 1e6, output: 2e6, cache_read: 1e5 };
const DOLLAR = 1e9;
const DAY: Limit = { kind: 'cost', per: 'day', most: 1 };

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
}

function whole(usage?: Usage): Script {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  return {
    body: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, ...(usage && { usage }) },
  };
}

const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;

function streamed(steps: Script['steps']): Script {
  return { headers: { 'content-type': 'text/event-stream' }, steps };
}

const used = (input: number, output: number): Usage => ({ prompt_tokens: input, completion_tokens: output });

async function place(team: unknown, more: Record<string, unknown> = {}, clock?: Clock) {
  const upstream = await scriptedProvider();
  const dear = { id: 'm', price: PRICE };
  const providers = {
    maker: provider(`${upstream.url}/v1`, 'chat', [dear, 'unpriced']),
    other: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: { input: 5e6, output: 5e6 } }]),
    gratis: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: { input: 0, output: 0 } }]),
  };
  const routes = { both: ['maker/m', 'other/m'], mixed: ['maker/unpriced', 'maker/m'] };
  const config = { providers, routes, tiers: { team }, ...more };
  const server = await gateway({ tier: 'team', config, ...(clock && { clock }) });
  return { upstream, server, config };
}

interface AskOptions {
  model?: string;
  stream?: boolean;
  path?: string;
  max?: number;
  signal?: AbortSignal;
}

function ask(
  { url, key }: TestGateway,
  { model = 'maker/m', stream = false, path = 'chat/completions', max = 5, signal }: AskOptions = {},
): Promise<Response> {
  const messages = [{ role: 'user', content: 'Hello' }];
  const asked =
    path === 'responses' ? { input: 'Hello', max_output_tokens: max } : { messages, max_tokens: max };
  return fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, ...asked }),
    ...(signal && { signal }),
  });
}

/** What is settled and held, in dollars. */
async function standing({ store }: TestGateway, limit = DAY) {
  const [account] = await store.listAccounts();
  const [row] = await store.standings(account?.id ?? 0, [limit], Date.now());
  if (row === undefined) throw new Error('no standing');
  const unit = limit.kind === 'cost' ? DOLLAR : 1;
  return {
    spent: row.spent / unit,
    held: row.held / unit,
    estimated: row.estimated / unit,
    unpriced: row.unpriced,
  };
}

const settled = (spent: number, more: object = {}) => ({
  spent,
  held: 0,
  estimated: 0,
  unpriced: 0,
  ...more,
});

describe('a whole answer', () => {
  it('is settled before it is sent, and tells every limit in the order of the file', async () => {
    const { upstream, server } = await place({ cost: '1000/month', requests: '100/hour', tokens: '1k/day' });
    upstream.play(whole({ ...used(10, 3), prompt_tokens_details: { cached_tokens: 4 } }), whole(used(1, 1)));
    const first = await ask(server);
    expect(first.headers.get('x-gateway-limits')).toBe(
      'cost 12.4/1000 month; requests 1/100 hour; tokens 13/1000 day',
    );
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('99');
    expect(await standing(server)).toEqual(settled(12.4));
    await first.text();
    const second = await ask(server);
    expect(second.headers.get('x-gateway-limits')).toBe(
      'cost 15.4/1000 month; requests 2/100 hour; tokens 15/1000 day',
    );
  });

  it('of which nobody told the usage is counted as it was expected, and marked', async () => {
    const { upstream, server } = await place({ cost: '1000/day' });
    upstream.play(whole());
    await (await ask(server)).text();
    const { spent, estimated } = await standing(server);
    expect(spent).toBe(estimated);
    // At most the output that was asked for.
    expect(spent).toBeGreaterThan(10);
    expect(spent).toBeLessThan(30);
  });

  it('of the second target costs what that one takes', async () => {
    const { upstream, server } = await place({ cost: '1000/day' });
    upstream.play({ status: 500, body: { error: { message: 'no' } } }, whole(used(2, 2)));
    expect((await ask(server, { model: 'both' })).headers.get('x-gateway-provider')).toBe('other');
    expect(await standing(server)).toEqual(settled(20));
  });

  it('that is none costs nothing, and holds nothing', async () => {
    const { upstream, server } = await place({ cost: '1000/day' });
    upstream.play(
      { status: 500, body: { error: { message: 'no' } } },
      { status: 400, body: { error: { message: 'bad' } } },
    );
    expect((await ask(server)).status).toBe(502);
    expect((await ask(server)).status).toBe(400);
    expect(await standing(server)).toEqual(settled(0));
  });
});

describe('a stream', () => {
  it.each(['chat/completions', 'messages', 'responses'])(
    'of %s is settled when its last byte arrives',
    async (path) => {
      const { upstream, server } = await place({ cost: '1000/day' });
      const usage = chunk({}, null, { usage: used(7, 2), choices: [] });
      upstream.play(
        streamed([chunk({ role: 'assistant', content: 'Hi' }), chunk({}, 'stop'), usage, 'data: [DONE]\n\n']),
      );
      const answer = await ask(server, { stream: true, path });
      expect(answer.headers.get('x-gateway-limits')).toBe('cost 0/1000 day');
      await answer.text();
      expect(await standing(server)).toEqual(settled(11));
    },
  );

  it('that breaks off counts what was sent and what had come', async () => {
    const { upstream, server } = await place({ cost: '1000/day' });
    upstream.play(streamed([chunk({ role: 'assistant', content: 'Hi' }), CUT]));
    await (await ask(server, { stream: true })).text().catch(() => undefined);
    const { spent, held, estimated } = await standing(server);
    expect(held).toBe(0);
    expect(spent).toBe(estimated);
    expect(spent).toBeGreaterThan(10);
  });

  it('whose client leaves counts what was sent and what had come', async () => {
    const { upstream, server } = await place({ cost: '1000/day' });
    upstream.play(streamed([chunk({ role: 'assistant', content: 'Hi' }), new Promise(() => undefined)]));
    const leaving = new AbortController();
    const answer = await ask(server, { stream: true, signal: leaving.signal });
    await answer.body?.getReader().read();
    expect((await standing(server)).held).toBeGreaterThan(0);
    leaving.abort();
    await expect.poll(async () => (await standing(server)).held).toBe(0);
    const { spent, estimated } = await standing(server);
    expect(spent).toBe(estimated);
    expect(spent).toBeGreaterThan(5);
  });
});

describe('a limit that is used up', () => {
  it.each([
    ['chat/completions', { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } }],
    ['messages', { type: 'error', error: { type: 'rate_limit_error' } }],
    ['responses', { error: { type: 'usage_limit_reached', resets_at: expect.any(Number) as number } }],
  ])('is told to a client of %s with amount, time and remedy', async (path, form) => {
    const { upstream, server } = await place({ requests: '100/hour', cost: ['5/week', '4.5/month'] });
    upstream.play(whole(used(4, 1)));
    await (await ask(server)).text();
    const answer = await ask(server, { path });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    const wait = Number(answer.headers.get('retry-after'));
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject(form);
    // Both are used up: the one that lasts longest counts, which depends on the day.
    const [, at = ''] = /the next (?:week|month) begins at (\S+);/.exec(text) ?? [];
    expect(Math.abs(Date.parse(at) - Date.now() - wait * 1000)).toBeLessThan(60_000);
    expect(text).toMatch(/has spent 6 of (?:5|4\.5) USD of this (?:week|month) \(tier team\)/);
    expect(text).toContain('gateway tiers assign');
    expect(upstream.requests).toHaveLength(1);
    expect(answer.headers.has('x-gateway-limits')).toBe(false);
  });

  it('lets an account of requests alone go on with a grant, at once', async () => {
    const { upstream, server } = await place(1);
    upstream.playAlways(whole(used(1, 1)));
    await (await ask(server)).text();
    const [account] = await server.store.listAccounts();
    const grant = { accountId: account?.id ?? 0, kind: 'requests' as const, createdAt: 1, revokedAt: null };
    await server.store.addGrants([{ id: 'g', amount: 2, until: Date.now() + 3_600_000, ...grant }]);
    const answer = await ask(server);
    // The hour may turn between the two.
    expect(answer.headers.get('x-gateway-limits')).toMatch(/^requests [12]\/3 hour$/);
    await server.store.revokeGrant('g', Date.now());
    expect([200, 429]).toContain((await ask(server)).status);
  });
});

it.each(['chat/completions', 'messages', 'responses'])(
  'a client of %s is asked to come back soon where requests under way hold what is left',
  async (path) => {
    const { upstream, server } = await place({ cost: '5/day' });
    let finish: (value?: unknown) => void = () => undefined;
    const waits = new Promise((resolve) => (finish = resolve));
    upstream.play(
      streamed([
        chunk({ role: 'assistant', content: 'Hi' }),
        waits,
        chunk({}, 'stop', { usage: used(1, 1) }),
        'data: [DONE]\n\n',
      ]),
    );
    const first = await ask(server, { stream: true });
    const refused = await ask(server, { path });
    expect(refused.status).toBe(429);
    expect(refused.headers.has('x-should-retry')).toBe(false);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(10);
    const { error } = (await refused.json()) as { error: { type: string; message: string } };
    expect(error.message).toContain('held by requests under way');
    expect(error.type).toBe('rate_limit_error');
    finish();
    await first.text();
    upstream.play(whole(used(1, 0)));
    expect((await ask(server)).status).toBe(200);
    expect(await standing(server)).toEqual(settled(4));
  },
);

it('GET /v1/usage tells a key the limits and the usage of its own account', async () => {
  const { upstream, server } = await place({
    cost: '10/day',
    requests: '9/hour',
    tokens: { limit: '1k/week', count: 'fresh' },
  });
  upstream.play(whole({ ...used(10, 1), prompt_tokens_details: { cached_tokens: 4 } }));
  await (await ask(server)).text();
  await server.newKey({ account: 'other' });
  const { url, key } = server;
  const answer = await fetch(`${url}/v1/usage`, { headers: { 'x-api-key': key } });
  expect(answer.status).toBe(200);
  const { limits, usage } = (await answer.json()) as { limits: Record<string, unknown>[]; usage: unknown };
  const none = { estimated: 0, held: 0, granted: 0, unpriced: 0 };
  expect(limits).toEqual([
    {
      kind: 'cost',
      per: 'day',
      limit: 10,
      spent: 8.4,
      ...none,
      left: 1.6,
      resets_at: expect.any(String) as string,
    },
    {
      kind: 'requests',
      per: 'hour',
      limit: 9,
      spent: 1,
      ...none,
      left: 8,
      resets_at: expect.any(String) as string,
    },
    {
      kind: 'tokens',
      per: 'week',
      limit: 1000,
      count: 'fresh',
      spent: 7,
      ...none,
      left: 993,
      resets_at: expect.any(String) as string,
    },
  ]);
  expect(usage).toMatchObject({ account: 'test', tier: 'team', limit: 9, used: 1, remaining: 8 });
  expect((await fetch(`${url}/v1/usage`)).status).toBe(401);
  expect((await fetch(`${url}/v1/usage`, { method: 'POST', headers: { 'x-api-key': key } })).status).toBe(
    405,
  );
});

describe('a model without a price', () => {
  it('counts as nothing, and is counted', async () => {
    const { upstream, server } = await place({ cost: '5/day', tokens: '100/day' });
    upstream.play(whole(used(6, 1)));
    const answer = await ask(server, { model: 'maker/unpriced' });
    expect(answer.headers.get('x-gateway-limits')).toBe('cost 0/5 day; tokens 7/100 day');
    expect(await standing(server)).toEqual(settled(0, { unpriced: 1 }));
  });

  it('is left out or refused where the file says so, for accounts with a limit of money', async () => {
    const { upstream, server } = await place({ cost: '500/day' }, { unknown_price: 'refuse' });
    upstream.playAlways(whole(used(1, 1)));
    expect((await ask(server, { model: 'mixed' })).headers.get('x-gateway-model')).toBe('m');
    const refused = await ask(server, { model: 'maker/unpriced' });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toMatch(/maker\/unpriced is unknown.*price: \{ input: 1, output: 2 \}/);
    expect((await ask(server, { model: 'sim/echo' })).status).toBe(200);
    const plain = await server.newKey({ account: 'plain', tier: 'free' });
    expect((await ask({ ...server, key: plain }, { model: 'maker/unpriced' })).status).toBe(200);
  });
});

describe('sim and a price of 0 are known prices', () => {
  const FREE = { tiers: { team: { cost: '5/day' }, plain: 100, other: { tokens: '1M/day' } } };

  it.each(['plain', 'other', 'unlimited', 'team'])('for an account of tier %s', async (tier) => {
    const { upstream, server } = await place(
      {},
      {
        ...FREE,
        unknown_price: 'refuse',
      },
    );
    const key = await server.newKey({ account: 'asking', tier });
    const own = { ...server, key };
    upstream.playAlways(whole({ ...used(6, 1), prompt_tokens_details: { cached_tokens: 2 } }));
    for (const model of ['gratis/m', 'sim/echo']) expect((await ask(own, { model })).status).toBe(200);
    const report = async (): Promise<{ limits: unknown[]; totals: Record<string, unknown> }> => {
      const answer = await fetch(`${server.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
      const { limits, usage } = (await answer.json()) as {
        limits: unknown[];
        usage: { totals: Record<string, unknown> };
      };
      return { limits, totals: usage.totals };
    };
    await expect.poll(async () => (await report()).totals['requests']).toBe(2);
    await expect
      .poll(async () => (await report()).totals)
      .toMatchObject({ requests: 2, unknown: 0, unpriced: 0, cost_usd: 0 });
    // What was spent before a limit of money held is 0, and known.
    await server.store.assignTier('asking', 'team');
    await expect
      .poll(async () => (await report()).limits)
      .toMatchObject([{ kind: 'cost', spent: 0, estimated: 0, held: 0, unpriced: 0, left: 5 }]);
  });
});

it('a tier that is lowered and raised in mid-window finds all that was spent', async () => {
  const clock = manualClock(Date.now());
  const { upstream, server, config } = await place({ cost: '50/day' }, {}, clock);
  upstream.playAlways(whole(used(8, 1)));
  await (await ask(server)).text();
  const put = (team: unknown): void => rewrite(server, clock, { ...config, tiers: { team } });
  put(1000);
  await (await ask(server)).text();
  clock.advance(200);
  await expect.poll(async () => (await standing(server)).spent).toBe(20);
  put({ cost: '15/day' });
  expect((await ask(server)).status).toBe(429);
  put({ cost: '21/day' });
  expect((await ask(server)).headers.get('x-gateway-limits')).toBe('cost 30/21 day');
  expect((await ask(server)).status).toBe(429);
});

it('P46: two gateways on one PostgreSQL, the clock of one an hour ahead, refuse the same and tell the same end', async () => {
  const database = await temporaryDatabase();
  const setTime = await settableClock(database);
  const now = Date.parse('2026-11-30T23:30:00Z');
  await setTime(now);
  const [right, ahead] = [manualClock(now), manualClock(now + HOUR_MS)];
  const tiers = { team: { cost: '10/day' }, plain: 2 };
  const upstream = await scriptedProvider();
  upstream.playAlways(whole(used(2, 2)));
  const providers = { maker: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: PRICE }]) };
  const config = { database: database.url, providers, tiers };
  const nodes: TestGateway[] = [];
  for (const clock of [right, ahead])
    nodes.push(await gateway({ tier: 'team', clock, storeClock: clock, config }));
  const [one, two] = nodes;
  if (one === undefined || two === undefined) throw new Error('no gateway');
  // The keys of both are of the same account.
  const shown: (string | null)[] = [];
  for (const node of [one, two]) shown.push((await ask(node)).headers.get('x-gateway-limits'));
  expect(shown).toEqual(['cost 6/10 day', 'cost 12/10 day']);
  for (const node of [one, two]) {
    const refused = await ask(node);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1800']);
    expect(await refused.text()).toContain('has spent 12 of 10 USD of this day');
    const usage = await fetch(`${node.url}/v1/usage`, { headers: { 'x-api-key': node.key } });
    expect(await usage.json()).toMatchObject({
      limits: [{ spent: 12, held: 0, left: 0, resets_at: '2026-12-01T00:00:00.000Z' }],
    });
  }
  // A grant holds until its end by the server's clock.
  const key = await one.newKey({ account: 'plain', tier: 'plain' });
  const account = await one.store.findAccount('plain');
  const grant = { accountId: account?.id ?? 0, kind: 'requests' as const, createdAt: now, revokedAt: null };
  await one.store.addGrants([{ id: 'g', amount: 4, until: now + HOUR_MS / 2, ...grant }]);
  const statuses: number[] = [];
  for (let n = 0; n < 8; n += 1) statuses.push((await ask({ ...(n % 2 === 0 ? one : two), key })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
  expect(upstream.requests).toHaveLength(8);
  await setTime(now + HOUR_MS / 2);
  right.advance(HOUR_MS / 2);
  ahead.advance(HOUR_MS / 2);
  for (const node of [one, two]) expect((await ask(node)).status).toBe(200);
});
