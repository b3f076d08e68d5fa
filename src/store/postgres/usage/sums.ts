// Sums of usage rows by hour and by day, so that a report reads sums and not requests. The statement that writes a batch of rows adds
// it to the sums.
import { DAY_MS, HOUR_MS, hourOf } from '../../../clock.ts';
import {
  accountTotals,
  COLUMNS,
  COUNTS,
  dayOf,
  spansOf,
  FIRST_BYTES,
  KINDS,
  measuresOf,
  MONEY,
  reportOf,
  totalsByAccount,
  totalsOf,
  type GroupRow,
  type Dialect,
  FIRST_BYTE_LIMITS,
} from '../../usage-sums.ts';
import { KNOWN } from '../../usage-columns.ts';
import type { AccountTotals, Grouping, HourAdmissions, Totals } from '../../store.ts';
import type { Connection } from '../connection.ts';
import { LOCKS } from '../migrations.ts';

const sum = (count: string): string => `sum(${count})${MONEY.includes(count) ? '' : '::bigint'}`;
const SUMS = COUNTS.map((count) => `${sum(count)} AS ${count}`).join(', ');
const ADD = COUNTS.map((count) => `${count} = usage_sums.${count} + excluded.${count}`).join(', ');

const MEASURED = measuresOf({
  rows: (condition) => `count(*) FILTER (WHERE ${condition})`,
  tokens: (expression) => `coalesce(sum(${expression}) FILTER (WHERE ${KNOWN}), 0)::bigint`,
  money: (column) => `coalesce(sum(${column}), 0)`,
});
const firstByte = (range: number): string => {
  const from = FIRST_BYTE_LIMITS[range - 1];
  const to = FIRST_BYTE_LIMITS[range];
  const conditions = [
    'first_byte_ms IS NOT NULL',
    ...(from === undefined ? [] : [`first_byte_ms >= ${from}`]),
    ...(to === undefined ? [] : [`first_byte_ms < ${to}`]),
  ];
  return `count(*) FILTER (WHERE ${conditions.join(' AND ')}) AS first_byte_${range}`;
};

/** Sums of usage rows by hour, with the columns of every kind. */
const sumsOfRows = (rows: string): string => `
  SELECT at - at % ${HOUR_MS} AS at, account_id, key_id, coalesce(provider, '') AS provider, coalesce(model, '') AS model,
    coalesce(label, '') AS label, count(*) AS requests, ${MEASURED},
    ${FIRST_BYTES.map((_, range) => firstByte(range)).join(', ')}
  FROM ${rows} GROUP BY 1, 2, 3, 4, 5, 6`;

/** Adds the rows of a common table expression to the sums, in the order of the primary key: no two machines wait for each other. */
export const addToSums = (rows: string): string => `
  INSERT INTO usage_sums (${COLUMNS})
  SELECT kind, at, account_id, name, maker, ${SUMS} FROM (${KINDS.flatMap(({ hour, day, name, provider }) =>
    [`${hour} AS kind, at`, `${day} AS kind, at - at % ${DAY_MS} AS at`].map(
      (what) =>
        `SELECT ${what}, account_id, ${name} AS name, ${provider} AS maker, ${COUNTS.join(', ')} FROM (${sumsOfRows(rows)}) AS s`,
    ),
  ).join(' UNION ALL ')}) AS parts
  GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (kind, at, account_id, name, provider) DO UPDATE SET ${ADD}`;

/** Counts fit into a double, which is added faster than a numeric. */
const DIALECT: Dialect = {
  since: '$1',
  until: '$2',
  days: '$3',
  daysUntil: '$4',
  account: '$5',
  sum: (count) => `coalesce(sum(${count}::double precision), 0)`,
};

const LOCK = { text: `SELECT pg_advisory_xact_lock(${LOCKS.prune})` };
const OLDEST = { text: 'SELECT min(at) AS at FROM usage_sums WHERE kind = $1 AND at < $2' };
const REMOVE = { text: 'DELETE FROM usage_sums WHERE kind = $1 AND at = $2' };
const SUBTRACT = {
  text: `INSERT INTO usage_sums (${COLUMNS})
    SELECT $1::integer, $2::bigint, account_id, name, provider, ${COUNTS.map((count) => `-${count}`).join(', ')}
    FROM usage_sums WHERE kind = $3 AND at = $4 ORDER BY account_id, name, provider
    ON CONFLICT (kind, at, account_id, name, provider) DO UPDATE SET ${ADD}`,
};
const REMOVE_EMPTY = { text: 'DELETE FROM usage_sums WHERE kind = $1 AND at = $2 AND requests = 0' };

const parametersOf = (accountId: number | undefined): number[] =>
  accountId === undefined ? [] : [accountId];

type RowTotals = (accountId: number | undefined, from: number, to: number) => Promise<Map<number, Totals>>;

function createRowTotals(connection: Connection): RowTotals {
  return async (accountId, from, to) => {
    const filter = accountId === undefined ? '' : 'AND account_id = $3';
    const rows = sumsOfRows(`(SELECT * FROM usage WHERE at >= $1 AND at < $2 ${filter}) AS part`);
    const text = `SELECT account_id, ${SUMS} FROM (${rows}) AS s GROUP BY account_id`;
    const found = connection.read<GroupRow>({ text, arrays: true }, from, to, ...parametersOf(accountId));
    return totalsByAccount(await found);
  };
}

export function createUsageSums(connection: Connection) {
  function report(
    grouping: Grouping | undefined,
    accountId: number | undefined,
    since: number,
    until?: number,
  ): Promise<GroupRow[]> {
    const spans = spansOf(grouping, since, until);
    const text = reportOf(grouping, accountId !== undefined, DIALECT);
    const times = [spans.since, spans.until, spans.days, spans.daysUntil];
    return connection.read({ text, arrays: true }, ...times, ...parametersOf(accountId));
  }

  function admissionsByHour(accountId: number | undefined, since: number): Promise<HourAdmissions[]> {
    const text = `SELECT account_id AS "accountId", hour, requests FROM hours WHERE requests > 0 AND hour >= $1
      ${accountId === undefined ? '' : 'AND account_id = $2'} ORDER BY account_id, hour`;
    return connection.read({ text }, hourOf(since), ...parametersOf(accountId));
  }

  /** Deletes the sums of one kind and one hour or day. A day that loses some of its hours loses their counts. */
  async function pruneStep(before: number): Promise<boolean> {
    const day = dayOf(before);
    return connection.transaction(async (session) => {
      await session.run(LOCK);
      const oldest = async (kind: number, end: number): Promise<number | null> =>
        (await session.run<{ at: number | null }>(OLDEST, kind, end)).rows[0]?.at ?? null;
      for (const kind of KINDS) {
        const hour = await oldest(kind.hour, before);
        if (hour !== null) {
          if (hour >= day) await session.run(SUBTRACT, kind.day, day, kind.hour, hour);
          await session.run(REMOVE, kind.hour, hour);
          await session.run(REMOVE_EMPTY, kind.day, day);
          return true;
        }
        const oldestDay = await oldest(kind.day, day);
        if (oldestDay !== null) {
          await session.run(REMOVE, kind.day, oldestDay);
          return true;
        }
      }
      return false;
    });
  }

  return {
    totals: async (accountId: number | undefined, since: number): Promise<Totals> =>
      totalsOf(await report(undefined, accountId, since)),
    totalsBy: async (
      grouping: Grouping,
      accountId: number | undefined,
      since: number,
      until?: number,
    ): Promise<AccountTotals[]> => accountTotals(grouping, await report(grouping, accountId, since, until)),
    admissionsByHour,
    rowTotals: createRowTotals(connection),
    pruneSums: async (before: number): Promise<void> => {
      while (!connection.closed && (await pruneStep(before)));
    },
  };
}
