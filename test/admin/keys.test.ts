// Keys and accounts as programs read and change them through the admin API.
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { call, newToken, type Answer, type Asked } from './support.ts';

type Ask = (path: string, asked?: Asked) => Promise<Answer>;

async function started(config: object = {}): Promise<{ running: TestGateway; ask: Ask }> {
  const running = await gateway({ config: { admin: true, ...config } });
  const { plaintext: token } = await newToken(running);
  return { running, ask: (path, asked = {}) => call(running, path, { token, ...asked }) };
}

const names = ({ json }: Answer): unknown[] => (json.data ?? []).map(({ name }) => name);

it('shows the valid keys first of all, and the newest at the top, behind whatever has ended', async () => {
  const { ask } = await started();
  const made: string[] = [];
  for (const name of ['old', 'ended 1', 'ended 2', 'new']) {
    const { json, status } = await ask('/keys', { method: 'POST', body: { account: 'ada', name } });
    expect(status).toBe(201);
    made.push(String(json['id']));
    if (name.startsWith('ended')) await ask(`/keys/${String(json['id'])}`, { method: 'DELETE' });
    // Keys of one millisecond have the order of their random IDs.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const of = '&account=ada';
  expect(names(await ask(`/keys?state=valid&order=newest${of}`))).toEqual(['new', 'old']);
  expect(names(await ask(`/keys?state=ended&order=oldest${of}`))).toEqual(['ended 1', 'ended 2']);
  expect(names(await ask(`/keys?${of}`))).toEqual(['old', 'ended 1', 'ended 2', 'new']);
  expect(names(await ask('/keys?state=all&order=newest&q=ENDED'))).toEqual(['ended 2', 'ended 1']);
  expect(names(await ask(`/keys?order=newest&q=${made[3] ?? ''}`))).toEqual(['new']);
  expect(names(await ask('/keys?q=%20%20&account=ada'))).toHaveLength(4);

  const first = await ask(`/keys?state=valid&order=newest&limit=1${of}`);
  expect(names(first)).toEqual(['new']);
  const next = `cursor=${String(first.json['next'])}`;
  expect(names(await ask(`/keys?state=valid&order=newest&limit=1${of}&${next}`))).toEqual(['old']);
  expect((await ask(`/keys?order=oldest&limit=1${of}&${next}`)).json.code).toBe('invalid_cursor');
  for (const query of ['state=gone', 'order=best', 'q=%00', `q=${'x'.repeat(257)}`])
    expect([query, (await ask(`/keys?${query}`)).status]).toEqual([query, 400]);
});

it('finds a key among many in steps, whatever its place, and goes on behind the last it looked at', async () => {
  const { running, ask } = await started();
  const { store } = running;
  for (let n = 0; n < 6; n += 1) await running.newKey({ account: `account ${n}` });
  const passKeys = store.passKeys.bind(store);
  // Steps of 2 keys, so that 6 keys are many.
  store.passKeys = (query) => passKeys(query, 2);
  const found = await ask('/keys?q=account 5&order=oldest');
  expect(found.json.data).toMatchObject([{ account: 'account 5' }]);
  expect(found.json['next']).toBeNull();
  const accounts = ({ json }: Answer): unknown[] => (json.data ?? []).map(({ account }) => account);
  const first = await ask('/keys?q=account&order=oldest&limit=3');
  const rest = await ask(`/keys?q=account&order=oldest&limit=3&cursor=${String(first.json['next'])}`);
  expect(rest.json['next']).toBeNull();
  // Keys of one millisecond have the order of their random IDs.
  const all = [...accounts(first), ...accounts(rest)].sort();
  expect(all).toEqual([0, 1, 2, 3, 4, 5].map((n) => `account ${n}`));
});

it('lists accounts from both ends, by a part of their names, and reads one', async () => {
  const { ask } = await started();
  for (const account of ['ada', 'Grace', 'a/b'])
    await ask('/keys', { method: 'POST', body: { account, tier: 'pro' } });
  const listed = async (query: string): Promise<unknown[]> =>
    ((await ask(`/accounts?${query}`)).json.data ?? []).map(({ account }) => account);
  expect(await listed('order=newest&limit=2')).toEqual(['a/b', 'Grace']);
  expect(await listed('q=GRA')).toEqual(['Grace']);
  expect(await listed('q=/')).toEqual(['a/b']);
  expect((await ask('/accounts/a%2Fb')).json).toMatchObject({ account: 'a/b', tier: 'pro', keys: 1 });
  const unknown = await ask('/accounts/nobody');
  expect([unknown.status, unknown.json.code]).toEqual([404, 'unknown_account']);
});

it('reads one key, with the name, the prefix and the account that a request is shown by', async () => {
  const { ask } = await started();
  const made = (await ask('/keys', { method: 'POST', body: { account: 'ada', name: 'laptop' } })).json;
  const { key, warnings, ...shown } = made;
  expect(warnings).toEqual([]);
  const read = await ask(`/keys/${String(made['id'])}`);
  expect(read.json).toMatchObject({ ...shown, prefix: String(key).slice(0, 12), revoked_at: null });
  expect(read.text).not.toContain(String(key));
  const unknown = await ask('/keys/key_unknown');
  expect([unknown.status, unknown.json.code]).toEqual([404, 'unknown_key']);
});

const tagOf = async (ask: Ask, path: string): Promise<string> => (await ask(path)).headers.get('etag') ?? '';

it('changes nothing that was changed since the tag of if-match', async () => {
  const { running, ask } = await started({ tiers: { free: 10, pro: 20, team: 30 } });
  const { json: made } = await ask('/keys', { method: 'POST', body: { account: 'ada', tier: 'free' } });
  const path = `/keys/${String(made['id'])}`;
  const stale = await tagOf(ask, '/accounts/ada');
  const of = (tag: string): Record<string, string> => ({ 'if-match': tag });
  const change = (headers: Record<string, string>, tier = 'pro') =>
    ask('/accounts/ada', { method: 'PATCH', body: { tier }, headers });
  expect((await change(of(`"other", ${stale}`))).json).toMatchObject({ tier: 'pro' });
  for (const headers of [of(stale), of('"other"'), of(`W/${await tagOf(ask, '/accounts/ada')}`)]) {
    const refused = await change(headers, 'team');
    expect([refused.status, refused.json.code]).toEqual([412, 'changed_meanwhile']);
  }
  expect((await change({ 'if-none-match': '*' }, 'team')).status).toBe(412);
  expect((await ask('/accounts/ada')).json).toMatchObject({ tier: 'pro' });
  expect((await change(of('*'), 'team')).json).toMatchObject({ tier: 'team' });

  const tag = await tagOf(ask, path);
  await running.store.extendKey(String(made['id']), Date.now() + 1e9);
  for (const [method, to, body] of [
    ['DELETE', path, undefined],
    ['POST', `${path}/rotate`, { grace_seconds: 0 }],
    ['DELETE', '/accounts/ada', undefined],
  ] as const) {
    const refused = await ask(to, { method, body, headers: of(tag) });
    expect([to, refused.status]).toEqual([to, 412]);
  }
  expect((await ask(path)).json).toMatchObject({ revoked_at: null });
  expect((await ask(path, { method: 'DELETE', headers: of(await tagOf(ask, path)) })).status).toBe(200);
  // A path without a tag ignores no condition.
  const created = await ask('/keys', { method: 'POST', body: { account: 'bob' }, headers: of('*') });
  expect([created.status, created.json.code]).toEqual([412, 'no_tag']);
  expect((await ask('/accounts/bob')).status).toBe(404);
});

it('of two changes by one tag makes one, however they meet', async () => {
  const { ask } = await started({ tiers: { free: 10, pro: 20, team: 30 } });
  await ask('/keys', { method: 'POST', body: { account: 'ada', tier: 'free' } });
  const headers = { 'if-match': await tagOf(ask, '/accounts/ada') };
  const answers = await Promise.all(
    ['pro', 'team'].map((tier) => ask('/accounts/ada', { method: 'PATCH', body: { tier }, headers })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
});

it('gives the same tags in every gateway on the database', async () => {
  const { running, ask } = await started();
  const database = join(dirname(running.file), 'gateway.db');
  const other = await gateway({ config: { admin: true, database } });
  const { plaintext: token } = await newToken(other);
  for (const path of ['/accounts', '/keys', '/tiers', '/models', '/usage?since=2020-01-01'])
    expect([path, (await call(other, path, { token })).headers.get('etag')]).toEqual([
      path,
      await tagOf(ask, path),
    ]);
});

it('takes no account whose name paths take away, wherever one is named', async () => {
  const { ask } = await started({ sign_in: 'on' });
  await ask('/keys', { method: 'POST', body: { account: 'ada' } });
  for (const account of ['.', '..']) {
    const answers = [
      await ask('/keys', { method: 'POST', body: { account } }),
      await ask('/accounts/ada', { method: 'PATCH', body: { account } }),
      await ask('/sign-ins/approve', { method: 'POST', body: { account, code: 'BCDF-GHJK' } }),
    ];
    for (const { status, text } of answers)
      expect([status, text]).toEqual([400, expect.stringContaining('. and ..')]);
  }
  expect((await ask('/keys', { method: 'POST', body: { account: '...', name: '.' } })).status).toBe(201);
});

it('warns of models that no provider has, and makes the key all the same', async () => {
  const { ask } = await started();
  const body = { account: 'ada', models: ['sim/echo', 'echo', 'sim/ecco', 'gpt-99'] };
  const { status, json } = await ask('/keys', { method: 'POST', body });
  expect([status, json['models']]).toEqual([201, body.models]);
  expect(json['warnings']).toEqual([
    expect.stringMatching(/ sim\/ecco now/),
    expect.stringContaining(' gpt-99 now'),
  ]);
  const rotated = await ask(`/keys/${String(json['id'])}/rotate`, { method: 'POST', body: {} });
  expect(rotated.json['warnings']).toEqual(json['warnings']);
  const { json: every } = await ask('/keys', { method: 'POST', body: { account: 'ada' } });
  expect(every['warnings']).toEqual([]);
});

it('names in the audit the key that was made, and the tier that was there before', async () => {
  const { ask } = await started({ tiers: { free: 10, pro: 20 } });
  const { json: made } = await ask('/keys', { method: 'POST', body: { account: 'ada', tier: 'free' } });
  const { json: rotated } = await ask(`/keys/${String(made['id'])}/rotate`, { method: 'POST', body: {} });
  await ask('/accounts/ada', { method: 'PATCH', body: { tier: 'pro' } });
  await ask('/accounts/nobody', { method: 'PATCH', body: { tier: 'pro' } });
  const rows = (await ask('/audit')).json.data ?? [];
  const madeOf = ({ id, key }: Record<string, unknown>) => ({ id, prefix: String(key).slice(0, 12) });
  expect(rows.map(({ operation, status, detail }) => [operation, status, detail])).toEqual([
    ['changeAccount', 404, { account: 'nobody', tier: 'pro' }],
    ['changeAccount', 200, { account: 'ada', tier: 'pro', before: { tier: 'free' } }],
    ['rotateKey', 201, { id: made['id'], grace_seconds: 86_400, made: madeOf(rotated) }],
    ['createKey', 201, { account: 'ada', tier: 'free', made: madeOf(made) }],
  ]);
});

it('takes a slash at the end of a path, and 0 as the beginning of all', async () => {
  const { ask } = await started();
  const { json: made } = await ask('/keys', { method: 'POST', body: { account: 'ada' } });
  for (const path of ['/keys/', '/accounts/ada/', `/keys/${String(made['id'])}/`, '/audit/?since=0'])
    expect([path, (await ask(path)).status]).toEqual([path, 200]);
  for (const path of ['//keys', '/']) expect([path, (await ask(path)).status]).toEqual([path, 404]);
  expect((await ask(`/keys/${String(made['id'])}/`, { method: 'DELETE' })).status).toBe(200);
  expect((await ask('/keys//', { method: 'DELETE' })).status).toBe(400);
  expect((await ask('/accounts/', { method: 'DELETE' })).status).toBe(405);
  expect((await ask('/audit?since=0')).json.data).toHaveLength(2);
  for (const path of ['/usage?since=0', '/usage/summary?since=0&by=day', '/requests?since=0'])
    expect([path, (await ask(path)).status]).toEqual([path, 200]);
});
