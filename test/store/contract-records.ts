// What every engine must do with what it stores beside keys and usage: the admin API, items, health, and all of it exported and imported.
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/clock.ts';
import type { AuditEntry, NewAdminToken } from '../../src/store/admin/admin-records.ts';
import {
  GROUPINGS,
  type Account,
  type Store,
  type StoredItem,
  type StoredRecord,
} from '../../src/store/store.ts';
import { type Contract, NOTHING_KNOWN, HOUR, newKey, usageRow } from './support.ts';
import { groupedTotals } from './plain-sums.ts';

export function recordsContract(name: string, contract: Contract): void {
  const { open, admit } = contract;
  let store: Store;
  beforeEach(() => {
    store = contract.store();
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
      await store.beginAudit({ ...entry, at: HOUR + 4, actor: 'cli ada', action: 'revokeKey' });
      const found = async (only: Parameters<Store['listAudit']>[2]) =>
        (await store.listAudit(Number.MAX_SAFE_INTEGER, 9, only)).map(({ at }) => at - HOUR);
      expect(await found({})).toEqual([4, 3, 2, 1]);
      expect(await found({ actor: 'adm_one' })).toEqual([3, 2, 1]);
      expect(await found({ action: 'revokeKey' })).toEqual([4]);
      expect(await found({ action: 'revokeKey', actor: 'adm_one' })).toEqual([]);
      expect(await found({ since: HOUR + 2, until: HOUR + 3 })).toEqual([3, 2]);
      expect(await found({ from: ids[2] ?? 0 })).toEqual([4, 3]);
      await store.pruneAudit(HOUR + 3);
      expect(await found({})).toEqual([4, 3]);
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
      const grant = { kind: 'cost' as const, amount: 5e9, until: HOUR + 9, createdAt: HOUR, revokedAt: null };
      await store.addGrants([{ id: 'grant_one', accountId: 1, ...grant }]);
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
        'account,account,removed_account,key,key,grant,spending,spending,hour,usage,usage,usage',
      );
      const copy = await open();
      expect(await copy.importRecords(store.exportRecords(), imported)).toBe(true);
      expect(await exported(copy)).toEqual(records);
      expect(await copy.listKeys()).toEqual(await store.listKeys());
      expect(await copy.listAudit(Number.MAX_SAFE_INTEGER, 9)).toEqual([
        { ...entry, id: expect.any(Number) as number, status: 200 },
      ]);
      expect(await copy.findKey(newKey().hash)).toEqual(await store.findKey(newKey().hash));
      for (const by of GROUPINGS)
        expect(await groupedTotals(copy, by, undefined, 0)).toEqual(
          await groupedTotals(store, by, undefined, 0),
        );
      const { accountId } = await copy.createKey(newKey({ id: 'key_new', account: 'new' }));
      expect(accountId).toBeGreaterThan(3);
      await copy.close();
    });

    it('writes nothing into a database that is not empty', async () => {
      await store.createKey(newKey());
      const before = await exported(store);
      expect(
        await store.importRecords(batchesOf({ type: 'account', ...accountOf(9, 'bob') }), imported),
      ).toBe(false);
      expect(await exported(store)).toEqual(before);
    });

    it('writes nothing if one record cannot be written, or reading fails', async () => {
      const account: StoredRecord = { type: 'account', ...accountOf(1, 'alice') };
      await expect(store.importRecords(batchesOf(account, account), imported)).rejects.toThrow();
      async function* broken(): AsyncGenerator<StoredRecord[]> {
        yield [await Promise.resolve(account)];
        throw new Error('the file ends here');
      }
      await expect(store.importRecords(broken(), imported)).rejects.toThrow('the file ends here');
      expect(await exported(store)).toEqual([]);
      expect(await store.listAudit(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
      expect(await store.importRecords(batchesOf(account), imported)).toBe(true);
    });

    const entry: AuditEntry = {
      at: HOUR,
      actor: 'cli owner',
      address: 'local',
      action: 'import',
      detail: '{"account":1}',
    };
    const imported = (): Promise<AuditEntry> => Promise.resolve(entry);

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

    it('gives no more at once than was asked for, and at least one item', async () => {
      const large = (id: string): StoredItem => item(id, { data: Buffer.alloc(1000, id) });
      await store.storeItems([large('a'), large('b'), large('c')], BOUNDS);
      const read = async (ids: string[], most: number): Promise<string[]> =>
        (await store.findItems(1, ids, HOUR, most)).map(({ id }) => id);
      expect(await read(['c', 'x', 'a', 'b'], 1500)).toEqual(['c', 'a']);
      expect(await read(['a', 'b'], 1)).toEqual(['a']);
      expect(await read(['a', 'b', 'c'], 3000)).toEqual(['a', 'b', 'c']);
    });

    it('prunes large items in several steps', async () => {
      const ids = Array.from({ length: 6 }, (_, at) => `large ${at}`);
      const data = Buffer.alloc(1_000_000);
      const bounds = { account: 1e8, all: 1e8 };
      for (const id of ids) await store.storeItems([item(id, { data, until: HOUR })], bounds);
      await store.pruneItems(HOUR);
      expect(await idsOf(1, ids, 0)).toEqual([]);
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
