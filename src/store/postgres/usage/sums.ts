// Sums of usage rows by hour and by day, so that a report reads sums and not requests. The statement that writes a batch of rows adds
// it to the sums. `requests` counts admissions in sums by account, hour and day, and usage rows in sums by key, model and provider,
// because admissions name none of these.
import { DAY_MS, HOUR_MS } from '../../../clock.ts';
import { FIRST_BYTE_LIMITS, FIRST_BYTE_RANGES, NO_FIRST_BYTES } from '../../first-byte.ts';
import type { GroupedTotals, Grouping, Totals } from '../../store.ts';
import type { Connection, Value } from '../connection.ts';
import { LOCKS } from '../migrations.ts';

/** What a row of `usage_sums` is a sum of. The numbers are the values of the column `kind`: for sums by hour, and by day. */
interface Kind {
  hour: number;
  day: number;
  /** The columns of usage rows that name a sum besides its account. */
  name: string;
  provider: string;
}

const BY_ACCOUNT: Kind = { hour: 1, day: 11, name: "''", provider: "''" };
const BY_KEY: Kind = { hour: 2, day: 12, name: 'key_id', provider: "''" };
const BY_MODEL: Kind = { hour: 3, day: 13, name: 'model', provider: 'provider' };
const KINDS = [BY_ACCOUNT, BY_KEY, BY_MODEL];

const FIRST_BYTES = Array.from({ length: FIRST_BYTE_RANGES }, (_, range) => `first_byte_${range}`);
const MEASURES = [
  'errors',
  'unknown',
  'unpriced',
  'priced',
  'input',
  'cache_read',
  'cache_write',
  'output',
  'cost_usd',
];
const COUNTS = ['requests', ...MEASURES, ...FIRST_BYTES];
const COLUMNS = ['kind', 'at', 'account_id', 'name', 'provider', ...COUNTS].join(', ');
const sumOf = (count: string): string =>
  count === 'cost_usd' ? `sum(${count}) AS ${count}` : `sum(${count})::bigint AS ${count}`;
const SUMS = COUNTS.map(sumOf).join(', ');
const ADD = COUNTS.map((count) => `${count} = usage_sums.${count} + excluded.${count}`).join(', ');

const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';
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

interface Group {
  kind: Kind;
  /** Members of the name of a group, and the columns that they are read from. */
  members: Readonly<Record<string, string>>;
  by: string;
  order: string;
  /** `requests` counts admissions; otherwise usage rows. */
  admitted: boolean;
  /** Sums by hour are needed, whatever the window. */
  hours?: true;
}

const GROUPS: Record<Grouping, Group> = {
  account: {
    kind: BY_ACCOUNT,
    members: { account: '(SELECT name FROM accounts WHERE id = account_id)' },
    by: 'account_id',
    order: '2 NULLS FIRST',
    admitted: true,
  },
  key: {
    kind: BY_KEY,
    members: { key: 'name' },
    by: 'account_id, name',
    order: '1, requests DESC, 2',
    admitted: false,
  },
  model: {
    kind: BY_MODEL,
    members: { model: "nullif(name, '')", provider: "nullif(provider, '')" },
    by: 'account_id, name, provider',
    order: '1, requests DESC, 2 NULLS FIRST, 3 NULLS FIRST',
    admitted: false,
  },
  provider: {
    kind: BY_MODEL,
    members: { provider: "nullif(provider, '')" },
    by: 'account_id, provider',
    order: '1, requests DESC, 2 NULLS FIRST',
    admitted: false,
  },
  hour: {
    kind: BY_ACCOUNT,
    members: { hour: 'at' },
    by: 'account_id, at',
    order: '1, 2',
    admitted: true,
    hours: true,
  },
  day: {
    kind: BY_ACCOUNT,
    members: { day: `at - at % ${DAY_MS}` },
    by: `account_id, at - at % ${DAY_MS}`,
    order: '1, 2',
    admitted: true,
  },
};

const ALL: Pick<Group, 'kind' | 'admitted'> = { kind: BY_ACCOUNT, admitted: true };

/** The query for the totals of each group (undefined: of everything), of one account or of all. $1: the start of an hour. From $2
 *  on, sums by day are read. */
function reportOf(group: Group | undefined, ofAccount: boolean): string {
  const { kind, admitted } = group ?? ALL;
  const filter = ofAccount ? 'AND account_id = $3' : '';
  const counted = [...MEASURES, ...FIRST_BYTES].join(', ');
  const requests = admitted ? '0' : 'requests';
  const sums = `at, account_id, name, provider, ${requests} AS requests, ${counted} FROM usage_sums`;
  const sources = [
    `SELECT ${sums} WHERE kind = ${kind.hour} AND at >= $1 AND at < $2 ${filter}`,
    `SELECT ${sums} WHERE kind = ${kind.day} AND at >= $2 ${filter}`,
    ...(admitted
      ? [
          `SELECT hour, account_id, '', '', requests, ${[...MEASURES, ...FIRST_BYTES].map(() => '0').join(', ')}
           FROM hours WHERE hour >= $1 ${filter}`,
        ]
      : []),
  ];
  const from = `FROM (${sources.join(' UNION ALL ')}) AS sums`;
  if (group === undefined) return `SELECT ${SUMS} ${from}`;
  const named = Object.entries(group.members).map(([name, expression]) => `${expression} AS "${name}"`);
  return `SELECT account_id, ${named.join(', ')}, ${SUMS} ${from} GROUP BY ${group.by} ORDER BY ${group.order}`;
}

type Row = Record<string, number | string | null>;

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
  function report(group: Group | undefined, accountId: number | undefined, since: number): Promise<Row[]> {
    const first = hourOf(since);
    const days = group?.hours ? Number.MAX_SAFE_INTEGER : Math.ceil(first / DAY_MS) * DAY_MS;
    const values: Value[] = accountId === undefined ? [first, days] : [first, days, accountId];
    return connection.read<Row>({ text: reportOf(group, accountId !== undefined) }, ...values);
  }

  /** Deletes the sums of one kind and one hour or day. A day that loses some of its hours loses their counts. */
  async function pruneStep(before: number): Promise<boolean> {
    const day = before - (before % DAY_MS);
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
      toTotals((await report(undefined, accountId, since))[0] ?? {}),
    totalsBy: async (
      grouping: Grouping,
      accountId: number | undefined,
      since: number,
    ): Promise<GroupedTotals[]> =>
      (await report(GROUPS[grouping], accountId, since)).map((row) => ({
        accountId: Number(row['account_id']),
        group: nameOf(grouping, row),
        totals: toTotals(row),
      })),
    async pruneSums(before: number): Promise<void> {
      while (!connection.closed && (await pruneStep(before)));
    },
  };
}

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

function nameOf(grouping: Grouping, row: Row): Record<string, string | null> {
  return Object.fromEntries(
    Object.keys(GROUPS[grouping].members).map((member) => {
      const value = row[member] ?? null;
      return [member, typeof value === 'number' ? new Date(value).toISOString() : value];
    }),
  );
}

function toTotals(row: Row): Totals {
  const count = (name: string): number => Number(row[name] ?? 0);
  return {
    requests: count('requests'),
    errors: count('errors'),
    unknown: count('unknown'),
    unpriced: count('unpriced'),
    inputTokens: count('input'),
    cacheReadTokens: count('cache_read'),
    cacheWriteTokens: count('cache_write'),
    outputTokens: count('output'),
    costUsd: count('priced') > 0 ? count('cost_usd') : null,
    firstByte: row['priced'] == null ? NO_FIRST_BYTES : FIRST_BYTES.map(count),
  };
}
