// Sums of usage rows by hour and by day, so that a report reads sums and not requests. Rows up to an id are in the sums; reports add
// the newer rows themselves, and batches that are written move the boundary (docs/decisions/0013). `requests` counts admissions in
// sums by account, hour and day, and usage rows in sums by key, model and provider, because admissions name none of these.
import type { Statement } from 'better-sqlite3';
import { DAY_MS, HOUR_MS } from '../../../clock.ts';
import { FIRST_BYTE_LIMITS, FIRST_BYTE_RANGES, NO_FIRST_BYTES } from '../../first-byte.ts';
import type { GroupedTotals, Grouping, Totals } from '../../store.ts';
import type { Db } from '../driver.ts';

/** So many rows wait before they are added to the sums, and one step adds so many: rows of one hour belong to the same sums. */
const STEP = 2000;

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
const SUMS = COUNTS.map((count) => `sum(${count}) AS ${count}`).join(', ');
const ADD = COUNTS.map((count) => `${count} = ${count} + excluded.${count}`).join(', ');

const RANGE = `CASE ${FIRST_BYTE_LIMITS.map((limit, range) => `WHEN first_byte_ms < ${limit} THEN ${range}`).join(' ')}
  WHEN first_byte_ms IS NOT NULL THEN ${FIRST_BYTE_LIMITS.length} END`;
const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';
const ifKnown = (tokens: string): string => `coalesce(sum(iif(${KNOWN}, ${tokens}, 0)), 0)`;

/** Usage rows in the form of sums by hour, with the columns of every kind. */
const sumsOfRows = (condition: string): string => `
  SELECT hour, account_id, key_id, provider, model, requests, ${MEASURES.join(', ')},
    ${FIRST_BYTES.map((name, range) => `iif(first_byte = ${range}, requests, 0) AS ${name}`).join(', ')}
  FROM (
    SELECT at - at % ${HOUR_MS} AS hour, account_id, key_id, coalesce(provider, '') AS provider, coalesce(model, '') AS model,
      ${RANGE} AS first_byte, count(*) AS requests, sum(error IS NOT NULL) AS errors,
      sum(error IS NULL AND NOT (${KNOWN})) AS unknown, sum(${KNOWN} AND cost_usd IS NULL) AS unpriced,
      count(cost_usd) AS priced, ${ifKnown('input + coalesce(cache_read, 0) + coalesce(cache_write, 0)')} AS input,
      ${ifKnown('coalesce(cache_read, 0)')} AS cache_read, ${ifKnown('coalesce(cache_write, 0)')} AS cache_write,
      ${ifKnown('output')} AS output, total(cost_usd) AS cost_usd
    FROM usage WHERE ${condition} GROUP BY 1, 2, 3, 4, 5, 6
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
    order: 'account',
    admitted: true,
  },
  key: {
    kind: BY_KEY,
    members: { key: 'name' },
    by: 'account_id, name',
    order: 'account_id, requests DESC, key',
    admitted: false,
  },
  model: {
    kind: BY_MODEL,
    members: { model: "nullif(name, '')", provider: "nullif(provider, '')" },
    by: 'account_id, name, provider',
    order: 'account_id, requests DESC, 2, 3',
    admitted: false,
  },
  provider: {
    kind: BY_MODEL,
    members: { provider: "nullif(provider, '')" },
    by: 'account_id, provider',
    order: 'account_id, requests DESC, 2',
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

const ALL: Omit<Group, 'by' | 'order'> = { kind: BY_ACCOUNT, members: {}, admitted: true };

/** `since`: the start of an hour. From `days` on, sums by day are read. Usage rows after the id `summed` are not in the sums. */
interface Window {
  since: number;
  days: number;
  summed: number;
  account?: number;
}

/** The account's id, the members of the group's name, the counts: by position, because objects of so many members are slow. */
type Row = (number | string | null)[];

/** The query for the totals of each group (undefined: of everything), of one account or of all. */
function reportOf(group: Group | undefined, ofAccount: boolean): string {
  const { kind, members, admitted } = group ?? ALL;
  const filter = ofAccount ? 'AND account_id = @account' : '';
  const counted = [...MEASURES, ...FIRST_BYTES].join(', ');
  const requests = admitted ? '0' : 'requests';
  const sums = `at, account_id, name, provider, ${requests} AS requests, ${counted} FROM usage_sums`;
  const sources = [
    `SELECT ${sums} WHERE kind = ${kind.hour} AND at >= @since AND at < @days ${filter}`,
    `SELECT ${sums} WHERE kind = ${kind.day} AND at >= @days ${filter}`,
    // `+at` keeps SQLite from using the index of times.
    `SELECT hour, account_id, ${kind.name}, ${kind.provider}, ${requests}, ${counted}
     FROM (${sumsOfRows(`id > @summed AND +at >= @since ${filter}`)})`,
    ...(admitted
      ? [
          `SELECT hour, account_id, '', '', requests, ${[...MEASURES, ...FIRST_BYTES].map(() => 0).join(', ')}
           FROM hours WHERE hour >= @since ${filter}`,
        ]
      : []),
  ];
  const from = `FROM (${sources.join(' UNION ALL ')})`;
  if (group === undefined) return `SELECT ${SUMS} ${from}`;
  const named = Object.entries(members).map(([name, expression]) => `${expression} AS "${name}"`);
  return `SELECT account_id, ${named.join(', ')}, ${SUMS} ${from} GROUP BY ${group.by} ORDER BY ${group.order}`;
}

export function prepareUsageSums(db: Db) {
  const summed = db.prepare<[], number>('SELECT id FROM usage_summed').pluck();
  const rollUp = prepareRollUp(db, summed);
  /** Prepared at first use: only commands ask for reports. */
  const reports = new Map<string, Statement<[Window], Row>>();
  // One transaction, so that a row that is added to the sums at the same time counts once.
  const report = db.transaction(
    (group: Group | undefined, accountId: number | undefined, since: number): Row[] => {
      const sql = reportOf(group, accountId !== undefined);
      const statement = reports.get(sql) ?? db.prepare<[Window], Row>(sql).raw();
      reports.set(sql, statement);
      const first = hourOf(since);
      const days = group?.hours ? Number.MAX_SAFE_INTEGER : Math.ceil(first / DAY_MS) * DAY_MS;
      const window: Window = { since: first, days, summed: summed.get() ?? 0 };
      return statement.all(accountId === undefined ? window : { ...window, account: accountId });
    },
  );
  return {
    ...rollUp,
    ...preparePrune(db),
    totals: (accountId: number | undefined, since: number): Totals =>
      toTotals(report(undefined, accountId, since)[0] ?? []),
    totalsBy: (grouping: Grouping, accountId: number | undefined, since: number): GroupedTotals[] => {
      const members = Object.keys(GROUPS[grouping].members);
      return report(GROUPS[grouping], accountId, since).map((row) => ({
        accountId: Number(row[0]),
        group: nameOf(members, row),
        totals: toTotals(row.slice(1 + members.length)),
      }));
    },
  };
}

function prepareRollUp(db: Db, summed: Statement<[], number>) {
  const lastOfStep = db
    .prepare<[after: number, rows: number], number | null>(
      'SELECT max(id) FROM (SELECT id FROM usage WHERE id > ? ORDER BY id LIMIT ?)',
    )
    .pluck();
  const add = db.prepare<[first: number, last: number]>(ROLL_UP);
  const advance = db.prepare<[number]>('UPDATE usage_summed SET id = ?');

  function step(): boolean {
    const after = summed.get() ?? 0;
    const last = lastOfStep.get(after, STEP) ?? null;
    if (last === null) return false;
    add.run(after + 1, last);
    advance.run(last);
    return true;
  }

  const inTransaction = db.transaction(step);
  return {
    /** Adds some of the rows that wait to the sums. Returns false if no row waits. */
    rollUp: () => inTransaction.immediate(),
    /** The same, in the transaction that wrote the row with this id, if enough rows wait. */
    rollUpAfter(id: number): void {
      if (id - (summed.get() ?? 0) >= STEP) step();
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
  const remove = db.prepare<[kind: number, at: number]>('DELETE FROM usage_sums WHERE kind = ? AND at = ?');
  const subtract = db.prepare<[kind: number, day: number, kind: number, at: number]>(
    `INSERT INTO usage_sums (${COLUMNS})
     SELECT ?, ?, account_id, name, provider, ${COUNTS.map((count) => `-${count}`).join(', ')}
     FROM usage_sums WHERE kind = ? AND at = ?
     ON CONFLICT DO UPDATE SET ${ADD}`,
  );
  const removeEmpty = db.prepare<[kind: number, at: number]>(
    'DELETE FROM usage_sums WHERE kind = ? AND at = ? AND requests = 0',
  );

  function step(before: number): boolean {
    const day = dayOf(before);
    for (const kind of KINDS) {
      const hour = oldest.get(kind.hour, before) ?? null;
      if (hour !== null) {
        if (hour >= day) subtract.run(kind.day, day, kind.hour, hour);
        remove.run(kind.hour, hour);
        removeEmpty.run(kind.day, day);
        return true;
      }
      const oldestDay = oldest.get(kind.day, day) ?? null;
      if (oldestDay !== null) {
        remove.run(kind.day, oldestDay);
        return true;
      }
    }
    return false;
  }

  const inTransaction = db.transaction(step);
  const removeOfAccount = db.prepare<[from: number, to: number, account: number]>(
    `DELETE FROM usage_sums WHERE kind IN (${KINDS.map(({ hour, day }) => `${hour}, ${day}`).join(', ')})
       AND at >= ? AND at < ? AND account_id = ?`,
  );
  return {
    /** Deletes some of the sums before the start of an hour. Returns false if none is left. */
    pruneSums: (before: number): boolean => inTransaction.immediate(before),
    /** The days of all sums. */
    daysOfSums: db.prepare<[], { first: number | null; last: number | null }>(
      `SELECT min(at) AS first, max(at) AS last FROM usage_sums WHERE kind = ${BY_ACCOUNT.day}`,
    ),
    removeDayOf: (account: number, day: number): void => void removeOfAccount.run(day, day + DAY_MS, account),
  };
}

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

function dayOf(time: number): number {
  return time - (time % DAY_MS);
}

function nameOf(members: readonly string[], row: Row): Record<string, string | null> {
  return Object.fromEntries(
    members.map((member, index) => {
      const value = row[1 + index] ?? null;
      return [member, typeof value === 'number' ? new Date(value).toISOString() : value];
    }),
  );
}

const MEASURED = 1 + MEASURES.length;
const AT = Object.fromEntries(COUNTS.map((count, index) => [count, index]));

/** `counts`: in the order of COUNTS; null if there is nothing to sum up. */
function toTotals(counts: Row): Totals {
  const count = (name: string): number => Number(counts[AT[name] ?? -1] ?? 0);
  const firstByte = counts.slice(MEASURED).map(Number);
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
    firstByte: firstByte.length === 0 ? NO_FIRST_BYTES : firstByte,
  };
}
