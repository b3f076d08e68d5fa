// Accounts: look-up, tier, name, and removal with everything that belongs to an account. The number of a removed account is never
// used again: requests in progress still write under it, and sealed items name it.
import { DAY_MS } from '../../clock.ts';
import { toAccount, type AccountRow } from '../rows.ts';
import type { Account } from '../store.ts';
import { inSteps } from './background.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';
import { FIRST_ITEMS } from './items.ts';
import type { prepareUsageSums } from './usage/sums.ts';

/** Usage rows that a step reads for each that it may delete. Rows have no index by account. */
const READ_FOR_EACH = 8;

/** IDs of usage rows, or days of sums. null: the table is empty. */
interface Span {
  first: number | null;
  last: number | null;
}

/** Statements that write are run to their end, with `all` or `run`: `get` stops at the first row, and says nothing where
 *  the commit that follows fails (a full disk). */
export function prepareAccounts(db: Db, forgetKeys: () => void, removeLimitsOf: (id: number) => void) {
  const find = db.prepare<[string], AccountRow>('SELECT * FROM accounts WHERE name = ?');
  const assign = db.prepare<[{ tier: string; account: string; from: string | null }], AccountRow>(
    'UPDATE accounts SET tier = @tier WHERE name = @account AND (@from IS NULL OR tier = @from) RETURNING *',
  );
  const setName = db.prepare<[to: string, account: string], AccountRow>(
    'UPDATE accounts SET name = ? WHERE name = ? RETURNING *',
  );
  const rename = db.transaction((name: string, to: string): Account | 'taken' | undefined => {
    if (name !== to && find.get(name) !== undefined && find.get(to) !== undefined) return 'taken';
    return optional(setName.all(to, name)[0]);
  });
  return {
    findAccount: (name: string): Account | undefined => optional(find.get(name)),
    assignTier(account: string, tier: string, from?: string): Account | undefined {
      forgetKeys();
      return optional(assign.all({ tier, account, from: from ?? null })[0]);
    },
    renameAccount(name: string, to: string) {
      forgetKeys();
      return rename.immediate(name, to);
    },
    removal: prepareRemoval(db, find, forgetKeys, removeLimitsOf),
  };
}

function prepareRemoval(
  db: Db,
  find: { get(name: string): AccountRow | undefined },
  forgetKeys: () => void,
  removeLimitsOf: (id: number) => void,
) {
  const removeKeys = db.prepare<[number]>('DELETE FROM keys WHERE account_id = ?');
  const removeItems = db.prepare<[account: number, most: number]>(
    'DELETE FROM items WHERE (account_id, id) IN (SELECT account_id, id FROM items WHERE account_id = ? LIMIT ?)',
  );
  const removeAllItems = db.prepare<[number]>('DELETE FROM items WHERE account_id = ?');
  const removeItemBytes = db.prepare<[number]>('DELETE FROM item_bytes WHERE account_id = ?');
  const removeAccount = db.prepare<[number]>('DELETE FROM accounts WHERE id = ?');
  const note = db.prepare<[number]>('INSERT INTO removed_accounts (id, data_left) VALUES (?, 1)');
  return {
    /** The account is unusable when this returns. The rest of its items goes with it. */
    revokeAll: db.transaction((name: string): void => {
      forgetKeys();
      const row = find.get(name);
      if (row !== undefined) removeKeys.run(row.id);
    }),
    itemsStep: (id: number, most: number): boolean => removeItems.run(id, most).changes === most,
    remove: db.transaction((name: string): Account | undefined => {
      forgetKeys();
      const row = find.get(name);
      if (row === undefined) return undefined;
      removeKeys.run(row.id);
      removeAllItems.run(row.id);
      removeItemBytes.run(row.id);
      removeLimitsOf(row.id);
      removeAccount.run(row.id);
      note.run(row.id);
      return toAccount(row);
    }),
    withDataLeft: db.prepare<[], number>('SELECT id FROM removed_accounts WHERE data_left = 1').pluck(),
    span: db.prepare<[], Span>('SELECT min(id) AS first, max(id) AS last FROM usage'),
    rowsStep: db.prepare<[account: number, from: number, to: number]>(
      'DELETE FROM usage WHERE +account_id = ? AND id >= ? AND id < ?',
    ),
    counts: db.prepare<[account: number, most: number]>(
      `DELETE FROM hours WHERE (account_id, hour) IN
         (SELECT account_id, hour FROM hours WHERE account_id = ? LIMIT ?)`,
    ),
    finish: db.prepare<[number]>('UPDATE removed_accounts SET data_left = 0 WHERE id = ?'),
  };
}

type AccountConnection = Connection<{
  removal: ReturnType<typeof prepareRemoval>;
  findAccount: (name: string) => Account | undefined;
  usage: Pick<ReturnType<typeof prepareUsageSums>, 'daysOfSums' | 'removeDayOf'>;
}>;

/** Keys first, so that the account is unusable at once; then the items in steps; then the account; then its usage in steps. */
export async function removeAccount(
  connection: AccountConnection,
  name: string,
): Promise<Account | undefined> {
  const found = await connection.run((sql) => sql.findAccount(name));
  if (found === undefined) return undefined;
  await connection.run(({ removal }) => removal.revokeAll.immediate(name));
  await inSteps(connection, ({ removal }, most) => removal.itemsStep(found.id, most), FIRST_ITEMS);
  const removed = await connection.run(({ removal }) => removal.remove.immediate(name));
  await removeLeftData(connection);
  return removed;
}

/** Deletes the usage of removed accounts in steps, also of a removal that was interrupted. */
export async function removeLeftData(connection: AccountConnection): Promise<void> {
  if (connection.closed) return;
  for (const id of await connection.run(({ removal }) => removal.withDataLeft.all())) {
    await removeRows(connection, id);
    await removeSums(connection, id);
    await inSteps(connection, ({ removal }, most) => removal.counts.run(id, most).changes === most);
    if (connection.closed) return;
    await connection.run(({ removal }) => removal.finish.run(id));
  }
}

async function removeRows(connection: AccountConnection, id: number): Promise<void> {
  const span = await connection.run(({ removal }) => removal.span.get());
  let from = span?.first ?? 1;
  const last = span?.last ?? 0;
  await inSteps(connection, ({ removal }, most) => {
    if (from > last) return false;
    const to = from + most * READ_FOR_EACH;
    removal.rowsStep.run(id, from, to);
    from = to;
    return true;
  });
}

async function removeSums(connection: AccountConnection, id: number): Promise<void> {
  if (connection.closed) return;
  const days = await connection.run(({ usage }) => usage.daysOfSums.get());
  let day = days?.first ?? 1;
  const last = days?.last ?? 0;
  await inSteps(connection, ({ usage }, most) => {
    if (day > last) return false;
    if (!usage.removeDayOf(id, day, most)) day += DAY_MS;
    return true;
  });
}

function optional(row: AccountRow | undefined): Account | undefined {
  return row === undefined ? undefined : toAccount(row);
}
