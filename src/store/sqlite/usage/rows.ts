// Usage rows: written in batches, added to the sums of their hours and days, deleted in small steps.
import { type Spending, unsettled } from '../../holds/holds.ts';
import type { Batch } from '../../store.ts';
import { USAGE_COLUMNS, USAGE_NAMES, valueOf, type UsageRow } from '../../usage-columns.ts';
import { hourOf } from '../../../clock.ts';
import { inSteps } from '../background.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';
import { prepareUsageSums } from './sums.ts';

/** `spend`: adds to the sums of an account's limits. */
export function prepareUsage(
  db: Db,
  touchKey: (id: string, at: number) => void,
  spend: (accountId: number, at: number, sums: Spending) => void,
) {
  const insert = db.prepare(
    `INSERT INTO usage (${USAGE_NAMES}) VALUES (${USAGE_COLUMNS.map(() => '?').join(', ')})`,
  );
  /** One array for all rows: to make one of each is a third of what a row allocates. */
  const values = USAGE_COLUMNS.map((): Value => null);
  const sums = prepareUsageSums(db);
  const claim = db.prepare<[writer: string, number: number, at: number]>(
    `INSERT INTO usage_writers (id, batch, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET batch = excluded.batch, at = excluded.at WHERE batch < excluded.batch`,
  );
  const record = db.transaction((rows: readonly UsageRow[], batch?: Batch): void => {
    const [first] = rows;
    if (first === undefined) return;
    if (batch !== undefined && claim.run(batch.writer, batch.number, first.at).changes === 0) return;
    const uses = new Map<string, number>();
    let last = 0;
    for (const row of rows) {
      setValues(values, row);
      last = Number(insert.run(...values).lastInsertRowid);
      uses.set(row.keyId, Math.max(row.at, uses.get(row.keyId) ?? 0));
    }
    for (const [id, at] of uses) touchKey(id, at);
    for (const { accountId, hour, sums } of unsettled(rows)) spend(accountId, hour, sums);
    sums.rollUpAfter(last);
  });
  return {
    record: (rows: readonly UsageRow[], batch?: Batch) => record.immediate(rows, batch),
    ...sums,
    ...preparePrune(db),
  };
}

function preparePrune(db: Db) {
  return {
    /** The time of the newest row or count; null or undefined without rows. */
    newest: db
      .prepare<[], number | null>(
        `SELECT max(time) FROM (
           SELECT max(at) AS time FROM usage
           UNION ALL SELECT (SELECT max(hour) FROM hours WHERE account_id = accounts.id) FROM accounts
         )`,
      )
      .pluck(),
    pruneRows: db.prepare<[before: number, most: number]>(
      'DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? LIMIT ?)',
    ),
    /** Those that have counts of hours before that one. */
    accountIds: db
      .prepare<[before: number], number>(
        `SELECT id FROM (SELECT id FROM accounts UNION ALL SELECT id FROM removed_accounts) AS known
         WHERE EXISTS (SELECT 1 FROM hours WHERE account_id = known.id AND hour < ?)`,
      )
      .pluck(),
    pruneCounts: db.prepare<[accountId: number, before: number, most: number]>(
      `DELETE FROM hours WHERE (account_id, hour) IN
         (SELECT account_id, hour FROM hours WHERE account_id = ? AND hour < ? LIMIT ?)`,
    ),
  };
}

type Value = string | number | null;

/** Values by position, because the driver binds named values more slowly. */
function setValues(values: Value[], row: UsageRow): void {
  USAGE_COLUMNS.forEach((column, at) => {
    const value = valueOf(row, column);
    values[at] = typeof value === 'boolean' ? Number(value) : value;
  });
}

type UsageConnection = Connection<{ usage: ReturnType<typeof prepareUsage> }>;

/** Adds all rows that wait to the sums. */
export async function sumUp(connection: UsageConnection): Promise<void> {
  await inSteps(connection, ({ usage }, most) => usage.rollUp(most));
}

/** Deletes whole hours, so that rows and sums stay equal. Measures age from the newest recorded time if the clock is later, and
 *  never deletes the newest hour. */
export async function prune(connection: UsageConnection, now: number, keep: number): Promise<void> {
  await sumUp(connection);
  if (connection.closed) return;
  const newest = await connection.run(({ usage }) => usage.newest.get() ?? 0);
  const trusted = Math.min(now, newest);
  const before = hourOf(Math.min(trusted - keep, trusted));
  await inSteps(connection, ({ usage }, most) => usage.pruneRows.run(before, most).changes === most);
  await inSteps(connection, ({ usage }, most) => usage.pruneSums(before, most));
  if (connection.closed) return;
  const ids = await connection.run(({ usage }) => usage.accountIds.all(before));
  for (const id of ids)
    await inSteps(connection, ({ usage }, most) => usage.pruneCounts.run(id, before, most).changes === most);
}
