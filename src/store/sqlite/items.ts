// Items that an account can request again: written in batches and bounded in bytes, with the oldest deleted first. Triggers
// update the sum of bytes of each account, so that a batch reads one row for it.
import type { ItemBounds, StoredItem } from '../store.ts';
import { inSteps } from './background.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';

/** Large rows take longer to delete: a step ends with so many bytes. */
const DELETE_BYTES = 2 * 1024 * 1024;
/** An item is up to megabytes long, so the first step of a deletion that is not bounded in bytes is small. */
export const FIRST_ITEMS = 4;
/** Bytes of a row besides its data: ids, times, and SQLite's overhead of the row and its index entries. */
const ROW_BYTES = 200;

interface ItemRow {
  account_id: number;
  id: string;
  at: number;
  until: number;
  data: Buffer;
}

export function prepareItems(db: Db) {
  const remove = db.prepare<[account: number, id: string]>(
    'DELETE FROM items WHERE account_id = ? AND id = ?',
  );
  const insert = db.prepare<[number, string, number, number, number, Uint8Array, number]>(
    `INSERT INTO items (account_id, id, at, until, bytes, data) SELECT ?, ?, ?, ?, ?, ?
     WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ?)`,
  );
  // One statement for all ids (a JSON list): an agent's conversation asks for hundreds, most of which are not stored.
  const find = db.prepare<[ids: string, account: number, now: number], ItemRow>(
    `SELECT account_id, items.id, at, until, data FROM json_each(?) AS wanted
     CROSS JOIN items ON account_id = ? AND items.id = wanted.value AND until > ?`,
  );
  const extend = db.prepare<[until: number, account: number, until: number, ids: string]>(
    'UPDATE items SET until = ? WHERE account_id = ? AND until < ? AND id IN (SELECT value FROM json_each(?))',
  );
  const bytesOf = db.prepare<[number], number>('SELECT bytes FROM item_bytes WHERE account_id = ?').pluck();
  const bytesOfAll = db.prepare<[], number>('SELECT coalesce(sum(bytes), 0) FROM item_bytes').pluck();
  const oldestOf = db.prepare<[number], ItemRow & { bytes: number }>(
    'SELECT account_id, id, bytes FROM items WHERE account_id = ? ORDER BY at, id',
  );
  const oldestOfAll = db.prepare<[], ItemRow & { bytes: number }>(
    'SELECT account_id, id, bytes FROM items ORDER BY at, id',
  );

  /** Deletes rows in the order of `rows` until `excess` bytes are free. */
  function free(excess: number, rows: IterableIterator<ItemRow & { bytes: number }>): void {
    const ids: [number, string][] = [];
    let freed = 0;
    for (const row of rows) {
      if (freed >= excess) break;
      freed += row.bytes;
      ids.push([row.account_id, row.id]);
    }
    for (const [account, id] of ids) remove.run(account, id);
  }

  const store = db.transaction((items: readonly StoredItem[], bounds: ItemBounds): void => {
    for (const { accountId, id, at, until, data } of items) {
      remove.run(accountId, id);
      insert.run(accountId, id, at, until, data.length + ROW_BYTES, data, accountId);
    }
    for (const account of new Set(items.map(({ accountId }) => accountId))) {
      const excess = (bytesOf.get(account) ?? 0) - bounds.account;
      if (excess > 0) free(excess, oldestOf.iterate(account));
    }
    const excess = (bytesOfAll.get() ?? 0) - bounds.all;
    if (excess > 0) free(excess, oldestOfAll.iterate());
  });
  const removeAll = db.transaction((account: number, ids: readonly string[]): number =>
    ids.reduce((removed, id) => removed + remove.run(account, id).changes, 0),
  );

  return {
    store: (items: readonly StoredItem[], bounds: ItemBounds) => store.immediate(items, bounds),
    find: (account: number, ids: readonly string[], now: number, mostBytes = Infinity): StoredItem[] => {
      // Most accounts have no items.
      if ((bytesOf.get(account) ?? 0) === 0) return [];
      const found: StoredItem[] = [];
      let bytes = 0;
      for (const row of find.iterate(JSON.stringify(ids), account, now)) {
        found.push(toItem(row));
        bytes += row.data.length;
        if (bytes >= mostBytes) break;
      }
      return found;
    },
    extend: (account: number, ids: readonly string[], until: number) =>
      extend.run(until, account, until, JSON.stringify(ids)),
    remove: (account: number, ids: readonly string[]) => removeAll.immediate(account, ids),
    prune: db.prepare<[now: number, most: number]>(
      `DELETE FROM items WHERE (account_id, id) IN (
         SELECT account_id, id FROM (
           SELECT account_id, id, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS before
           FROM (SELECT account_id, id, bytes FROM items WHERE until <= ? LIMIT ?)
         ) WHERE before < ${DELETE_BYTES})`,
    ),
  };
}

function toItem({ account_id: accountId, id, at, until, data }: ItemRow): StoredItem {
  return { accountId, id, at, until, data };
}

type ItemConnection = Connection<{ items: ReturnType<typeof prepareItems> }>;

/** Deletes expired items in steps. */
export function pruneItems(connection: ItemConnection, now: number): Promise<void> {
  return inSteps(connection, ({ items }, most) => items.prune.run(now, most).changes > 0);
}
