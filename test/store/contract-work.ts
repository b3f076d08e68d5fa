// What every engine must do with the counts of an agent's work: added or held at their largest, exported, pruned, gone with the account.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store, StoredRecord } from '../../src/store/store.ts';
import { MOST_WORK } from '../../src/store/holds/work-sql.ts';
import { NO_WORK, type WorkRow } from '../../src/store/holds/work.ts';
import { type Contract, HOUR, newKey, usageRow } from './support.ts';

const TALK = 'conv_3kX9aB2qAAAAAAAA';

const row = (change: Partial<WorkRow> = {}): WorkRow => ({
  ...{ ...NO_WORK, conversation: TALK, series: '' },
  ...change,
});

export function workContract(name: string, { open, store: opened }: Contract): void {
  describe(`${name}: work of conversations`, () => {
    let store: Store;
    let accountId = 0;
    beforeEach(async () => {
      store = opened();
      ({ accountId } = await store.createKey(newKey()));
    });

    async function rowsOf(from: Store): Promise<StoredRecord[]> {
      const found: StoredRecord[] = [];
      for await (const batch of from.exportRecords())
        found.push(...batch.filter(({ type }) => type === 'work'));
      return found;
    }

    it('adds counts, and holds those of a series at their largest', async () => {
      const first = row({ commits: 1, pullRequests: 2, linesAdded: 3, linesRemoved: 4 });
      await store.countWork(accountId, [first, row({ series: 'a', commits: 5 })], HOUR);
      await store.countWork(
        accountId,
        [first, row({ series: 'a', commits: 3, linesAdded: 9 }), row({ series: 'b', commits: 7 })],
        HOUR + 1,
      );
      await store.countWork(accountId, [row({ conversation: 'conv_other', commits: 50 })], HOUR);
      expect(await store.workOf(accountId, TALK)).toEqual({
        ...{ commits: 14, pullRequests: 4, linesAdded: 15, linesRemoved: 8 },
      });
      expect(await store.workOf(accountId, 'conv_none')).toEqual(NO_WORK);
    });

    it('adds what several write at once, and never beyond what a number holds', async () => {
      await Promise.all(
        Array.from({ length: 8 }, () => store.countWork(accountId, [row({ commits: 1 })], HOUR)),
      );
      expect(await store.workOf(accountId, TALK)).toMatchObject({ commits: 8 });
      for (let sent = 0; sent < 2; sent += 1)
        await store.countWork(accountId, [row({ linesAdded: MOST_WORK })], HOUR);
      expect(await store.workOf(accountId, TALK)).toMatchObject({ linesAdded: MOST_WORK });
    });

    it('goes with an export, stays through a rename, and goes with the account', async () => {
      const rows = [row({ commits: 2 }), row({ series: 'a', linesRemoved: 9 })];
      await store.countWork(accountId, rows, HOUR);
      const copy = await open();
      const audit = { at: HOUR, actor: 'cli test', address: 'local', action: 'import', detail: '{}' };
      expect(await copy.importRecords(store.exportRecords(), () => Promise.resolve(audit))).toBe(true);
      expect(await rowsOf(copy)).toEqual(await rowsOf(store));
      expect(await copy.workOf(accountId, TALK)).toEqual({ ...NO_WORK, commits: 2, linesRemoved: 9 });
      await copy.close();
      await store.renameAccount('alice', 'anna');
      expect(await store.workOf(accountId, TALK)).toMatchObject({ commits: 2 });
      await store.removeAccount('anna');
      expect(await rowsOf(store)).toEqual([]);
      await store.countWork(accountId, rows, HOUR);
      expect(await rowsOf(store)).toEqual([]);
    });

    it('is pruned with usage', async () => {
      const keep = 10 * 3_600_000;
      await store.recordUsage([usageRow({ at: HOUR + 2 * keep })]);
      await store.countWork(accountId, [row({ commits: 1 })], HOUR);
      await store.countWork(accountId, [row({ conversation: 'conv_new', commits: 1 })], HOUR + 2 * keep);
      await store.prune(HOUR + 2 * keep, keep);
      expect(await store.workOf(accountId, TALK)).toEqual(NO_WORK);
      expect(await store.workOf(accountId, 'conv_new')).toMatchObject({ commits: 1 });
    });
  });
}
