// Several gateways on one PostgreSQL, directly and through PgBouncer in transaction mode: limits stay exact, whatever happens to a
// gateway, the server, a clock or a tier meanwhile. GATEWAY_TEST_ROUNDS repeats what depends on the moment.
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { MIGRATIONS } from '../../src/store/postgres/migrations.ts';
import { HOUR_MS, systemClock, type Clock } from '../../src/clock.ts';
import type { AdmissionKey, Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { hasBouncer, startBouncer, type Bouncer } from '../helpers/pgbouncer.ts';
import {
  createDatabase,
  settableClock,
  sharedServer,
  startServer,
  temporaryDatabase,
  type TestDatabase,
} from '../helpers/postgres.ts';
import { HOUR, newKey, faultOf, openedSoon } from './support.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd', 'e', 'f'];
const REQUESTS = 400;
const ROUNDS = Number(process.env['GATEWAY_TEST_ROUNDS'] ?? 1);
const TIMEOUT = 60_000 + ROUNDS * 10_000;

let bouncer: Promise<Bouncer> | undefined;
afterAll(async () => (await bouncer)?.stop());

/** Closed when the test ends. */
async function nodes(url: string, clocks: readonly Clock[]): Promise<Store[]> {
  const stores = await Promise.all(clocks.map((clock) => openedSoon(url, { clock })));
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  return stores;
}

/** Time that tests let pass on all nodes beside the real one, in milliseconds. */
let passed = 0;
/** Of a machine whose time is wrong by so much. */
const wrongBy = (ms: number): Clock => ({
  ...systemClock,
  now: () => systemClock.now() + passed + ms,
  monotonic: () => systemClock.monotonic() + passed,
});
const RIGHT = wrongBy(0);
const FOUR = [RIGHT, RIGHT, RIGHT, RIGHT];

async function makeKeys(store: Store | undefined, tier = 'free', suffix = ''): Promise<AdmissionKey[]> {
  const keys: AdmissionKey[] = [];
  for (const name of ACCOUNTS) {
    const account = name + suffix;
    const key = await store?.createKey(newKey({ id: `key_${account}`, account, tier }));
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

interface Answers {
  /** Requests of each account. */
  admitted: number[];
  failures: string[];
}

/** Every second node asks in the opposite order. A node asks with the time of its clock. */
async function ask(
  stores: readonly Store[],
  keys: readonly AdmissionKey[],
  limit: number,
  clocks: readonly Clock[] = FOUR,
): Promise<Answers> {
  const admitted = keys.map(() => 0);
  const failures: string[] = [];
  await Promise.all(
    stores.map(async (store, node) => {
      const order = node % 2 === 0 ? keys : [...keys].reverse();
      for (let wave = 0; wave < 4; wave += 1) {
        const asked = order.flatMap((key) =>
          Array.from({ length: REQUESTS / 4 / stores.length }, async () => {
            const now = clocks[node]?.now() ?? 0;
            const count = await store.admit(key, limit, now).catch((error: unknown) => {
              failures.push(String(error));
            });
            if (count?.outcome === 'admitted')
              admitted[keys.indexOf(key)] = (admitted[keys.indexOf(key)] ?? 0) + 1;
          }),
        );
        await Promise.all(asked);
      }
    }),
  );
  return { admitted, failures };
}

/** The limit of each account. On a machine with much other work a statement may take too long: its requests are refused, and counted. */
function expectAll(keys: readonly AdmissionKey[], limit: number, { admitted, failures }: Answers): void {
  expect(failures.filter((failure) => !failure.includes('does not answer in time'))).toEqual([]);
  if (failures.length === 0) expect(admitted).toEqual(keys.map(() => limit));
  for (const count of admitted) expect(count).toBeLessThanOrEqual(limit);
}

/** A node believes an hour to be full until it ends, until a change is announced, or for a second where none is. */
async function forget(store: Store | undefined): Promise<void> {
  await store?.assignTier('a', 'free');
  passed += 1100;
}

describe.each([
  { way: 'directly', pooled: false },
  ...(hasBouncer ? [{ way: 'through PgBouncer', pooled: true }] : []),
])('P35: $way', ({ pooled }) => {
  async function reach(url: string): Promise<string> {
    return pooled ? (await (bouncer ??= sharedServer().then(startBouncer))).through(url) : url;
  }

  /** On a database of its own, whose clock stands at the beginning of an hour. */
  async function oneNode(
    tier?: string,
  ): Promise<{ database: TestDatabase; store: Store; key: AdmissionKey }> {
    const database = await temporaryDatabase();
    const setTime = await settableClock(database);
    await setTime(HOUR);
    const [store] = await nodes(await reach(database.url), [systemClock]);
    const [key] = await makeKeys(store, tier);
    if (store === undefined || key === undefined) throw new Error('there is no store');
    return { database, store, key };
  }

  it.each([
    ['', FOUR],
    [', one of them an hour ahead, one an hour behind', [RIGHT, wrongBy(HOUR_MS), wrongBy(-HOUR_MS), RIGHT]],
  ])(
    'admits exactly the limit of each account over four gateways%s, asked for in crossed orders',
    async (_, clocks) => {
      const database = await temporaryDatabase();
      const setTime = await settableClock(database);
      const stores = await nodes(await reach(database.url), clocks);
      const keys = await makeKeys(stores[0]);
      for (let round = 0; round < ROUNDS; round += 1) {
        const hour = HOUR + round * HOUR_MS;
        await setTime(hour);
        if (round > 0) await forget(stores[0]);
        expectAll(keys, 60, await ask(stores, keys, 60, clocks));
        const counted = await database.query(
          'SELECT requests::int, count(*)::int FROM hours WHERE hour = $1 GROUP BY 1',
          hour,
        );
        expect(counted).toEqual([{ requests: 60, count: keys.length }]);
      }
      // The hours are those of the server's clock.
      expect(await database.query('SELECT count(DISTINCT hour)::int AS hours FROM hours')).toEqual([
        { hours: ROUNDS },
      ]);
    },
    TIMEOUT,
  );

  it('makes the tables once where four gateways start at once', async () => {
    const database = await temporaryDatabase();
    const stores = await nodes(await reach(database.url), FOUR);
    expect(new Set(stores.map((store) => store.itemKey().toString('hex'))).size).toBe(1);
    expect(new Set(stores.map((store) => store.createdAt)).size).toBe(1);
    expect(await database.query('SELECT name FROM migrations')).toHaveLength(MIGRATIONS.length);
  });

  it('decides by the account of the moment: another tier, a revoked key, at once on every gateway', async () => {
    const database = await temporaryDatabase();
    const [one, two] = await nodes(await reach(database.url), [systemClock, systemClock]);
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

  it('admits on a new connection after the server ended the idle one, and a tier may have any name', async () => {
    const { database, store, key } = await oneNode('a "b\\c", {d}');
    expect(await store.admit(key, 5, 0)).toMatchObject({ used: 1 });
    await database.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    // The end of the connection may arrive with the first request.
    const admitted = await store.admit(key, 5, 0).catch(() => undefined);
    if (admitted === undefined) expect(await store.admit(key, 5, 0)).toMatchObject({ outcome: 'admitted' });
    else expect(admitted).toMatchObject({ outcome: 'admitted', used: 2 });
  });

  it('takes no count back where the limit falls, and asks again where it rises', async () => {
    const { store, key } = await oneNode();
    for (let n = 1; n <= 3; n += 1) expect(await store.admit(key, 5, 0)).toMatchObject({ used: n });
    expect(await store.admit(key, 2, 0)).toMatchObject({ outcome: 'full', used: 3 });
    expect(await store.admit(key, 4, 0)).toMatchObject({ outcome: 'admitted', used: 4 });
  });

  it(
    'never admits beyond the tier of the moment while tiers rise and fall under load',
    async () => {
      const LIMITS: Readonly<Record<string, number>> = { free: 30, pro: 60, enterprise: 80 };
      const database = await temporaryDatabase();
      await (
        await settableClock(database)
      )(HOUR);
      const stores = await nodes(await reach(database.url), FOUR);
      for (let round = 0; round < ROUNDS; round += 1) {
        const keys = await makeKeys(stores[0], 'free', String(round));
        const counts: number[][] = keys.map(() => []);
        let changes = 0;
        const change = async (): Promise<void> => {
          for (const tier of ['pro', 'free', 'enterprise', 'free', 'pro'])
            for (const name of ACCOUNTS) changes += (await stores[0]?.assignTier(name + round, tier)) ? 1 : 0;
        };
        const one = async (store: Store, key: AdmissionKey, account: number): Promise<void> => {
          let { tier } = key;
          for (let tries = 0; tries < 50; tries += 1) {
            const count = await store.admit({ ...key, tier }, LIMITS[tier] ?? 0, 0);
            if (count.outcome === 'tier_changed') tier = count.tier;
            else {
              if (count.outcome !== 'admitted') return;
              expect(count.used).toBeLessThanOrEqual(LIMITS[tier] ?? 0);
              counts[account]?.push(count.used);
              return;
            }
          }
        };
        const load = async (store: Store): Promise<void> => {
          for (let wave = 0; wave < 10; wave += 1)
            await Promise.all(keys.flatMap((key, account) => [1, 2, 3].map(() => one(store, key, account))));
        };
        await Promise.all([change(), ...stores.map(load)]);
        expect(changes).toBe(5 * ACCOUNTS.length);
        for (const [account, used] of counts.entries()) {
          // Each count was granted once, and none is missing.
          expect([...used].sort((a, b) => a - b)).toEqual(used.map((_, index) => index + 1));
          const id = keys[account]?.accountId ?? 0;
          const [counted] = await database.query<{ sum: number }>(
            'SELECT sum(requests)::int FROM hours WHERE account_id = $1',
            id,
          );
          expect(used).toHaveLength(counted?.sum ?? 0);
        }
      }
    },
    TIMEOUT,
  );

  it(
    'gives each hour its limit where the hour ends under load',
    async () => {
      const database = await temporaryDatabase();
      const setTime = await settableClock(database);
      const stores = await nodes(await reach(database.url), FOUR);
      const [key] = await makeKeys(stores[0]);
      if (key === undefined) throw new Error('no key');
      for (let round = 0; round < ROUNDS; round += 1) {
        const start = HOUR + 2 * round * HOUR_MS;
        // So close to the hour's end that a node soon asks again of an hour that it believes to be full.
        await setTime(start + HOUR_MS - 20);
        if (round > 0) await forget(stores[0]);
        const admitted = new Map<number, number>();
        const wave = (): Promise<unknown>[] =>
          stores.flatMap((store) =>
            Array.from({ length: 60 }, async () => {
              const count = await store.admit(key, 60, 0);
              if (count.outcome === 'admitted') admitted.set(count.hour, (admitted.get(count.hour) ?? 0) + 1);
            }),
          );
        const before = wave();
        await setTime(start + HOUR_MS);
        await Promise.all([...before, ...wave()]);
        passed += 50;
        await Promise.all(wave());
        expect(admitted.get(start + HOUR_MS)).toBe(60);
        expect(admitted.get(start) ?? 0).toBeLessThanOrEqual(60);
        for (const [hour, count] of admitted) expect(await stores[0]?.used(key.accountId, hour)).toBe(count);
      }
    },
    TIMEOUT,
  );

  it('a stall of the server queues requests, and refuses none', async () => {
    const database = await temporaryDatabase();
    const [store] = await nodes(await reach(database.url), [systemClock]);
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

  it(
    'a server that crashes in mid-load admits never more than the limit, and is used again when it is back',
    async () => {
      const server = await startServer();
      onTestFinished(() => server.remove());
      const database = await createDatabase(server.url);
      await (
        await settableClock(database)
      )(HOUR);
      let { url } = database;
      if (pooled) {
        const own = await startBouncer(server.url);
        onTestFinished(() => own.stop());
        url = own.through(url);
      }
      const stores = await nodes(url, FOUR);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      for (let round = 0; round < ROUNDS; round += 1) {
        const keys = await makeKeys(store, 'pro', String(round));
        const first = ask(stores, keys, 100);
        await new Promise((resolve) => setTimeout(resolve, 5 + round));
        server.stop('immediate');
        const before = await first;
        // Another limit than that of an account that may be full already.
        const [key = { id: '', accountId: 0, tier: '' }] = keys;
        expect(await faultOf(store.admit(key, 101, 0))).toMatchObject({ kind: 'unavailable' });
        await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError' });
        server.start();
        await expect
          .poll(
            () =>
              store.ping().then(
                () => true,
                () => false,
              ),
            { timeout: 15_000 },
          )
          .toBe(true);
        const after = await ask(stores, keys, 100);
        for (const [index, { accountId }] of keys.entries()) {
          const admitted = (before.admitted[index] ?? 0) + (after.admitted[index] ?? 0);
          const counted = await store.used(accountId, HOUR);
          expect(admitted).toBeLessThanOrEqual(100);
          expect(counted).toBeGreaterThanOrEqual(admitted);
          expect(counted).toBe(100);
        }
      }
    },
    TIMEOUT,
  );
});

describe.runIf(hasBouncer)('through PgBouncer', () => {
  it('a change of another gateway is noticed within a second, without being announced', async () => {
    const database = await temporaryDatabase();
    const through = (await (bouncer ??= sharedServer().then(startBouncer))).through(database.url);
    const clock = manualClock();
    const [one] = await nodes(through, [systemClock]);
    const [two] = await nodes(through, [clock]);
    const key = await one?.createKey(newKey());
    if (one === undefined || two === undefined || key === undefined) throw new Error('no stores');
    const isRevoked = async (): Promise<boolean> => (await two.findKey(newKey().hash))?.revokedAt !== null;
    expect(await isRevoked()).toBe(false);
    expect(await two.admit(key, 1, 0)).toMatchObject({ outcome: 'admitted' });
    expect(await two.admit(key, 1, 0)).toMatchObject({ outcome: 'full' });
    await one.assignTier('alice', 'pro');
    expect(await two.admit(key, 1, 0)).toMatchObject({ outcome: 'full' });
    await one.revokeKey('key_one', 1);
    clock.advance(1000);
    expect(await two.admit(key, 1, 0)).toEqual({ outcome: 'key_ended' });
    expect(await isRevoked()).toBe(true);
    const listening =
      "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND query ~ '^LISTEN'";
    expect(await database.query(listening)).toEqual([{ count: 0 }]);
  });
});
