// What every engine must do, whichever keeps the data: keys, accounts and admissions here, usage and other records in files of their own.
// `open` gives a store on a new, empty database.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/clock.ts';
import type { AccountQuery, KeyQuery } from '../../src/store/admin/key-records.ts';
import { type Key, type NewKey, type Store, type StoredItem } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-columns.ts';
import { groupedTotals } from './plain-sums.ts';
import { type Contract, HOUR, keyOf, newKey, usageRow } from './support.ts';
import { recordsContract } from './contract-records.ts';
import { signInContract } from './contract-sign-ins.ts';
import { refusalContract } from './contract-refusals.ts';
import { workContract } from './contract-work.ts';
import { usageContract } from './contract-usage.ts';

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

/** `setTime`: sets the clock of an engine that does not count by the time of its caller. `share`: of the random cases, less than 1 where
 *  the same statements run against all of them in another way. */
export function storeContract(
  name: string,
  open: () => Promise<Store>,
  setTime = (_now: number): Promise<void> => Promise.resolve(),
  share = 1,
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
        usageLabel: 'pr-123',
        models: ['auto', 'sim/echo'],
        permissions: ['messages'],
        native: true,
        expiresAt: 5,
      });
      const created = await store.createKey(spec);
      expect(created).toEqual({
        id: 'key_one',
        account: 'alice',
        tier: 'free',
        prefix: 'sk-gw-abc',
        label: 'laptop',
        usageLabel: 'pr-123',
        permissions: ['messages'],
        models: ['auto', 'sim/echo'],
        native: true,
        createdAt: HOUR,
        expiresAt: 5,
        accountId: await accountId(),
        lastUsedAt: null,
        revokedAt: null,
        grantedUntil: null,
        origin: null,
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

    it('lists the keys and accounts after a place, as many as are asked for', async () => {
      const made = [
        { id: 'key_c', createdAt: HOUR + 2 },
        { id: 'key_a', createdAt: HOUR + 2, account: 'bob' },
        { id: 'key_b', createdAt: HOUR + 1, account: 'carol' },
        { id: 'key_d', createdAt: HOUR + 3, account: 'bob' },
      ];
      for (const key of made) await store.createKey(newKey(key));
      const bob = (await store.findAccount('bob'))?.id;
      const listed = async (query: Partial<KeyQuery> = {}): Promise<string> => {
        const whole = { state: 'all', order: 'oldest', now: HOUR, most: 10, ...query } as const;
        return (await store.pageOfKeys(whole)).map(({ id }) => id.slice(-1)).join('');
      };
      const a = { createdAt: HOUR + 2, id: 'key_a' };
      expect(await listed()).toBe('bacd');
      expect(await listed({ most: 3 })).toBe('bac');
      expect(await listed({ after: a })).toBe('cd');
      expect(await listed({ after: a, accountId: bob })).toBe('d');
      expect(await listed({ after: { createdAt: HOUR + 3, id: 'key_d' } })).toBe('');
      expect(await listed({ order: 'newest' })).toBe('dcab');
      expect(await listed({ order: 'newest', after: a })).toBe('b');
      expect(await listed({ order: 'newest', last: a })).toBe('dca');
      expect(await listed({ last: a })).toBe('ba');
      expect((await store.passKeys({ order: 'newest' }, 3))?.id).toBe('key_a');
      expect((await store.passKeys({ order: 'oldest', after: a }, 2))?.id).toBe('key_d');
      expect(await store.passKeys({ order: 'oldest', after: a }, 3)).toBeUndefined();
      expect((await store.passKeys({ order: 'newest', accountId: bob }, 2))?.id).toBe('key_a');
      const [first] = await store.listAccounts();
      const names = async (query: AccountQuery): Promise<string[]> =>
        (await store.listAccounts(query)).map(({ name }) => name);
      expect(await names({ most: 2 })).toEqual(['alice', 'bob']);
      expect(await names({ after: first?.id })).toEqual(['bob', 'carol']);
      expect(await names({ after: first?.id, most: 1 })).toEqual(['bob']);
      expect(await names({ order: 'newest', most: 2 })).toEqual(['carol', 'bob']);
      expect(await names({ find: 'AR' })).toEqual(['carol']);
    });

    it('lists keys by their state, and finds them by a part of what names them', async () => {
      const made: Partial<NewKey>[] = [
        { id: 'key_1', label: 'Laptop of %Ada', createdAt: HOUR },
        { id: 'key_2', label: 'laptop_2', expiresAt: HOUR + 9, createdAt: HOUR + 1 },
        { id: 'key_3', label: null, account: 'Zoë', createdAt: HOUR + 2 },
        { id: 'key_4', label: 'ÄRGER', expiresAt: HOUR + 11, createdAt: HOUR + 3 },
      ];
      for (const key of made) await store.createKey(newKey(key));
      await store.revokeKey('key_3', HOUR + 5);
      const listed = async (query: Partial<KeyQuery>): Promise<string> => {
        const whole = { state: 'all', order: 'newest', now: HOUR + 10, most: 10, ...query } as const;
        return (await store.pageOfKeys(whole)).map(({ id }) => id.slice(-1)).join('');
      };
      expect(await listed({ state: 'valid' })).toBe('41');
      expect(await listed({ state: 'ended' })).toBe('32');
      expect(await listed({ state: 'valid', now: HOUR + 11 })).toBe('1');
      expect(await listed({ find: 'lapTOP' })).toBe('21');
      expect(await listed({ find: '%' })).toBe('1');
      expect(await listed({ find: '_2' })).toBe('2');
      expect(await listed({ find: 'zoë' })).toBe('3');
      // Letters beyond z are found as they are written, in each engine.
      expect(await listed({ find: 'ÄRGER' })).toBe('4');
      expect(await listed({ find: 'ärger' })).toBe('');
      expect(await listed({ find: 'nothing' })).toBe('');
      expect((await store.findKeyById('key_3'))?.revokedAt).toBe(HOUR + 5);
      expect(await store.findKeyById('key_5')).toBeUndefined();
    });

    it('assigns a tier only if the account has the one that was seen', async () => {
      const { accountId, account, tier } = await store.createKey(newKey({ id: 'key_a' }));
      expect(await store.assignTier(account, 'pro', 'other')).toBeUndefined();
      expect((await store.findAccount(account))?.tier).toBe(tier);
      expect((await store.assignTier(account, 'pro', tier))?.tier).toBe('pro');
      expect(await store.countKeys(accountId)).toBe(1);
    });

    it('deletes keys of gateway run some time after their end, and counts them until then', async () => {
      await setTime(HOUR);
      const lease = (id: string, change: Partial<NewKey>) =>
        newKey({ id: `key_run_${id}`, expiresAt: 1e14, ...change });
      await store.createKey(newKey({ id: 'key_own' }));
      await store.createKey(newKey({ id: 'key_ended', expiresAt: HOUR - 1 }));
      await store.createKey(newKey({ id: 'key_runner', expiresAt: HOUR - 1 }));
      await store.createKey(lease('live', {}));
      await store.createKey(lease('revoked', {}));
      await store.createKey(lease('expired', { expiresAt: HOUR - 10 }));
      await store.revokeKey('key_run_revoked', HOUR - 5);
      const counted = async (): Promise<number | undefined> => (await store.listAccounts())[0]?.keys;
      expect(await counted()).toBe(4);
      const ids = async (): Promise<string> =>
        (await store.listKeys()).map(({ id }) => id.replace(/^key_/, '')).join(' ');
      await store.pruneKeys(HOUR - 10);
      expect(await ids()).toBe('own ended runner run_live run_revoked run_expired');
      await store.pruneKeys(HOUR - 7);
      expect(await ids()).toBe('own ended runner run_live run_revoked');
      await store.pruneKeys(HOUR);
      expect(await ids()).toBe('own ended runner run_live');
      expect(await counted()).toBe(4);
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
      expect(await groupedTotals(store, 'key', alice, 0)).toEqual([]);
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
        { numRuns: Math.ceil(30 * share) },
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
        { numRuns: Math.ceil(30 * share) },
      );
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

  const contract: Contract = { open, store: () => store, accountId, admit, share };
  usageContract(name, contract);
  recordsContract(name, contract);
  signInContract(name, contract);
  workContract(name, contract);
  refusalContract(name, contract);
}
