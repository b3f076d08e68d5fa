// Accounts: look-up, tier, name, and removal with everything that belongs to an account. The number of a removed account is never
// used again: requests in progress still write under it, and sealed items name it.
import { toAccount, type AccountRow } from '../rows.ts';
import type { Account } from '../store.ts';
import type { Changes } from './changes.ts';
import type { Connection } from './connection.ts';
import { LOCKS } from './migrations.ts';

/** Usage rows that one step reads. Rows have no index by account. */
const SCAN_STEP = 20_000;
/** An item is up to megabytes long. */
const ITEMS_STEP = 50;

const FIND = { text: 'SELECT * FROM accounts WHERE name = $1' };
const ASSIGN = {
  text: 'UPDATE accounts SET tier = $2 WHERE name = $1 AND ($3::text IS NULL OR tier = $3) RETURNING *',
};
const RENAME = {
  text: `UPDATE accounts SET name = $2 WHERE name = $1
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE name = $2 AND $2 <> $1) RETURNING *`,
};
const LOCK = { text: 'SELECT * FROM accounts WHERE name = $1 FOR UPDATE' };
const REMOVE_KEYS = { text: 'DELETE FROM keys WHERE account_id = $1' };
const LOCK_ITEMS = { text: `SELECT pg_advisory_xact_lock(${LOCKS.items})` };
const REMOVE_ITEMS = {
  text: `DELETE FROM items WHERE (account_id, id) IN
    (SELECT account_id, id FROM items WHERE account_id = $1 LIMIT ${ITEMS_STEP})`,
};
const REMOVE_ALL_ITEMS = { text: 'DELETE FROM items WHERE account_id = $1' };
const REMOVE = { text: 'DELETE FROM accounts WHERE id = $1' };
const REMOVE_LIMITS = ['spending', 'holds', 'grants', 'notices', 'brakes', 'brake_prompts'].map((table) => ({
  text: `DELETE FROM ${table} WHERE account_id = $1`,
}));
const NOTE = { text: 'INSERT INTO removed_accounts (id, data_left) VALUES ($1, true)' };
const WITH_DATA_LEFT = { text: 'SELECT id FROM removed_accounts WHERE data_left' };
const SPAN = { text: 'SELECT min(id) AS first, max(id) AS last FROM usage' };
const REMOVE_ROWS = { text: 'DELETE FROM usage WHERE account_id = $1 AND id >= $2 AND id < $3' };
const REMOVE_SUMS = { text: 'DELETE FROM usage_sums WHERE account_id = $1' };
const REMOVE_COUNTS = { text: 'DELETE FROM hours WHERE account_id = $1' };
const FINISH = { text: 'UPDATE removed_accounts SET data_left = false WHERE id = $1' };

export function createAccounts(connection: Connection, changes: Changes) {
  async function findAccount(name: string): Promise<Account | undefined> {
    return optional(await connection.read<AccountRow>(FIND, name));
  }

  return {
    findAccount,
    async assignTier(account: string, tier: string, from?: string): Promise<Account | undefined> {
      const { rows } = await connection.run<AccountRow>(ASSIGN, account, tier, from ?? null);
      changes.changed();
      return optional(rows);
    },
    async renameAccount(name: string, to: string): Promise<Account | 'taken' | undefined> {
      const renamed = optional((await connection.run<AccountRow>(RENAME, name, to)).rows);
      changes.changed();
      if (renamed !== undefined) return renamed;
      return (await findAccount(name)) === undefined ? undefined : 'taken';
    },
    /** Keys first, so that the account is unusable at once; then the items in steps; then the account; then its usage in steps. */
    async removeAccount(name: string): Promise<Account | undefined> {
      const found = await findAccount(name);
      if (found === undefined) return undefined;
      await connection.run(REMOVE_KEYS, found.id);
      changes.changed();
      while ((await connection.run(REMOVE_ITEMS, found.id)).changes === ITEMS_STEP);
      const removed = await connection.transaction(async (session) => {
        const row = optional((await session.run<AccountRow>(LOCK, name)).rows);
        if (row === undefined) return undefined;
        await session.run(LOCK_ITEMS);
        for (const remove of [REMOVE_KEYS, REMOVE_ALL_ITEMS, ...REMOVE_LIMITS, REMOVE, NOTE])
          await session.run(remove, row.id);
        return row;
      });
      changes.changed();
      await removeLeftData(connection);
      return removed;
    },
  };
}

/** Deletes the usage of removed accounts in steps, also of a removal that was interrupted. */
export async function removeLeftData(connection: Connection): Promise<void> {
  for (const { id } of await connection.read<{ id: number }>(WITH_DATA_LEFT)) {
    const [span] = await connection.read<{ first: number | null; last: number | null }>(SPAN);
    for (let from = span?.first ?? 1; from <= (span?.last ?? 0); from += SCAN_STEP) {
      await connection.run(REMOVE_ROWS, id, from, from + SCAN_STEP);
    }
    for (const sql of [REMOVE_SUMS, REMOVE_COUNTS, FINISH]) await connection.run(sql, id);
  }
}

function optional([row]: readonly AccountRow[]): Account | undefined {
  return row === undefined ? undefined : toAccount(row);
}
