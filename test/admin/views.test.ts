// What the views Now, Limits and Conversations ask of the admin API: in flight until the end of an answer, what needs a person, every
// limit with grants, and conversations that a brake stopped. On both engines where the database answers.
import { describe, expect, it, vi } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { usageRow } from '../store/support.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { CUT, gate, scriptedProvider, type Step } from '../helpers/scripted-provider.ts';
import { content, START, streamOf, wholeOf } from '../gateway/wire.ts';
import { StoreError } from '../../src/store/store.ts';
import { call, newToken, openBrowser, openMember, type Answer } from './support.ts';

const ENGINES = ['sqlite', 'postgres'] as const;

async function databaseOf(engine: (typeof ENGINES)[number]): Promise<{ database?: string }> {
  return engine === 'sqlite' ? {} : { database: (await temporaryDatabase()).url };
}

const PRICE = { input: 1e6, output: 2e6 };

/** `price`: a dollar a token of input. */
async function place(config: Record<string, unknown> = {}, tier?: string) {
  const upstream = await scriptedProvider();
  const running = await gateway({
    ...(tier !== undefined && { tier }),
    config: {
      admin: true,
      providers: { maker: provider(upstream.url, 'chat', [{ id: 'm', price: PRICE }]) },
      ...config,
    },
  });
  const { plaintext: token } = await newToken(running);
  const api = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
    call(running, path, { method, token, body });
  return { upstream, running, api };
}

describe('in flight', () => {
  const inFlight = async (api: (path: string) => Promise<Answer>): Promise<unknown> =>
    (await api('/targets')).json.data?.find(({ provider }) => provider === 'maker')?.['in_flight'];

  it.each<[string, Step | undefined]>([
    ['is answered', streamOf('chat', 'b')],
    ['breaks off', CUT],
    ['is left by its client', undefined],
  ])('a target has a stream until it %s', async (_, last) => {
    const { upstream, running, api } = await place();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, last ?? new Promise(() => {})] });
    const leaving = new AbortController();
    const response = await send(running, { model: 'm', stream: true, signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    expect(await inFlight(api)).toBe(1);
    rest.open();
    if (last === undefined) leaving.abort();
    await expect.poll(() => inFlight(api)).toBe(0);
    await reader?.cancel().catch(() => undefined);
  });

  it('the live events have it, too', async () => {
    const { upstream, running } = await place();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] });
    const response = await send(running, { model: 'm', stream: true });
    const { plaintext } = await newToken(running, 'read');
    const events = await fetch(`${running.url}/admin/api/v1/events`, {
      headers: { authorization: `Bearer ${plaintext}` },
    });
    let text = '';
    for await (const chunk of events.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (/"target":"maker\/m","state":"healthy","wait_ms":0,"in_flight":1/.test(text)) break;
    }
    rest.open();
    await response.text();
  });
});

describe('what needs a person', () => {
  it('is little where all is well: providers without a key are left out, and why', async () => {
    const keyless = {
      protocol: 'chat',
      base_url: 'http://127.0.0.1:9',
      api_key: '${MISSING}',
      models: ['x'],
    };
    const { api } = await place({ providers: { sim: {}, keyless } });
    expect((await api('/attention')).json).toMatchObject({
      database: 'ok',
      targets: [],
      left_out: [{ provider: 'keyless', why: expect.stringContaining('MISSING') as string }],
    });
  });

  it('names a target that cools, until the time that its provider asked for', async () => {
    const { upstream, running, api } = await place();
    upstream.play({ status: 429, headers: { 'retry-after': '300' }, body: { error: { message: 'slow' } } });
    await ask(running, { model: 'm' });
    const { targets } = (await api('/attention')).json as unknown as { targets: { until: string }[] };
    expect(targets).toMatchObject([{ provider: 'maker', model: 'm', state: 'cooling' }]);
    const seconds = (Date.parse(targets[0]?.until ?? '') - Date.now()) / 1000;
    expect(seconds).toBeGreaterThan(200);
    expect(seconds).toBeLessThanOrEqual(301);
  });

  it('says that the database is away while it cannot be asked', async () => {
    const { running } = await place();
    const browser = await openBrowser(running);
    const away = (): Promise<never> => Promise.reject(new StoreError('unavailable', 'gone'));
    Object.assign(running.store, { ping: away, listHealth: away });
    const { status, json } = await browser.call('/attention');
    expect([status, json['database']]).toEqual([200, 'away']);
  });

  it('has samples of the last seconds before anybody watched', async () => {
    const { running, api } = await place({ providers: { sim: {} } });
    const stream = await send(running, { model: 'sim/slow', stream: true });
    await vi.waitFor(
      async () => {
        const { data = [] } = (await api('/samples')).json;
        expect(data.some((sample) => sample['in_flight'] === 1)).toBe(true);
      },
      { timeout: 10_000, interval: 200 },
    );
    await stream.text();
    // Its bytes now say how many tokens the next one has.
    const next = await send(running, { model: 'sim/slow', stream: true });
    await vi.waitFor(
      async () => {
        const { data = [] } = (await api('/samples')).json;
        expect(Number(data.at(-1)?.['tokens_per_second'])).toBeGreaterThan(1);
      },
      { timeout: 10_000, interval: 200 },
    );
    await next.text();
  });
});

const answer = (input: number, output: number): object => ({
  ...wholeOf('chat', 'a'),
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
});

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe.each(ENGINES)('limits (%s)', (engine) => {
  it('have spent, held and left, the fullest account first; a grant is made and revoked, with rows in the audit', async () => {
    const tiers = { team: { requests: 100 + '/hour', cost: '10/day' }, small: { cost: '10/day' } };
    const { upstream, running, api } = await place({ ...(await databaseOf(engine)), tiers }, 'team');
    const other = await running.newKey({ account: 'Zoë', tier: 'small' });
    await running.newKey({ account: 'idle', tier: 'unlimited' });
    upstream.play({ body: answer(1, 0) }, { body: answer(5, 2) });
    await ask(running, { model: 'm' });
    await ask({ ...running, key: other }, { model: 'm' });

    const { json } = await api('/limits?order=fullest&limit=2');
    expect(json.data?.map(({ account }) => account)).toEqual(['Zoë', 'test']);
    expect(json.data?.[0]).toMatchObject({
      tier: 'small',
      share: 0.9,
      limits: [{ kind: 'cost', per: 'day', limit: 10, spent: 9, held: 0, left: 1, granted: 0 }],
      grants: [],
    });
    const last = (await api(`/limits?order=fullest&limit=2&cursor=${String(json['next'])}`)).json;
    expect(last.data).toMatchObject([{ account: 'idle', share: null, limits: [] }]);
    expect(last['next']).toBeNull();
    const oldest = (await api('/limits')).json.data ?? [];
    expect(oldest.map(({ account }) => account)).toEqual(['test', 'Zoë', 'idle']);

    const path = `/limits/${encodeURIComponent('Zoë')}/grants`;
    const until = inAnHour();
    const raised = await api(path, 'POST', { cost: 5.25, until });
    expect(raised).toMatchObject({ status: 201, json: { data: [{ kind: 'cost', amount: 5.25, until }] } });
    const id = String(raised.json.data?.[0]?.['id']);
    const [own] = (await api(`/limits?account=${encodeURIComponent('Zoë')}`)).json.data ?? [];
    expect(own).toMatchObject({ limits: [{ left: 6.25, granted: 5.25 }], grants: [{ id }] });
    expect(own?.['share']).toBeCloseTo(9 / 15.25);
    expect(await api(`/grants/${id}`, 'DELETE')).toMatchObject({ status: 200, json: { id } });
    expect((await api(`/grants/${id}`, 'DELETE')).status).toBe(200);
    expect((await api('/limits?order=fullest&limit=1')).json.data).toMatchObject([
      { share: 0.9, grants: [] },
    ]);
    const { data: audit = [] } = (await api('/audit')).json;
    expect(audit.map(({ operation, detail, status }) => [operation, detail, status]).slice(1)).toEqual([
      ['revokeGrant', { id, account: 'Zoë' }, 200],
      ['raiseLimits', { account: 'Zoë', cost: 5.25, until }, 201],
    ]);
  });

  it.each([
    ['of nothing', 400, { until: inAnHour() }],
    ['that has ended', 400, { requests: 5, until: '2020-01-01T00:00:00Z' }],
    ['of ten years', 400, { requests: 5, until: '2999-01-01T00:00:00Z' }],
    ['of what the tier does not limit', 400, { tokens: 5, until: inAnHour() }],
    ['of less than nothing', 400, { requests: -5, until: inAnHour() }],
    ['of an unknown member', 400, { requests: 5, days: 1, until: inAnHour() }],
  ])('a grant %s is refused', async (_, status, body) => {
    const { api } = await place(await databaseOf(engine));
    const refused = await api('/limits/test/grants', 'POST', body);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json',
    ]);
    expect((await api('/limits/nobody/grants', 'POST', { requests: 5, until: inAnHour() })).status).toBe(404);
    expect((await api('/grants/grant_none', 'DELETE')).json.code).toBe('unknown_grant');
  });
});

const TASK = '2afbfa1b-5163-4ef7-9012-b5d0f8af0935';

describe.each(ENGINES)('conversations (%s)', (engine) => {
  async function stopped() {
    const made = await place({ ...(await databaseOf(engine)), brakes: { conversation: 8 } }, 'unlimited');
    const { upstream, running, api } = made;
    upstream.playAlways({ body: answer(5, 2) });
    const named = (more: Record<string, string>) =>
      ask(running, { model: 'm', headers: { 'x-claude-code-session-id': TASK, ...more } });
    const agent = { 'x-claude-code-agent-id': 'a0f1', 'x-claude-code-agent-type': 'Explore' };
    await named({ 'x-gateway-label': 'pr-1' });
    expect((await named(agent)).status).toBe(429);
    const list = async (query = '') => (await api(`/conversations${query}`)).json.data ?? [];
    await expect.poll(async () => (await list())[0]?.['stopped']).toBe('conversation');
    return { ...made, named, list, agent };
  }

  it('are listed with their sums, and one that a brake stopped goes on, with a row in the audit', async () => {
    const { api, named, list, agent } = await stopped();
    await expect.poll(() => list('?label=pr-1&account=test')).toHaveLength(1);
    const [one] = await list('?label=pr-1&account=test');
    expect(one).toMatchObject({ account: 'test', requests: 1, cost_usd: 9, label: 'pr-1', misses: 0 });
    expect(await list('?label=none')).toEqual([]);
    expect((await api('/conversations?account=nobody')).status).toBe(404);
    const id = String(one?.['id']);

    const continued = await api(`/conversations/${id}/continue`, 'POST', { cost_usd: 100 });
    expect(continued).toMatchObject({ status: 200, json: { id, stopped: null } });
    expect((await named(agent)).status).toBe(200);
    const whole = async () => (await api(`/conversations/${id.slice(0, 15)}`)).json;
    await expect.poll(async () => (await whole())['requests']).toBe(2);
    expect(await whole()).toMatchObject({
      id,
      stopped: null,
      subagents: 1,
      agents: [{ id: null }, { id: 'a0f1', type: 'Explore' }],
      models: [{ provider: 'maker', model: 'm', requests: 2, cost_usd: 18 }],
    });
    const { data: audit = [] } = (await api('/audit')).json;
    expect(audit[0]).toMatchObject({
      operation: 'continueConversation',
      detail: { id, cost_usd: 100 },
      status: 200,
    });
  });

  it('that nobody knows, or that several ids begin like, are named so', async () => {
    const { api } = await place({ ...(await databaseOf(engine)) });
    expect((await api('/conversations/conv_none')).json.code).toBe('unknown_conversation');
    expect((await api('/conversations/..%2F')).json.code).toBe('unknown_conversation');
    expect((await api('/conversations/conv_none/continue', 'POST', {})).status).toBe(404);
    const without = await api('/conversations/conv_none/continue', 'POST', { cost_usd: 1 });
    expect(without.json.code).toBe('no_brake');
  });
});

it('a token that may only read raises, revokes and continues nothing', async () => {
  const { running } = await place();
  const { plaintext: token } = await newToken(running, 'read');
  for (const [method, path, body] of [
    ['POST', '/limits/test/grants', { requests: 1, until: inAnHour() }],
    ['DELETE', '/grants/grant_1', undefined],
    ['POST', '/conversations/conv_1/continue', {}],
  ] as const)
    expect((await call(running, path, { method, token, ...(body && { body }) })).status).toBe(403);
});

it('a member reads no conversation of another account, however large it is', async () => {
  const { running } = await place();
  const { rows, of } = manyRows(await running.newKey({ account: 'bob' }), running);
  await running.store.recordUsage(await rows);
  const member = await openMember(running, running.key);
  for (const id of [of, of.slice(0, 12)]) {
    const { status, text } = await member.call(`/me/conversations/${id}`);
    expect([status, text]).toEqual([404, expect.not.stringContaining('bob')]);
  }
  const bob = await openMember(running, await running.newKey({ account: 'bob' }));
  expect((await bob.call(`/me/conversations/${of}`)).json).toMatchObject({ account: 'bob', requests: MANY });
});

const MANY = 2100;

function manyRows(_key: string, { store }: TestGateway) {
  const of = 'conv_AAAAAAAAAAAAAAAAAAA';
  const at = Date.now() - 60_000;
  const rows = store
    .findAccount('bob')
    .then((account) =>
      Array.from({ length: MANY }, (_, n) =>
        usageRow({ at: at - n, accountId: account?.id ?? 0, requestId: `req_${n}`, conversation: of }),
      ),
    );
  return { rows, of };
}
