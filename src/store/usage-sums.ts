// What the usage reports of both engines have in common: the sums that are stored, their columns, the groups of a report, and its
// query; times to the first byte are counts in fixed ranges, so that counts of hours, accounts and engines can be added.
// `requests` counts admissions in sums by account, hour and day, and usage rows in sums by key, model and provider, because
// admissions have none of these.
import { DAY_MS, HOUR_MS } from '../clock.ts';
import type { GroupedTotals, Grouping, HourAdmissions, Totals } from './store.ts';

/** Upper ends of the ranges in milliseconds, not included. The last range has no upper end. Stored sums depend on them. */
export const FIRST_BYTE_LIMITS: readonly number[] = [
  5, 25, 50, 100, 150, 250, 400, 600, 1000, 1500, 2500, 4000, 6000, 10_000, 25_000,
];

export const FIRST_BYTE_RANGES = FIRST_BYTE_LIMITS.length + 1;

export const NO_FIRST_BYTES: readonly number[] = Array.from({ length: FIRST_BYTE_RANGES }, () => 0);

/** The time that a share of the requests (0.5, 0.95) does not exceed, in milliseconds: exact to its range, in which times are
 *  taken as evenly spread. null: no request had a first byte. */
export function firstByteAt(counts: readonly number[], share: number): number | null {
  let left = 0;
  for (const count of counts) left += count;
  if (left === 0) return null;
  left *= share;
  let range = 0;
  for (const count of counts) {
    const from = FIRST_BYTE_LIMITS[range - 1] ?? 0;
    if (count > 0 && left <= count) {
      const to = FIRST_BYTE_LIMITS[range] ?? from;
      return from + ((to - from) * left) / count;
    }
    left -= count;
    range += 1;
  }
  return FIRST_BYTE_LIMITS.at(-1) ?? null;
}

/** What a row of `usage_sums` is a sum of. The numbers are the values of the column `kind`: for sums by hour, and by day. */
interface Kind {
  hour: number;
  day: number;
  /** The columns of usage rows that name a sum besides its account. */
  name: string;
  provider: string;
}

export const BY_ACCOUNT: Kind = { hour: 1, day: 11, name: "''", provider: "''" };
const BY_KEY: Kind = { hour: 2, day: 12, name: 'key_id', provider: "''" };
const BY_MODEL: Kind = { hour: 3, day: 13, name: 'model', provider: 'provider' };
export const KINDS = [BY_ACCOUNT, BY_KEY, BY_MODEL];

export const FIRST_BYTES = Array.from({ length: FIRST_BYTE_RANGES }, (_, range) => `first_byte_${range}`);
export const MEASURES = [
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
export const COUNTS = ['requests', ...MEASURES, ...FIRST_BYTES];
export const COLUMNS = ['kind', 'at', 'account_id', 'name', 'provider', ...COUNTS].join(', ');
/** Usage is known: a condition on usage rows. */
export const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';

interface Group {
  kind: Kind;
  /** Members of the name of a group, and the columns that they are read from. */
  members: Readonly<Record<string, string>>;
  by: string;
  /** Column 1 is the account's number, the members follow. */
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
    order: '1, sum(requests) DESC, 2',
    admitted: false,
  },
  model: {
    kind: BY_MODEL,
    members: { model: "nullif(name, '')", provider: "nullif(provider, '')" },
    by: 'account_id, name, provider',
    order: '1, sum(requests) DESC, 2 NULLS FIRST, 3 NULLS FIRST',
    admitted: false,
  },
  provider: {
    kind: BY_MODEL,
    members: { provider: "nullif(provider, '')" },
    by: 'account_id, provider',
    order: '1, sum(requests) DESC, 2 NULLS FIRST',
    admitted: false,
  },
  // Rows of the sources: `mergeHours` groups them in a third of the time that the database takes, and adds the admissions.
  hour: {
    kind: BY_ACCOUNT,
    members: { hour: 'at' },
    by: '',
    order: '',
    admitted: false,
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

/** What differs between the engines. */
export interface Dialect {
  /** Parameters of the query: the start of an hour; the time from which on sums by day are read; the account. */
  since: string;
  days: string;
  account: string;
  /** COUNTS, each as `of` says. */
  row: (of: (count: string) => string) => string;
  /** Sums by hour of rows that are not in the stored sums, with the columns of every kind. `filter`: AND and a condition. */
  newer?: (filter: string) => string;
}

const sum = (count: string): string => `sum(${count})`;

/** The query for the totals of each group (undefined: of everything), of one account or of all. Its columns: the account's number and
 *  the members of the group's name (not without a group), then the dialect's row of sums. Hours are not grouped: see `mergeHours`. */
export function reportOf(grouping: Grouping | undefined, ofAccount: boolean, dialect: Dialect): string {
  const { since, days, account, row, newer } = dialect;
  const group = grouping && GROUPS[grouping];
  const { kind, admitted } = group ?? ALL;
  const filter = ofAccount ? `AND account_id = ${account}` : '';
  const measured = [...MEASURES, ...FIRST_BYTES];
  const requests = kind === BY_ACCOUNT ? '0' : 'requests';
  const counted = `${requests} AS requests, ${measured.join(', ')}`;
  const stored = `SELECT at, account_id, name, provider, ${counted} FROM usage_sums`;
  const sources = [
    `${stored} WHERE kind = ${kind.hour} AND at >= ${since} AND at < ${days} ${filter}`,
    `${stored} WHERE kind = ${kind.day} AND at >= ${days} ${filter}`,
  ];
  if (newer !== undefined) {
    sources.push(
      `SELECT hour, account_id, ${kind.name}, ${kind.provider}, ${counted} FROM (${newer(filter)}) AS newer`,
    );
  }
  if (admitted) {
    sources.push(
      `SELECT hour, account_id, '', '', requests, ${measured.map(() => '0').join(', ')}
       FROM hours WHERE hour >= ${since} ${filter}`,
    );
  }
  const all = sources.join(' UNION ALL ');
  if (group === undefined) return `SELECT ${row(sum)} FROM (${all}) AS sums`;
  const named = Object.entries(group.members).map(([name, expression]) => `${expression} AS "${name}"`);
  return group.hours
    ? `SELECT account_id, ${named.join(', ')}, ${row((count) => count)} FROM (${all}) AS sums`
    : `SELECT account_id, ${named.join(', ')}, ${row(sum)} FROM (${all}) AS sums GROUP BY ${group.by} ORDER BY ${group.order}`;
}

/** The time from which on a report reads sums by day. `first`: the start of its first hour. */
export function daysFrom(grouping: Grouping | undefined, first: number): number {
  if (grouping !== undefined && GROUPS[grouping].hours) return Number.MAX_SAFE_INTEGER;
  return Math.ceil(first / DAY_MS) * DAY_MS;
}

export const membersOf = (grouping: Grouping): string[] => Object.keys(GROUPS[grouping].members);

type Value = number | string | null;

/** `values`: in the order of the members. */
export function nameOf(grouping: Grouping, values: readonly Value[]): Record<string, string | null> {
  return Object.fromEntries(
    membersOf(grouping).map((member, index) => {
      const value = values[index] ?? null;
      return [member, typeof value === 'number' ? new Date(value).toISOString() : value];
    }),
  );
}

const MEASURED = 1 + MEASURES.length;
const AT = Object.fromEntries(COUNTS.map((count, index) => [count, index]));

/** `row`: the counts in the order of COUNTS, from the position `from` on; none if there is nothing to sum up. */
export function toTotals(row: readonly Value[], from = 0): Totals {
  const count = (name: string): number => Number(row[from + (AT[name] ?? -1)] ?? 0);
  // Without rows, sums are null.
  const isEmpty = (row[from] ?? null) === null;
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
    firstByte: isEmpty ? NO_FIRST_BYTES : (row.slice(from + MEASURED) as number[]),
  };
}

export const NO_USAGE: Totals = toTotals([]);

export function addTotals(a: Totals, b: Totals): Totals {
  return {
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    unknown: a.unknown + b.unknown,
    unpriced: a.unpriced + b.unpriced,
    inputTokens: a.inputTokens + b.inputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd === null && b.costUsd === null ? null : (a.costUsd ?? 0) + (b.costUsd ?? 0),
    firstByte: a.firstByte.map((count, range) => count + (b.firstByte[range] ?? 0)),
  };
}

/** The groups of a report by hour, by account and hour. `rows`: the account's number, the start of the hour, and what `totalsOf`
 *  reads; several of an hour are added. */
export function mergeHours<Row extends readonly Value[]>(
  rows: readonly Row[],
  totalsOf: (row: Row) => Totals,
  admissions: readonly HourAdmissions[],
): GroupedTotals[] {
  const groups = new Map<number, Map<number, GroupedTotals>>();
  const set = (accountId: number, hour: number, change: (before: Totals | undefined) => Totals): void => {
    const hours = groups.get(accountId) ?? new Map<number, GroupedTotals>();
    groups.set(accountId, hours);
    const group = hours.get(hour);
    if (group === undefined)
      hours.set(hour, { accountId, group: nameOf('hour', [hour]), totals: change(undefined) });
    else group.totals = change(group.totals);
  };
  for (const row of rows) {
    const totals = totalsOf(row);
    set(Number(row[0]), Number(row[1]), (before) =>
      before === undefined ? totals : addTotals(before, totals),
    );
  }
  for (const { accountId, hour, requests } of admissions) {
    set(accountId, hour, (totals = { ...NO_USAGE }) => {
      totals.requests = requests;
      return totals;
    });
  }
  const ascending = <Value>(map: ReadonlyMap<number, Value>): Value[] =>
    [...map].sort(([a], [b]) => a - b).map(([, value]) => value);
  return ascending(groups).flatMap(ascending);
}

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

export function dayOf(time: number): number {
  return time - (time % DAY_MS);
}
