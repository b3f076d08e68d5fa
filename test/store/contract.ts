// What every engine must do, whichever keeps the data. `open` gives a store on a new, empty database.
import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/clock.ts';
import { NO_FIRST_BYTES } from '../../src/store/usage-sums.ts';
import {
  GROUPINGS,
  type Account,
  type Key,
  type NewAdminToken,
  type NewKey,
  type RequestIdQuery,
  type RequestQuery,
  type Store,
  type StoredItem,
  type StoredRecord,
  type UsageRow,
} from '../../src/store/store.ts';
import { byName, hourOf, NO_TOTALS, plainSums, usageRows } from './plain-sums.ts';
import { keyOf } from './support.ts';

export const HOUR = Date.parse('2026-11-21T14:00:00Z');

export function newKey(change: Partial<NewKey> = {}): NewKey {
  const id = change.id ?? 'key_one';
  return {
    id,
    hash: createHash('sha256').update(id).digest('hex'),
    prefix: 'sk-gw-abc',
    account: 'alice',
    tier: 'free',
    label: null,
    permissions: ['chat', 'messages'],
    models: null,
    createdAt: HOUR,
    expiresAt: null,
    ...change,
  };
}

export function usageRow(change: Partial<UsageRow> = {}): UsageRow {
  return {
    at: HOUR + 1,
    accountId: 1,
    keyId: 'key_one',
    endpoint: 'chat',
    modelAsked: 'auto',
    provider: 'sim',
    model: 'echo',
    status: 200,
    streamed: true,
    input: 100,
    cacheRead: 10,
    cacheWrite: 5,
    output: 20,
    reasoning: 7,
    costUsd: 0.5,
    firstByteMs: 1.5,
    durationMs: 2.25,
    error: null,
    requestId: null,
    attempts: null,
    detail: null,
    ...change,
  };
}

const NOTHING_KNOWN = {
  input: null,
  cacheRead: null,
  cacheWrite: null,
  output: null,
  reasoning: null,
  costUsd: null,
};

const ATTEMPTS = fc.array(
  fc.record({
    account: fc.integer({ min: 1, max: 3 }),
    hour: fc.integer({ min: 0, max: 2 }).map((hours) => HOUR + hours * HOUR_MS),
    limit: fc.integer({ min: 0, max: 4 }),
  }),
  { maxLength: 40 },
);

/** What each is to be told, one after the other. */
function plainCounts(
  attempts: readonly { account: number; hour: number; limit: number }[],
): (number | undefined)[] {
  const counts = new Map<string, number>();
  return attempts.map(({ account, hour, limit }) => {
    const before = counts.get(`${account} ${hour}`) ?? 0;
    if (before >= limit) return undefined;
    counts.set(`${account} ${hour}`, before + 1);
    return before + 1;
  });
}

/** `setTime`: sets the clock of an engine that does not count by the time of its caller. */
export function storeContract(
  name: string,
  open: () => Promise<Store>,
  setTime = (_now: number): Promise<void> => Promise.resolve(),
): void {
  let store: Store;
  let keys: Key[];
  beforeEach(async () => {
    store = await open();
    keys = [];
  });
  afterEach(() => store.close());

  async function accountId(account = 'alice'): Promise<number> {
    const found = await store.findAccount(account);
    if (found === undefined) throw new Error(`no account ${account}`);
    return found.id;
  }

  /** The new count of the hour that holds `now`; undefined: nothing was counted. */
  async function admit(account: number, now: number, limit: number): Promise<number | undefined> {
    if (!keys.some((key) => key.accountId === account)) keys = await store.listKeys();
    const key = keys.find((known) => known.accountId === account) ?? keyOf(account);
    await setTime(now);
    const count = await store.admit(key, limit, now);
    return count.outcome === 'admitted' ? count.used : undefined;
  }

  describe(`${name}: keys and accounts`, () => {
    it('gives a key back as it was made, with its account', async () => {
      const spec = newKey({
        label: 'laptop',
        models: ['auto', 'sim/echo'],
        permissions: ['messages'],
        expiresAt: 5,
      });
      const created = await store.createKey(spec);
      expect(created).toEqual({
        id: 'key_one',
        account: 'alice',
        tier: 'free',
        prefix: 'sk-gw-abc',
        label: 'laptop',
        permissions: ['messages'],
        models: ['auto', 'sim/echo'],
        createdAt: HOUR,
        expiresAt: 5,
        accountId: await accountId(),
        lastUsedAt: null,
        revokedAt: null,
      });
      expect(await store.findKey(spec.hash)).toEqual(created);
      expect(await store.listKeys()).toEqual([created]);
    });

    it('finds no key by another hash, its beginning or nothing', async () => {
      const { hash } = newKey();
      await store.createKey(newKey());
      for (const other of ['0'.repeat(64), hash.slice(0, 62), '']) {
        expect(await store.findKey(other)).toBeUndefined();
      }
    });

    it('adds a key to an account that exists, whose tier stays', async () => {
      await store.createKey(newKey());
      const second = await store.createKey(newKey({ id: 'key_two', tier: 'pro' }));
      expect(second.tier).toBe('free');
      expect(await store.listAccounts()).toEqual([
        { id: await accountId(), name: 'alice', tier: 'free', createdAt: HOUR, keys: 2 },
      ]);
    });

    it('makes nothing at all where the key exists already', async () => {
      await store.createKey(newKey());
      await expect(store.createKey(newKey({ account: 'mallory' }))).rejects.toThrow();
      const sameHash = newKey({ id: 'key_two', account: 'mallory', hash: newKey().hash });
      await expect(store.createKey(sameHash)).rejects.toThrow();
      expect((await store.listAccounts()).map((account) => account.name)).toEqual(['alice']);
    });

    it('lists keys oldest first, of one account or of all', async () => {
      await store.createKey(newKey({ id: 'key_b', createdAt: HOUR + 2 }));
      await store.createKey(newKey({ id: 'key_a', createdAt: HOUR + 1, account: 'bob' }));
      await store.createKey(newKey({ id: 'key_c', createdAt: HOUR + 2 }));
      const ids = async (account?: string): Promise<string[]> =>
        (await store.listKeys(account)).map(({ id }) => id);
      expect(await ids()).toEqual(['key_a', 'key_b', 'key_c']);
      expect(await ids('alice')).toEqual(['key_b', 'key_c']);
      expect(await ids('nobody')).toEqual([]);
    });

    it('takes account names as they are: no wildcards, no folding, no SQL', async () => {
      const names = ['alice', 'Alice', 'al%', "x'); DROP TABLE keys;--", 'Zoë 🦊', ' '];
      for (const [index, account] of names.entries()) {
        await store.createKey(newKey({ id: `key_${index}`, account }));
      }
      for (const account of names) {
        expect(await store.listKeys(account)).toHaveLength(1);
        expect((await store.findAccount(account))?.name).toBe(account);
      }
      expect(await store.findAccount('ALICE')).toBeUndefined();
    });

    it('extends a key; a revoked one stays revoked', async () => {
      await store.createKey(newKey());
      await store.extendKey('key_one', 9 * HOUR);
      expect((await store.findKey(newKey().hash))?.expiresAt).toBe(9 * HOUR);
      await store.revokeKey('key_one', HOUR);
      await store.extendKey('key_one', 10 * HOUR);
      expect((await store.findKey(newKey().hash))?.revokedAt).toBe(HOUR);
    });

    it('revokes a key once; again changes nothing', async () => {
      await store.createKey(newKey());
      expect((await store.revokeKey('key_one', HOUR + 5))?.revokedAt).toBe(HOUR + 5);
      expect((await store.revokeKey('key_one', HOUR + 9))?.revokedAt).toBe(HOUR + 5);
      expect((await store.findKey(newKey().hash))?.revokedAt).toBe(HOUR + 5);
      expect(await store.revokeKey('key_none', HOUR)).toBeUndefined();
    });

    it('remembers the latest use of each key, never an earlier one', async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two' }));
      const use = (keyId: string, at: number): UsageRow => usageRow({ keyId, at });
      await store.recordUsage([use('key_one', 20), use('key_gone', 20), use('key_one', 15)]);
      await store.recordUsage([use('key_one', 10)]);
      expect((await store.listKeys()).map(({ lastUsedAt }) => lastUsedAt)).toEqual([20, null]);
    });

    it('gives an account another tier, which its keys show at once', async () => {
      await store.createKey(newKey());
      expect((await store.assignTier('alice', 'pro'))?.tier).toBe('pro');
      expect((await store.findKey(newKey().hash))?.tier).toBe('pro');
      expect(await store.assignTier('bob', 'pro')).toBeUndefined();
    });
  });

  describe(`${name}: replaced keys`, () => {
    const by = { id: 'key_new', hash: 'ab'.repeat(32), prefix: 'sk-gw-new', createdAt: HOUR + 100 };

    it('takes over label, permissions, models and lifetime; both keys are valid until the end of the other', async () => {
      const spec = newKey({
        label: 'ci',
        models: ['auto'],
        permissions: ['messages'],
        expiresAt: HOUR + 5000,
      });
      const old = await store.createKey(spec);
      expect(await store.replaceKey('key_one', by, HOUR + 300)).toEqual({
        key: { ...old, id: 'key_new', prefix: 'sk-gw-new', createdAt: HOUR + 100, expiresAt: HOUR + 5100 },
        replaced: { ...old, expiresAt: HOUR + 300 },
      });
      expect((await store.findKey(spec.hash))?.expiresAt).toBe(HOUR + 300);
      expect((await store.findKey(by.hash))?.id).toBe('key_new');
    });

    it('never extends the key that is replaced, and a key without expiry is replaced by one', async () => {
      await store.createKey(newKey({ expiresAt: HOUR + 200 }));
      expect((await store.replaceKey('key_one', by, HOUR + 300))?.replaced.expiresAt).toBe(HOUR + 200);
      await store.createKey(newKey({ id: 'key_two' }));
      const next = { ...by, id: 'key_next', hash: 'cd'.repeat(32) };
      expect(await store.replaceKey('key_two', next, HOUR + 300)).toMatchObject({
        key: { expiresAt: null },
        replaced: { expiresAt: HOUR + 300 },
      });
    });

    it('replaces no key that is unknown, revoked or expired', async () => {
      await store.createKey(newKey());
      await store.revokeKey('key_one', HOUR);
      await store.createKey(newKey({ id: 'key_two', expiresAt: HOUR + 100 }));
      for (const id of ['key_one', 'key_two', 'key_none'])
        expect(await store.replaceKey(id, by, HOUR + 300)).toBeUndefined();
      expect(await store.listKeys()).toHaveLength(2);
    });
  });

  describe(`${name}: renamed and removed accounts`, () => {
    it('renames an account with its keys, at once', async () => {
      await store.createKey(newKey());
      await store.findKey(newKey().hash);
      expect(await store.renameAccount('alice', 'zoe')).toMatchObject({ name: 'zoe', tier: 'free' });
      expect((await store.findKey(newKey().hash))?.account).toBe('zoe');
      expect(await store.findAccount('alice')).toBeUndefined();
      expect(await store.renameAccount('zoe', 'zoe')).toMatchObject({ name: 'zoe' });
    });

    it('renames no unknown account, and none to the name of another', async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
      expect(await store.renameAccount('carol', 'dave')).toBeUndefined();
      expect(await store.renameAccount('carol', 'bob')).toBeUndefined();
      expect(await store.renameAccount('alice', 'bob')).toBe('taken');
      expect((await store.listAccounts()).map((account) => account.name)).toEqual(['alice', 'bob']);
    });

    const item = (account: number, id: string): StoredItem => ({
      accountId: account,
      id,
      at: HOUR,
      until: HOUR + HOUR_MS,
      data: Buffer.from('text'),
    });
    const BOUNDS = { account: 1_000_000, all: 2_000_000 };

    it('removes an account with its keys, items, counts and usage, and nothing of others', async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
      const [alice, bob] = [await accountId('alice'), await accountId('bob')];
      for (const id of [alice, bob]) {
        await admit(id, HOUR, 10);
        await store.recordUsage(Array.from({ length: 600 }, () => usageRow({ accountId: id })));
        await store.storeItems(
          Array.from({ length: 120 }, (_, at) => item(id, `i${at}`)),
          BOUNDS,
        );
      }
      await store.findKey(newKey().hash);
      expect(await store.removeAccount('alice')).toMatchObject({ id: alice, name: 'alice' });
      expect(await store.findKey(newKey().hash)).toBeUndefined();
      expect((await store.listAccounts()).map((account) => account.name)).toEqual(['bob']);
      expect(await store.totals(alice, 0)).toMatchObject({ requests: 0, outputTokens: 0 });
      expect(await store.totalsBy('key', alice, 0)).toEqual([]);
      expect(await store.findItems(alice, ['i0', 'i119'], HOUR)).toEqual([]);
      expect(await store.totals(undefined, 0)).toMatchObject({ requests: 1, outputTokens: 600 * 20 });
      expect(await store.findItems(bob, ['i0', 'i119'], HOUR)).toHaveLength(2);
      expect(await store.removeAccount('alice')).toBeUndefined();
    });

    it('gives a new account nothing of a removed one, also not what requests in progress still write', async () => {
      await store.createKey(newKey());
      const removed = await accountId();
      await store.removeAccount('alice');
      await admit(removed, HOUR, 10);
      await store.recordUsage([usageRow({ accountId: removed })]);
      await store.storeItems([item(removed, 'late')], BOUNDS);
      await store.createKey(newKey());
      const id = await accountId();
      expect(id).not.toBe(removed);
      expect(await store.used(id, HOUR)).toBe(0);
      expect(await store.findItems(removed, ['late'], HOUR)).toEqual([]);
      await admit(removed, HOUR + 2 * HOUR_MS, 10);
      await admit(id, HOUR + 2 * HOUR_MS, 10);
      await store.prune(HOUR + 2 * HOUR_MS, HOUR_MS);
      expect(await store.used(removed, HOUR)).toBe(0);
    });
  });

  describe(`${name}: admissions`, () => {
    /** Accounts 1 to 3. */
    beforeEach(async () => {
      for (const account of ['alice', 'bob', 'carol'])
        await store.createKey(newKey({ id: account, account }));
      keys = await store.listKeys();
    });

    it('admits exactly the limit, and counts no refusal', async () => {
      const answers = await Promise.all(Array.from({ length: 25 }, () => admit(1, HOUR, 10)));
      expect(answers.filter((used) => used !== undefined).sort((a, b) => a - b)).toEqual([
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
      ]);
      expect(await store.used(1, HOUR)).toBe(10);
    });

    it('counts accounts and hours apart', async () => {
      await admit(1, HOUR, 1);
      expect(await admit(2, HOUR, 1)).toBe(1);
      expect(await admit(1, HOUR + HOUR_MS, 1)).toBe(1);
      expect(await admit(1, HOUR, 1)).toBeUndefined();
      expect(await store.used(3, HOUR)).toBe(0);
    });

    it('follows a limit that rises or falls within the hour', async () => {
      for (let n = 0; n < 3; n += 1) await admit(1, HOUR, 5);
      expect(await admit(1, HOUR, 2)).toBeUndefined();
      expect(await store.used(1, HOUR)).toBe(3);
      expect(await admit(1, HOUR, 4)).toBe(4);
    });

    it('admits nobody at a limit of none', async () => {
      expect(await admit(1, HOUR, 0)).toBeUndefined();
      expect(await store.used(1, HOUR)).toBe(0);
    });

    it('equals a plain counter, whatever comes in which order', async () => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(ATTEMPTS, async (attempts) => {
          round += 1;
          const expected = plainCounts(attempts);
          for (const [index, { account, hour, limit }] of attempts.entries()) {
            expect(await admit(account, hour + 3 * round * HOUR_MS, limit)).toBe(expected[index]);
          }
        }),
        { numRuns: 30 },
      );
    });

    it('gives what is asked for at once as if it were asked for one after the other', async () => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(ATTEMPTS, async (attempts) => {
          round += 1;
          const hour = HOUR + round * HOUR_MS;
          await setTime(hour);
          const admitted = attempts.map(({ account, limit }) => admit(account, hour, limit));
          const inOneHour = attempts.map((attempt) => ({ ...attempt, hour }));
          expect(await Promise.all(admitted)).toEqual(plainCounts(inOneHour));
        }),
        { numRuns: 30 },
      );
    });
  });

  describe(`${name}: usage`, () => {
    it('sums up nothing as nothing, not as a cost of 0', async () => {
      expect(await store.totals(undefined, HOUR)).toEqual({
        requests: 0,
        errors: 0,
        unknown: 0,
        unpriced: 0,
        inputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        costUsd: null,
        firstByte: NO_FIRST_BYTES,
      });
      expect(await store.totalsBy('model', 1, HOUR)).toEqual([]);
    });

    it('counts requests from admissions, even those of which no row is left', async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
      for (let n = 0; n < 4; n += 1) await admit(1, HOUR, 10);
      await admit(2, HOUR, 10);
      await store.recordUsage([usageRow()]);
      expect(await store.totals(1, HOUR)).toMatchObject({ requests: 4, inputTokens: 115 });
      expect(await store.totals(undefined, HOUR)).toMatchObject({ requests: 5, inputTokens: 115 });
    });

    it('keeps errors, unknown usage and known usage apart', async () => {
      await store.recordUsage([
        usageRow(),
        usageRow({ cacheRead: null, cacheWrite: null, costUsd: null }),
        usageRow({ ...NOTHING_KNOWN }),
        usageRow({ ...NOTHING_KNOWN, error: 'upstream', status: 502, provider: null, model: null }),
        usageRow({
          error: 'client_closed',
          status: 499,
          input: 1,
          cacheRead: 0,
          cacheWrite: 0,
          output: 2,
          costUsd: 0.25,
        }),
      ]);
      expect(await store.totals(1, HOUR)).toEqual({
        requests: 0,
        errors: 2,
        unknown: 1,
        unpriced: 1,
        inputTokens: 115 + 100 + 1,
        cacheReadTokens: 10,
        cacheWriteTokens: 5,
        outputTokens: 20 + 20 + 2,
        costUsd: 0.75,
        firstByte: [5, ...NO_FIRST_BYTES.slice(1)],
      });
    });

    it('takes the window from the whole hour that holds its beginning', async () => {
      await store.createKey(newKey());
      for (const hour of [HOUR - HOUR_MS, HOUR, HOUR + HOUR_MS]) await admit(1, hour, 10);
      await store.recordUsage([
        usageRow({ at: HOUR - 1 }),
        usageRow({ at: HOUR }),
        usageRow({ at: HOUR + HOUR_MS }),
      ]);
      for (const since of [HOUR, HOUR + 1, HOUR + HOUR_MS - 1]) {
        expect(await store.admissionsByHour(1, since)).toEqual([
          { accountId: 1, hour: HOUR, requests: 1 },
          { accountId: 1, hour: HOUR + HOUR_MS, requests: 1 },
        ]);
        expect(await store.totals(1, since)).toMatchObject({ requests: 2, outputTokens: 40 });
      }
    });

    it('groups by account, key, model and hour, each with its own order', async () => {
      await store.createKey(newKey({ account: 'zoe' }));
      await store.createKey(newKey({ id: 'key_two', account: 'alice' }));
      const zoe = await accountId('zoe');
      const alice = await accountId('alice');
      await admit(zoe, HOUR, 10);
      await admit(alice, HOUR + HOUR_MS, 10);
      await store.recordUsage([
        usageRow({ accountId: zoe }),
        usageRow({ accountId: alice, keyId: 'key_two', model: 'slow', at: HOUR + HOUR_MS }),
        usageRow({
          accountId: alice,
          keyId: 'key_two',
          at: HOUR + HOUR_MS + 1,
          error: 'upstream',
          ...NOTHING_KNOWN,
        }),
      ]);
      const one = { requests: 1, errors: 0, unknown: 0, unpriced: 0 };
      const firstByte = (requests: number): number[] => [requests, ...NO_FIRST_BYTES.slice(1)];
      const cache = { cacheReadTokens: 10, cacheWriteTokens: 5 };
      Object.assign(one, {
        inputTokens: 115,
        ...cache,
        outputTokens: 20,
        costUsd: 0.5,
        firstByte: firstByte(1),
      });
      expect(await store.totalsBy('account', undefined, HOUR)).toEqual([
        {
          accountId: alice,
          group: { account: 'alice' },
          totals: { ...one, errors: 1, firstByte: firstByte(2) },
        },
        { accountId: zoe, group: { account: 'zoe' }, totals: one },
      ]);
      expect(await store.totalsBy('key', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { key: 'key_one' }, totals: one },
        {
          accountId: alice,
          group: { key: 'key_two' },
          totals: { ...one, requests: 2, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      const nothing = {
        unpriced: 0,
        inputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        costUsd: null,
      };
      expect(await store.totalsBy('model', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { model: 'echo', provider: 'sim' }, totals: one },
        {
          accountId: alice,
          group: { model: 'echo', provider: 'sim' },
          totals: { ...one, ...nothing, errors: 1 },
        },
        { accountId: alice, group: { model: 'slow', provider: 'sim' }, totals: one },
      ]);
      expect(await store.totalsBy('hour', undefined, HOUR)).toEqual([
        { accountId: zoe, group: { hour: '2026-11-21T14:00:00.000Z' }, totals: one },
        {
          accountId: alice,
          group: { hour: '2026-11-21T15:00:00.000Z' },
          totals: { ...one, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      const day = { day: '2026-11-21T00:00:00.000Z' };
      expect(await store.totalsBy('day', undefined, HOUR)).toEqual([
        { accountId: zoe, group: day, totals: one },
        { accountId: alice, group: day, totals: { ...one, errors: 1, firstByte: firstByte(2) } },
      ]);
      expect(await store.totalsBy('provider', alice, HOUR)).toEqual([
        {
          accountId: alice,
          group: { provider: 'sim' },
          totals: { ...one, requests: 2, errors: 1, firstByte: firstByte(2) },
        },
      ]);
      expect(await store.totalsBy('account', zoe, HOUR)).toEqual([
        { accountId: zoe, group: { account: 'zoe' }, totals: one },
      ]);
    });

    it('groups requests that reached no target under null', async () => {
      await store.recordUsage([usageRow({ provider: null, model: null, error: 'upstream' })]);
      expect((await store.totalsBy('model', 1, HOUR)).map(({ group }) => group)).toEqual([
        { model: null, provider: null },
      ]);
    });

    /** One admission and `rows` usage rows in each of these hours. */
    async function fill(hours: readonly number[], rows: number): Promise<number> {
      await store.createKey(newKey());
      const id = await accountId();
      for (const hour of hours) {
        await admit(id, hour, 10);
        const at = (n: number): number => hour + (n % HOUR_MS);
        await store.recordUsage(
          Array.from({ length: rows }, (_, n) => usageRow({ accountId: id, at: at(n) })),
        );
      }
      return id;
    }

    it('prunes whole hours that are older, and keeps what is not', async () => {
      const id = await fill([HOUR - 2 * HOUR_MS, HOUR - HOUR_MS, HOUR], 1203);
      await store.prune(HOUR + 10, HOUR_MS);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 2, outputTokens: 2 * 1203 * 20 });
      expect(await store.admissionsByHour(id, 0)).toEqual([
        { accountId: id, hour: HOUR - HOUR_MS, requests: 1 },
        { accountId: id, hour: HOUR, requests: 1 },
      ]);
    });

    it('prunes nothing for a clock that is ahead of all that was recorded', async () => {
      const id = await fill([HOUR - HOUR_MS, HOUR], 1);
      await store.prune(HOUR + 10_000 * HOUR_MS, 2 * HOUR_MS);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 2, outputTokens: 40 });
    });

    it('never prunes the newest hour, however little is to be kept', async () => {
      const id = await fill([HOUR - HOUR_MS, HOUR], 3);
      await store.prune(HOUR + 1000, 0);
      expect(await store.totals(id, 0)).toMatchObject({ requests: 1, outputTokens: 60 });
      expect(await admit(id, HOUR, 10)).toBe(2);
    });

    it('equals a plain sum over the rows that are left, whatever the report and its window', async () => {
      const steps = fc.array(
        fc.record({
          batch: usageRows(HOUR, usageRow()),
          keepHours: fc.option(fc.integer({ min: 0, max: 40 })),
        }),
        { minLength: 1, maxLength: 5 },
      );
      await fc.assert(
        fc.asyncProperty(steps, async (todo) => {
          const fresh = await open();
          await fresh.createKey(newKey());
          await fresh.createKey(newKey({ id: 'key_two', account: 'bob' }));
          let rows: UsageRow[] = [];
          for (const { batch, keepHours } of todo) {
            await fresh.recordUsage(batch);
            rows = rows.concat(batch);
            if (keepHours !== null && rows.length > 0) {
              const newest = Math.max(...rows.map(({ at }) => at));
              await fresh.prune(newest, keepHours * HOUR_MS);
              rows = rows.filter(({ at }) => at >= hourOf(newest - keepHours * HOUR_MS));
            }
            for (const grouping of GROUPINGS) {
              for (const since of [0, HOUR - 20 * HOUR_MS, HOUR + 1]) {
                const found = await fresh.totalsBy(grouping, undefined, since);
                expect(byName(found)).toEqual(byName(plainSums(rows, grouping, since)));
              }
            }
            const alice = plainSums(rows, 'account', 0).find(({ accountId }) => accountId === 1);
            expect(await fresh.totals(1, 0)).toEqual(alice?.totals ?? NO_TOTALS);
          }
          await fresh.close();
        }),
        { numRuns: 5 },
      );
    }, 60_000);

    it('writes each batch of a writer once, and the same number of another writer too', async () => {
      const batch = { writer: 'one', number: 3 };
      await store.recordUsage([usageRow(), usageRow()], batch);
      await store.recordUsage([usageRow(), usageRow()], batch);
      await store.recordUsage([usageRow()], { writer: 'one', number: 2 });
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 40 });
      await store.recordUsage([usageRow()], { writer: 'one', number: 4 });
      await store.recordUsage([usageRow()], { writer: 'two', number: 3 });
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 80 });
    });

    it('takes a name with a zero character or half a character, also in a search', async () => {
      const odd = 'a\0b\ud800';
      await store.recordUsage([usageRow({ modelAsked: odd, model: odd, detail: JSON.stringify({ odd }) })]);
      expect(await store.totals(1, HOUR)).toMatchObject({ outputTokens: 20 });
      await store.listRequests({ limit: 5, model: odd });
      expect(await store.findAccount(odd)).toBeUndefined();
      expect(await store.findItems(1, [odd], HOUR)).toEqual([]);
    });

    it('takes an empty batch, and a name of any length', async () => {
      await store.recordUsage([]);
      await store.recordUsage([usageRow({ modelAsked: 'x'.repeat(100_000), model: 'y'.repeat(100_000) })]);
      const [row] = await store.totalsBy('model', 1, HOUR);
      expect(row?.group.model?.length).toBeLessThan(1000);
    });
  });

  describe(`${name}: single requests`, () => {
    const LIMIT = 10;

    it('gives a request back as it was recorded, with the name of its account', async () => {
      await store.createKey(newKey());
      const row = usageRow({
        accountId: await accountId(),
        requestId: 'req_one',
        attempts: 2,
        detail: '{"lost":["x"]}',
        streamed: false,
        error: 'upstream',
      });
      const bare = usageRow({
        ...NOTHING_KNOWN,
        at: HOUR,
        accountId: 99,
        provider: null,
        model: null,
        firstByteMs: null,
      });
      await store.recordUsage([bare, row]);
      expect(await store.listRequests({ limit: LIMIT })).toEqual([
        { ...row, account: 'alice' },
        { ...bare, account: null },
      ]);
    });

    it('lists the newest first, as many as are asked for, whatever the order of recording', async () => {
      await store.recordUsage([3, 1, 2].map((at) => usageRow({ at: HOUR + at, requestId: `req_${at}` })));
      const ids = (await store.listRequests({ limit: 2 })).map(({ requestId }) => requestId);
      expect(ids).toEqual(['req_3', 'req_2']);
    });

    it('filters by time, account, model and failure, together', async () => {
      const rows = [
        usageRow({ requestId: 'a', error: 'upstream' }),
        usageRow({ requestId: 'b', accountId: 2 }),
        usageRow({ requestId: 'c', modelAsked: 'sim/echo' }),
        usageRow({ requestId: 'd', model: 'other', at: HOUR + 60_000 }),
        usageRow({ requestId: 'e', provider: null, model: null, modelAsked: 'other' }),
      ];
      await store.recordUsage(rows);
      const ids = async (filter: Partial<RequestQuery>): Promise<string> =>
        (await store.listRequests({ limit: LIMIT, ...filter }))
          .map(({ requestId }) => requestId)
          .sort()
          .join('');
      expect(await ids({ errors: true })).toBe('a');
      expect(await ids({ errors: false, accountId: 2 })).toBe('b');
      expect(await ids({ model: 'echo' })).toBe('abc');
      expect(await ids({ model: 'sim/echo' })).toBe('abc');
      expect(await ids({ model: 'other' })).toBe('de');
      expect(await ids({ since: HOUR + 60_000 })).toBe('d');
      expect(await ids({ until: HOUR + 59_999, model: 'other' })).toBe('e');
      expect(await ids({ since: HOUR + 60_000, model: 'echo' })).toBe('');
      expect(await ids({ accountId: 1, errors: true, model: 'auto', since: HOUR })).toBe('a');
    });

    it('finds requests by the beginning of their ids, exactly, within a time', async () => {
      await store.recordUsage([
        usageRow({ requestId: 'req_0aB', at: HOUR }),
        usageRow({ requestId: 'req_0ab', at: HOUR + 5 }),
        usageRow({ at: HOUR + 6 }),
        usageRow({ requestId: 'req_%', at: HOUR + 7 }),
      ]);
      const ids = async (prefix: string, change: Partial<RequestIdQuery> = {}) =>
        (await store.findRequests({ prefix, from: HOUR, until: HOUR + 10, limit: LIMIT, ...change })).map(
          ({ requestId }) => requestId,
        );
      expect(await ids('req_0aB')).toEqual(['req_0aB']);
      expect(await ids('req_0a')).toEqual(['req_0aB', 'req_0ab']);
      expect(await ids('req_0a', { limit: 1 })).toEqual(['req_0aB']);
      expect(await ids('req_0a', { from: HOUR + 1 })).toEqual(['req_0ab']);
      expect(await ids('req_0a', { until: HOUR + 4 })).toEqual(['req_0aB']);
      expect(await ids('req_%')).toEqual(['req_%']);
    });
  });

  describe(`${name}: the admin API`, () => {
    const token = (change: Partial<NewAdminToken> = {}): NewAdminToken => ({
      id: 'adm_one',
      hash: 'ab'.repeat(32),
      prefix: 'sk-gwa-abcdef',
      label: null,
      scope: 'read',
      createdAt: HOUR,
      expiresAt: null,
      ...change,
    });
    const stored = ({ hash: _, ...rest }: NewAdminToken) => ({ ...rest, lastUsedAt: null, revokedAt: null });

    it('finds a token by its hash alone, and lists all, the oldest first', async () => {
      const first = token({ createdAt: HOUR + 5, label: 'Wärter', expiresAt: HOUR + 10 });
      const second = token({ id: 'adm_two', hash: 'cd'.repeat(32), scope: 'write' });
      await store.createAdminToken(first);
      await store.createAdminToken(second);
      expect(await store.findAdminToken(first.hash)).toEqual(stored(first));
      expect(await store.findAdminToken('ef'.repeat(32))).toBeUndefined();
      expect(await store.listAdminTokens()).toEqual([stored(second), stored(first)]);
    });

    it('revokes a token once', async () => {
      await store.createAdminToken(token());
      expect(await store.revokeAdminToken('adm_one', HOUR + 1)).toMatchObject({ revokedAt: HOUR + 1 });
      expect(await store.revokeAdminToken('adm_one', HOUR + 2)).toMatchObject({ revokedAt: HOUR + 1 });
      expect(await store.revokeAdminToken('adm_none', HOUR)).toBeUndefined();
    });

    it('stores the last use of a token, which never goes back', async () => {
      await store.createAdminToken(token());
      for (const at of [HOUR + 9, HOUR + 3]) await store.touchAdminToken('adm_one', at);
      expect(await store.findAdminToken(token().hash)).toMatchObject({ lastUsedAt: HOUR + 9 });
    });

    it('lists what was changed, the newest first, in pages, and deletes what is old', async () => {
      const entry = { actor: 'adm_one', address: '127.0.0.1', action: 'createKey', detail: '{"a":"ü"}' };
      const ids: number[] = [];
      for (const at of [1, 2, 3]) ids.push(await store.beginAudit({ ...entry, at: HOUR + at }));
      await store.endAudit(ids[1] ?? 0, 201);
      const all = await store.listAudit(Number.MAX_SAFE_INTEGER, 2);
      expect(all).toEqual([
        { ...entry, id: ids[2], at: HOUR + 3, status: null },
        { ...entry, id: ids[1], at: HOUR + 2, status: 201 },
      ]);
      expect((await store.listAudit(ids[1] ?? 0, 2)).map(({ id }) => id)).toEqual([ids[0]]);
      await store.pruneAudit(HOUR + 3);
      expect((await store.listAudit(Number.MAX_SAFE_INTEGER, 9)).map(({ id }) => id)).toEqual([ids[2]]);
    });
  });

  describe(`${name}: export and import`, () => {
    async function* batchesOf(...records: StoredRecord[]): AsyncGenerator<StoredRecord[]> {
      for (const record of records) yield [await Promise.resolve(record)];
    }

    async function exported(from: Store): Promise<StoredRecord[]> {
      const records: StoredRecord[] = [];
      for await (const batch of from.exportRecords()) records.push(...batch);
      return records;
    }

    /** Two accounts with all kinds of keys, one that was removed, counts and usage. */
    async function fillAll(): Promise<void> {
      await store.createKey(
        newKey({ label: 'laptop', models: ['auto'], permissions: ['messages'], expiresAt: HOUR + 5 }),
      );
      await store.createKey(newKey({ id: 'key_gone', account: 'carol' }));
      await store.createKey(newKey({ id: 'key_two', account: 'Zoë', permissions: [] }));
      await store.revokeKey('key_two', HOUR + 9);
      await store.removeAccount('carol');
      await admit(1, HOUR, 10);
      await store.recordUsage([
        usageRow(),
        usageRow({ streamed: false, requestId: 'req_1', attempts: 2, detail: '{}' }),
        usageRow({ ...NOTHING_KNOWN, provider: null, model: null, firstByteMs: null, error: 'upstream' }),
      ]);
    }

    it('gives back what was written, with the same reports, keys and numbers', async () => {
      await fillAll();
      const records = await exported(store);
      expect(records.map(({ type }) => type).join()).toBe(
        'account,account,removed_account,key,key,hour,usage,usage,usage',
      );
      const copy = await open();
      expect(await copy.importRecords(store.exportRecords())).toBe(true);
      expect(await exported(copy)).toEqual(records);
      expect(await copy.listKeys()).toEqual(await store.listKeys());
      expect(await copy.findKey(newKey().hash)).toEqual(await store.findKey(newKey().hash));
      for (const by of GROUPINGS)
        expect(await copy.totalsBy(by, undefined, 0)).toEqual(await store.totalsBy(by, undefined, 0));
      const { accountId } = await copy.createKey(newKey({ id: 'key_new', account: 'new' }));
      expect(accountId).toBeGreaterThan(3);
      await copy.close();
    });

    it('writes nothing into a database that is not empty', async () => {
      await store.createKey(newKey());
      const before = await exported(store);
      expect(await store.importRecords(batchesOf({ type: 'account', ...accountOf(9, 'bob') }))).toBe(false);
      expect(await exported(store)).toEqual(before);
    });

    it('writes nothing if one record cannot be written, or reading fails', async () => {
      const account: StoredRecord = { type: 'account', ...accountOf(1, 'alice') };
      await expect(store.importRecords(batchesOf(account, account))).rejects.toThrow();
      async function* broken(): AsyncGenerator<StoredRecord[]> {
        yield [await Promise.resolve(account)];
        throw new Error('the file ends here');
      }
      await expect(store.importRecords(broken())).rejects.toThrow('the file ends here');
      expect(await exported(store)).toEqual([]);
      expect(await store.importRecords(batchesOf(account))).toBe(true);
    });

    const accountOf = (id: number, account: string): Account => ({
      id,
      name: account,
      tier: 'free',
      createdAt: HOUR,
    });
  });

  describe(`${name}: health`, () => {
    it('lists what is avoided, and a name of any length delays no other', async () => {
      const target = (name: string) => ({ target: `p/${name}`, state: 'failing', until: HOUR }) as const;
      // A client chooses the model's name.
      const long = randomBytes(5000).toString('hex');
      await store.publishHealth([target('a'), target(long), target('b')], []);
      await store.publishHealth([], ['p/a', `p/${long}`]);
      expect(await store.listHealth(HOUR - 1)).toEqual([target('b')]);
      expect(await store.listHealth(HOUR)).toEqual([]);
    });
  });

  describe(`${name}: after its end`, () => {
    it('rejects what comes after close, and closes twice without complaint', async () => {
      await store.close();
      await store.close();
      await expect(store.admit(keyOf(1), 10, HOUR)).rejects.toMatchObject({
        name: 'StoreError',
        kind: 'unavailable',
      });
    });

    it('does its housekeeping without a word', async () => {
      await store.createKey(newKey());
      await admit(1, HOUR, 10);
      await store.idle();
      expect(await store.used(1, HOUR)).toBe(1);
    });
  });

  describe(`${name}: items`, () => {
    const BOUNDS = { account: 1_000_000, all: 2_000_000 };
    const item = (id: string, change: Partial<StoredItem> = {}): StoredItem => ({
      accountId: 1,
      id,
      at: HOUR,
      until: HOUR + HOUR_MS,
      data: Buffer.from(`data of ${id}`),
      ...change,
    });
    const idsOf = async (accountId: number, ids: string[], now = HOUR): Promise<string[]> =>
      (await store.findItems(accountId, ids, now)).map(({ id }) => id);

    beforeEach(async () => {
      await store.createKey(newKey());
      await store.createKey(newKey({ id: 'key_two', account: 'bob' }));
    });

    it('gives back what was stored, in the order of the ids that were asked for', async () => {
      await store.storeItems([item('a'), item('b')], BOUNDS);
      const found = await store.findItems(1, ['b', 'missing', 'a'], HOUR);
      expect(found.map(({ id, data }) => [id, Buffer.from(data).toString()])).toEqual([
        ['b', 'data of b'],
        ['a', 'data of a'],
      ]);
    });

    it('shows no account the items of another', async () => {
      await store.storeItems([item('a'), item('a', { accountId: 2, data: Buffer.from('of bob') })], BOUNDS);
      expect(Buffer.from((await store.findItems(2, ['a'], HOUR))[0]?.data ?? []).toString()).toBe('of bob');
      expect(await store.deleteItems(2, ['a', 'b'])).toBe(1);
      expect(await idsOf(2, ['a'])).toEqual([]);
      expect(await idsOf(1, ['a'])).toEqual(['a']);
    });

    it('stores ids of 1,000 bytes', async () => {
      const ids = [randomBytes(500).toString('hex'), randomBytes(500).toString('hex')];
      await store.storeItems(
        ids.map((id) => item(id)),
        BOUNDS,
      );
      expect(await idsOf(1, ids)).toEqual(ids);
    });

    it('replaces an item of the same id', async () => {
      await store.storeItems([item('a')], BOUNDS);
      await store.storeItems([item('a', { data: Buffer.from('newer') })], BOUNDS);
      const found = await store.findItems(1, ['a'], HOUR);
      expect(found.map(({ data }) => Buffer.from(data).toString())).toEqual(['newer']);
    });

    it('finds no expired item, extends one that is asked for, and prunes the others', async () => {
      await store.storeItems([item('a'), item('b')], BOUNDS);
      await store.extendItems(1, ['b'], HOUR + 2 * HOUR_MS);
      expect(await idsOf(1, ['a', 'b'], HOUR + HOUR_MS)).toEqual(['b']);
      await store.extendItems(1, ['b'], HOUR + 1);
      await store.pruneItems(HOUR + HOUR_MS);
      expect(await idsOf(1, ['a', 'b'])).toEqual(['b']);
    });

    it('deletes the oldest items of an account that is above its bound', async () => {
      const data = Buffer.alloc(1000);
      const items = Array.from({ length: 10 }, (_, at) => item(`i${at}`, { at: HOUR + at, data }));
      await store.storeItems([item('other', { accountId: 2, at: HOUR - 1 })], BOUNDS);
      await store.storeItems(items, { ...BOUNDS, account: 5000 });
      const ids = items.map(({ id }) => id);
      expect(await idsOf(1, ids)).toEqual(['i6', 'i7', 'i8', 'i9']);
      expect(await idsOf(2, ['other'])).toEqual(['other']);
    });

    it('deletes the oldest items of all accounts above the bound of all', async () => {
      const data = Buffer.alloc(1000);
      await store.storeItems([item('old', { accountId: 2, at: HOUR - 1, data })], BOUNDS);
      await store.storeItems([item('a', { data }), item('b', { at: HOUR + 1, data })], {
        ...BOUNDS,
        all: 3000,
      });
      expect(await idsOf(2, ['old'])).toEqual([]);
      expect(await idsOf(1, ['a', 'b'])).toEqual(['a', 'b']);
    });
  });
}
