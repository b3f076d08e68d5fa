// Sums of usage rows by hour and by day, so that a report reads sums and not requests. The statement that writes a batch of rows adds
// it to the sums.
import { DAY_MS, HOUR_MS } from '../../../clock.ts';
import {
  COLUMNS,
  COUNTS,
  dayOf,
  daysFrom,
  FIRST_BYTES,
  hourOf,
  KINDS,
  KNOWN,
  mergeHours,
  nameOf,
  reportOf,
  toTotals,
  type Dialect,
  FIRST_BYTE_LIMITS,
} from '../../usage-sums.ts';
import type { GroupedTotals, Grouping, HourAdmissions, Totals } from '../../store.ts';
import type { Connection, Value } from '../connection.ts';
import { LOCKS } from '../migrations.ts';

const sum = (count: string): string => `sum(${count})${count === 'cost_usd' ? '' : '::bigint'}`;
const SUMS = COUNTS.map((count) => `${sum(count)} AS ${count}`).join(', ');
const ADD = COUNTS.map((count) => `${count} = usage_sums.${count} + excluded.${count}`).join(', ');

const ifKnown = (tokens: string): string => `coalesce(sum(${tokens}) FILTER (WHERE ${KNOWN}), 0)::bigint`;
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
    count(*) AS requests, count(error) AS errors, count(*) FILTER (WHERE error IS NULL AND NOT (${KNOWN})) AS unknown,
    count(*) FILTER (WHERE ${KNOWN} AND cost_usd IS NULL) AS unpriced, count(cost_usd) AS priced,
    ${ifKnown('input + coalesce(cache_read, 0) + coalesce(cache_write, 0)')} AS input,
    ${ifKnown('coalesce(cache_read, 0)')} AS cache_read, ${ifKnown('coalesce(cache_write, 0)')} AS cache_write,
    ${ifKnown('output')} AS output, coalesce(sum(cost_usd), 0) AS cost_usd,
    ${FIRST_BYTES.map((_, range) => firstByte(range)).join(', ')}
  FROM ${rows} GROUP BY 1, 2, 3, 4, 5`;

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

/** Counts fit into a double, which is added faster than a numeric. One array a row is read faster than many columns. */
const DIALECT: Dialect = {
  since: '$1',
  days: '$2',
  account: '$3',
  row: (of) => `ARRAY[${COUNTS.map((count) => of(`${count}::double precision`)).join(', ')}]::text`,
};

const ADMISSIONS =
  'SELECT account_id AS "accountId", hour, requests FROM hours WHERE requests > 0 AND hour >= $1';

/** The account's number and the members of the group's name; the counts as an array's text. */
type Row = (number | string | null)[];

/** Without rows, all sums are NULL. */
function countsOf(row: Row | undefined): number[] {
  const text = String(row?.at(-1) ?? '{}').slice(1, -1);
  return text.includes('N') ? [] : (JSON.parse(`[${text}]`) as number[]);
}

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

export function createUsageSums(connection: Connection) {
  function report(
    grouping: Grouping | undefined,
    accountId: number | undefined,
    since: number,
  ): Promise<Row[]> {
    const first = hourOf(since);
    const values: Value[] = [first, daysFrom(grouping, first)];
    if (accountId !== undefined) values.push(accountId);
    const text = reportOf(grouping, accountId !== undefined, DIALECT);
    return connection.read<Row>({ text, arrays: true }, ...values);
  }

  function admissionsByHour(accountId: number | undefined, since: number): Promise<HourAdmissions[]> {
    const filter = accountId === undefined ? '' : 'AND account_id = $2';
    const values: Value[] = accountId === undefined ? [hourOf(since)] : [hourOf(since), accountId];
    const text = `${ADMISSIONS} ${filter} ORDER BY account_id, hour`;
    return connection.read<HourAdmissions>({ text }, ...values);
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
      toTotals(countsOf((await report(undefined, accountId, since))[0])),
    totalsBy: async (
      grouping: Grouping,
      accountId: number | undefined,
      since: number,
    ): Promise<GroupedTotals[]> => {
      const rows = report(grouping, accountId, since);
      if (grouping === 'hour') {
        const [sums, admissions] = await Promise.all([rows, admissionsByHour(accountId, since)]);
        return mergeHours(sums, (row) => toTotals(countsOf(row)), admissions);
      }
      return (await rows).map((row) => ({
        accountId: Number(row[0]),
        group: nameOf(grouping, row.slice(1, -1)),
        totals: toTotals(countsOf(row)),
      }));
    },
    admissionsByHour,
    async pruneSums(before: number): Promise<void> {
      while (!connection.closed && (await pruneStep(before)));
    },
  };
}
