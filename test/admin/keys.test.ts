// Keys and accounts as programs read and change them through the admin API.
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
  const { key, ...shown } = made;
  const read = await ask(`/keys/${String(made['id'])}`);
  expect(read.json).toMatchObject({ ...shown, prefix: String(key).slice(0, 12), revoked_at: null });
  expect(read.text).not.toContain(String(key));
  const unknown = await ask('/keys/key_unknown');
  expect([unknown.status, unknown.json.code]).toEqual([404, 'unknown_key']);
});
