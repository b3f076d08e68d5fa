// Several gateways on one PostgreSQL: limits stay exact, whatever happens to a gateway, the server or a tier meanwhile.
import { expect, it, onTestFinished } from 'vitest';
import { HOUR_MS } from '../../src/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { readUrl } from '../../src/store/postgres/url.ts';
import type { AdmissionKey, Store } from '../../src/store/store.ts';
import { settableClock, startServer, temporaryDatabase } from '../helpers/postgres.ts';
import { HOUR, newKey } from './contract.ts';
import { faultOf } from './support.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd', 'e', 'f'];
const REQUESTS = 400;
const ROUNDS = Number(process.env['GATEWAY_TEST_ROUNDS'] ?? 1);

async function nodes(url: string, count: number): Promise<Store[]> {
  const stores = await Promise.all(Array.from({ length: count }, () => openStore(url)));
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  return stores;
}

async function makeKeys(store: Store | undefined, tier = 'free'): Promise<AdmissionKey[]> {
  const keys: AdmissionKey[] = [];
  for (const account of ACCOUNTS) {
    const key = await store?.createKey(newKey({ id: `key_${account}`, account, tier }));
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

/** Admitted requests of each account. Every second node asks in the opposite order. */
async function ask(
  stores: readonly Store[],
  keys: readonly AdmissionKey[],
  limit: number,
): Promise<number[]> {
  const admitted = keys.map(() => 0);
  await Promise.all(
    stores.map(async (store, node) => {
      const order = node % 2 === 0 ? keys : [...keys].reverse();
      for (let wave = 0; wave < 4; wave += 1) {
        const asked = order.flatMap((key) =>
          Array.from({ length: REQUESTS / 4 / stores.length }, async () => {
            const count = await store.admit(key, limit, 0).catch(() => undefined);
            if (count?.outcome === 'admitted')
              admitted[keys.indexOf(key)] = (admitted[keys.indexOf(key)] ?? 0) + 1;
          }),
        );
        await Promise.all(asked);
      }
    }),
  );
  return admitted;
}

it('admits exactly the limit of each account over four gateways, asked for in crossed orders', async () => {
  const database = await temporaryDatabase();
  const setTime = await settableClock(database);
  const stores = await nodes(database.url, 4);
  const keys = await makeKeys(stores[0]);
  for (let round = 0; round < ROUNDS; round += 1) {
    const hour = HOUR + round * HOUR_MS;
    await setTime(hour);
    // A node believes an hour to be full until it ends, or until a change.
    await stores[0]?.assignTier('a', 'free');
    await new Promise((resolve) => setTimeout(resolve, round === 0 ? 0 : 1100));
    expect(await ask(stores, keys, 60)).toEqual(keys.map(() => 60));
    for (const { accountId } of keys) expect(await stores[0]?.used(accountId, hour)).toBe(60);
  }
}, 120_000);

it('decides by the account of the moment: another tier, a revoked key, at once on every gateway', async () => {
  const database = await temporaryDatabase();
  const [one, two] = await nodes(database.url, 2);
  const key = await one?.createKey(newKey());
  if (one === undefined || two === undefined || key === undefined) throw new Error('no stores');
  const found = await two.findKey(newKey().hash);
  expect(await two.admit(key, 10, 0)).toMatchObject({ outcome: 'admitted', used: 1 });
  await one.assignTier('alice', 'pro');
  // The key as it was found before.
  expect(await two.admit(found ?? key, 10, 0)).toEqual({ outcome: 'tier_changed', tier: 'pro' });
  expect(await two.admit({ ...key, tier: 'pro' }, 20, 0)).toMatchObject({ outcome: 'admitted', used: 2 });
  await one.revokeKey('key_one', 1);
  expect(await two.admit({ ...key, tier: 'pro' }, 20, 0)).toEqual({ outcome: 'key_ended' });
  expect(await database.query('SELECT requests FROM hours')).toEqual([{ requests: '2' }]);
});

it('takes no count back where the limit falls, and asks again where it rises', async () => {
  const database = await temporaryDatabase();
  const [store] = await nodes(database.url, 1);
  const key = await store?.createKey(newKey());
  if (store === undefined || key === undefined) throw new Error('no store');
  for (let n = 1; n <= 3; n += 1) expect(await store.admit(key, 5, 0)).toMatchObject({ used: n });
  expect(await store.admit(key, 2, 0)).toMatchObject({ outcome: 'full', used: 3 });
  expect(await store.admit(key, 4, 0)).toMatchObject({ outcome: 'admitted', used: 4 });
});

it('gives each hour its limit where the hour ends under load', async () => {
  const database = await temporaryDatabase();
  const setTime = await settableClock(database);
  const stores = await nodes(database.url, 4);
  const [key] = await makeKeys(stores[0]);
  if (key === undefined) throw new Error('no key');
  // So close to the hour's end that a node soon asks again of an hour that it believes to be full.
  await setTime(HOUR + HOUR_MS - 20);
  const admitted = new Map<number, number>();
  const wave = (): Promise<unknown>[] =>
    stores.flatMap((store) =>
      Array.from({ length: 60 }, async () => {
        const count = await store.admit(key, 60, 0);
        if (count.outcome === 'admitted') admitted.set(count.hour, (admitted.get(count.hour) ?? 0) + 1);
      }),
    );
  const before = wave();
  await setTime(HOUR + HOUR_MS);
  await Promise.all([...before, ...wave()]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all(wave());
  expect(admitted.get(HOUR + HOUR_MS)).toBe(60);
  expect(admitted.get(HOUR) ?? 0).toBeLessThanOrEqual(60);
  for (const [hour, count] of admitted) expect(await stores[0]?.used(key.accountId, hour)).toBe(count);
});

it('a stall of the server queues requests, and refuses none', async () => {
  const database = await temporaryDatabase();
  const [store] = await nodes(database.url, 1);
  const key = await store?.createKey(newKey());
  if (store === undefined || key === undefined) throw new Error('no store');
  await database.query('BEGIN');
  await database.query('LOCK TABLE hours IN ACCESS EXCLUSIVE MODE');
  let settled = 0;
  const asked = Array.from({ length: 50 }, () => store.admit(key, 100, 0).finally(() => (settled += 1)));
  await database.query('SELECT pg_sleep(0.2)');
  expect(settled).toBe(0);
  await database.query('COMMIT');
  const used = (await Promise.all(asked)).map((count) => (count.outcome === 'admitted' ? count.used : 0));
  expect(used).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
});

it('a server that crashes in mid-load admits never more than the limit, and is used again when it is back', async () => {
  const server = await startServer();
  onTestFinished(() => server.remove());
  const stores = await nodes(server.url, 2);
  const keys = await makeKeys(stores[0], 'pro');
  const first = ask(stores, keys, 100);
  await new Promise((resolve) => setTimeout(resolve, 5));
  server.stop('immediate');
  const before = await first;
  const [store] = stores;
  if (store === undefined) throw new Error('no store');
  expect(await faultOf(store.admit(keys[0] ?? { id: '', accountId: 0, tier: '' }, 100, 0))).toMatchObject({
    kind: 'unavailable',
  });
  await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError' });
  server.start();
  const after = await ask(stores, keys, 100);
  for (const [index, { accountId }] of keys.entries()) {
    const admitted = (before[index] ?? 0) + (after[index] ?? 0);
    const hour = Date.now() - (Date.now() % HOUR_MS);
    const counted = await store.used(accountId, hour);
    expect(admitted).toBeLessThanOrEqual(100);
    expect(counted).toBeGreaterThanOrEqual(admitted);
    expect(counted).toBe(100);
  }
}, 60_000);

it.each([
  ['postgres://u:secret@h/d?sslmode=allow', 'sslmode is one of'],
  ['postgres://u:secret@h/d?ssl_mode=require', 'ssl_mode is not a parameter'],
  ['postgres://u:secret@h/d?sslmode=verify-ca&sslrootcert=/nowhere', 'cannot be read'],
  ['postgres://u:sec%ret@h/d', 'write %25'],
])('refuses %s with a message that holds no password', (url, message) => {
  expect(() => readUrl(url, {})).toThrow(message);
  expect(() => readUrl(url, {})).not.toThrow(/secret|sec%ret/);
});

it('reads a URL as libpq does; its location holds no password', () => {
  const env = { PGPASSWORD: 'of the environment', HOME: '/nowhere' };
  const { tls, ...server } = readUrl(
    'postgres://u%40x:p%2Fw@[::1]:6543/my%20db?sslmode=require&pgbouncer=true',
    env,
  );
  expect(server).toMatchObject({
    host: '::1',
    port: 6543,
    user: 'u@x',
    password: 'p/w',
    database: 'my db',
    pooled: true,
  });
  expect(server.location).toBe('postgres://u%40x@[::1]:6543/my%20db');
  expect(tls).toEqual({ rejectUnauthorized: false });
  expect(readUrl('postgresql://h/d?sslmode=disable', env)).toMatchObject({
    password: 'of the environment',
    tls: undefined,
  });
  expect(readUrl('postgres://u@/d?host=/run/postgresql', env)).toMatchObject({
    host: '/run/postgresql',
    tls: undefined,
  });
});
