// Sums of usage rows by hour and by day, so that a report reads sums and not requests. Rows up to an id are in the sums; reports add
// the newer rows themselves, and batches that are written move the boundary (docs/decisions/0013).
import type { Statement } from 'better-sqlite3';
import { DAY_MS, HOUR_MS, hourOf } from '../../../clock.ts';
import {
  BY_ACCOUNT,
  COLUMNS,
  COUNTS,
  dayOf,
  spansOf,
  FIRST_BYTES,
  KINDS,
  MEASURES,
  accountTotals,
  measuresOf,
  reportOf,
  totalsByAccount,
  totalsOf,
  type GroupRow,
  type Dialect,
  FIRST_BYTE_LIMITS,
} from '../../usage-sums.ts';
import { KNOWN } from '../../usage-columns.ts';
import type { AccountTotals, Grouping, HourAdmissions, Totals } from '../../store.ts';
import type { Db } from '../driver.ts';

/** So many rows wait before a batch that is written adds as many to the sums: rows of one hour belong to the same sums. */
const STEP = 2000;

const sum = (count: string): string => `sum(${count})`;
const SUMS = COUNTS.map((count) => `${sum(count)} AS ${count}`).join(', ');
const ADD = COUNTS.map((count) => `${count} = ${count} + excluded.${count}`).join(', ');

const RANGE = `CASE ${FIRST_BYTE_LIMITS.map((limit, range) => `WHEN first_byte_ms < ${limit} THEN ${range}`).join(' ')}
  WHEN first_byte_ms IS NOT NULL THEN ${FIRST_BYTE_LIMITS.length} END`;
const MEASURED = measuresOf({
  rows: (condition) => `sum(${condition})`,
  tokens: (expression) => `coalesce(sum(iif(${KNOWN}, ${expression}, 0)), 0)`,
  money: (column) => `total(${column})`,
});

/** Usage rows in the form of sums by hour, with the columns of every kind. */
const sumsOfRows = (condition: string): string => `
  SELECT hour, account_id, key_id, provider, model, label, requests, ${MEASURES.join(', ')},
    ${FIRST_BYTES.map((name, range) => `iif(first_byte = ${range}, requests, 0) AS ${name}`).join(', ')}
  FROM (
    SELECT at - at % ${HOUR_MS} AS hour, account_id, key_id, coalesce(provider, '') AS provider, coalesce(model, '') AS model,
      coalesce(label, '') AS label, ${RANGE} AS first_byte, count(*) AS requests, ${MEASURED}
    FROM usage WHERE ${condition} GROUP BY 1, 2, 3, 4, 5, 6, 7
  )`;

const ROLL_UP = `
  WITH step AS MATERIALIZED (${sumsOfRows('id >= ? AND id <= ?')})
  INSERT INTO usage_sums (${COLUMNS})
  SELECT kind, at, account_id, name, maker, ${SUMS} FROM (${KINDS.flatMap(({ hour, day, name, provider }) => [
    `SELECT ${hour} AS kind, hour AS at, ${name} AS name, ${provider} AS maker, * FROM step`,
    `SELECT ${day}, hour - hour % ${DAY_MS}, ${name}, ${provider}, * FROM step`,
  ]).join(' UNION ALL ')})
  WHERE true GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT DO UPDATE SET ${ADD}`;

const DIALECT: Dialect = {
  since: '@since',
  until: '@until',
  days: '@days',
  daysUntil: '@daysUntil',
  account: '@account',
  sum,
  // `+at` keeps SQLite from using the index of times.
  newer: (filter) => sumsOfRows(`id > @summed AND +at >= @since AND +at < @until ${filter}`),
};

/** Usage rows after the id `summed` are not in the sums. */
type Window = ReturnType<typeof spansOf> & { summed: number; account?: number };

export function prepareUsageSums(db: Db) {
  const summed = db.prepare<[], number>('SELECT id FROM usage_summed').pluck();
  const reports = new Map<string, Statement<[Window], GroupRow>>();
  function report(
    grouping: Grouping | undefined,
    accountId: number | undefined,
    since: number,
    until?: number,
  ): GroupRow[] {
    const sql = reportOf(grouping, accountId !== undefined, DIALECT);
    const statement = reports.get(sql) ?? db.prepare<[Window], GroupRow>(sql).raw();
    reports.set(sql, statement);
    const window: Window = { ...spansOf(grouping, since, until), summed: summed.get() ?? 0 };
    return statement.all(accountId === undefined ? window : { ...window, account: accountId });
  }
  function rowTotals(account: number | undefined, from: number, to: number): Map<number, Totals> {
    const filter = account === undefined ? '' : 'AND account_id = @account';
    const rows = sumsOfRows(`at >= @from AND at < @to ${filter}`);
    const sql = `SELECT account_id, ${SUMS} FROM (${rows}) GROUP BY account_id`;
    const window = { from, to, ...(account !== undefined && { account }) };
    return totalsByAccount(db.prepare<[object], GroupRow>(sql).raw().all(window));
  }
  // One transaction, so that a row that is added to the sums at the same time counts once.
  return {
    ...prepareRollUp(db, summed),
    ...preparePrune(db),
    totals: db.transaction((accountId: number | undefined, since: number): Totals =>
      totalsOf(report(undefined, accountId, since)),
    ),
    totalsBy: db.transaction(
      (
        grouping: Grouping,
        accountId: number | undefined,
        since: number,
        until: number | undefined,
      ): AccountTotals[] => accountTotals(grouping, report(grouping, accountId, since, until)),
    ),
    admissionsByHour: prepareAdmissionsByHour(db),
    rowTotals,
  };
}

function prepareAdmissionsByHour(db: Db) {
  return (account: number | undefined, since: number): HourAdmissions[] =>
    db
      .prepare<[Pick<Window, 'since' | 'account'>], HourAdmissions>(
        `SELECT account_id AS accountId, hour, requests FROM hours WHERE hour >= @since
           ${account === undefined ? '' : 'AND account_id = @account'} ORDER BY account_id, hour`,
      )
      .all({ since: hourOf(since), ...(account !== undefined && { account }) });
}

function prepareRollUp(db: Db, summed: Statement<[], number>) {
  const lastOfStep = db
    .prepare<[after: number, rows: number], number | null>(
      'SELECT max(id) FROM (SELECT id FROM usage WHERE id > ? ORDER BY id LIMIT ?)',
    )
    .pluck();
  const add = db.prepare<[first: number, last: number]>(ROLL_UP);
  const advance = db.prepare<[number]>('UPDATE usage_summed SET id = ?');

  function step(most: number): boolean {
    const after = summed.get() ?? 0;
    const last = lastOfStep.get(after, most) ?? null;
    if (last === null) return false;
    add.run(after + 1, last);
    advance.run(last);
    return true;
  }

  const inTransaction = db.transaction(step);
  return {
    /** Adds at most so many of the rows that wait to the sums. Returns false if no row waits. */
    rollUp: (most: number) => inTransaction.immediate(most),
    /** The same, in the transaction that wrote the row with this id, if enough rows wait. */
    rollUpAfter(id: number): void {
      if (id - (summed.get() ?? 0) >= STEP) step(STEP);
    },
  };
}

/** Deletes sums in steps of one kind and one hour or day. A day that loses some of its hours loses their counts. */
function preparePrune(db: Db) {
  const oldest = db
    .prepare<[kind: number, before: number], number | null>(
      'SELECT min(at) FROM usage_sums WHERE kind = ? AND at < ?',
    )
    .pluck();
  // Both take the same sums of an hour.
  const first = 'WHERE kind = @kind AND at = @at ORDER BY account_id, name, provider LIMIT @most';
  const subtract = db.prepare<[Sums & { dayKind: number; day: number }]>(
    `INSERT INTO usage_sums (${COLUMNS})
     SELECT * FROM (
       SELECT @dayKind, @day, account_id, name, provider, ${COUNTS.map((count) => `-${count}`).join(', ')}
       FROM usage_sums ${first}
     ) WHERE true
     ON CONFLICT DO UPDATE SET ${ADD}`,
  );
  const remove = removal<Sums>(db, first);
  const removeEmpty = removal<Sums>(db, 'WHERE kind = @kind AND at = @at AND requests = 0 LIMIT @most');

  function step(before: number, most: number): boolean {
    const day = dayOf(before);
    for (const kind of KINDS) {
      const hour = oldest.get(kind.hour, before) ?? null;
      if (hour !== null) {
        const sums = { kind: kind.hour, at: hour, most };
        if (hour >= day) subtract.run({ ...sums, dayKind: kind.day, day });
        remove.run(sums);
        return true;
      }
      if (removeEmpty.run({ kind: kind.day, at: day, most }).changes > 0) return true;
      const oldestDay = oldest.get(kind.day, day) ?? null;
      if (oldestDay !== null) {
        remove.run({ kind: kind.day, at: oldestDay, most });
        return true;
      }
    }
    return false;
  }

  const inTransaction = db.transaction(step);
  const removeOfAccount = removal<{ from: number; to: number; account: number; most: number }>(
    db,
    `WHERE kind IN (${KINDS.map(({ hour, day }) => `${hour}, ${day}`).join(', ')})
       AND at >= @from AND at < @to AND account_id = @account LIMIT @most`,
  );
  return {
    /** Deletes at most so many of the sums before the start of an hour. Returns false if none is left. */
    pruneSums: (before: number, most: number): boolean => inTransaction.immediate(before, most),
    /** The days of all sums. */
    daysOfSums: db.prepare<[], { first: number | null; last: number | null }>(
      `SELECT min(at) AS first, max(at) AS last FROM usage_sums WHERE kind = ${BY_ACCOUNT.day}`,
    ),
    /** Returns whether there may be more. */
    removeDayOf: (account: number, day: number, most: number): boolean =>
      removeOfAccount.run({ from: day, to: day + DAY_MS, account, most }).changes === most,
  };
}

/** At most so many of the sums of an hour or a day. */
interface Sums {
  kind: number;
  at: number;
  most: number;
}

const KEY = 'kind, at, account_id, name, provider';

/** Deletes the sums that the end of a query names. */
function removal<Parameters extends object>(db: Db, which: string): Statement<[Parameters]> {
  return db.prepare<[Parameters]>(
    `DELETE FROM usage_sums WHERE (${KEY}) IN (SELECT ${KEY} FROM usage_sums ${which})`,
  );
}
