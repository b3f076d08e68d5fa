// What the usage reports of both engines have in common: the sums that are stored, their columns, the groups of a report, and its
// query; times to the first byte are counts in fixed ranges, so that counts of hours, accounts and engines can be added.
// `requests` counts admissions in sums by account, hour and day, and usage rows in sums by key, model and provider, because
// admissions have none of these.
import { DAY_MS, HOUR_MS, hourOf, isoTime } from '../clock.ts';
import type { AccountTotals, Grouping, GroupTotals, Totals } from './store.ts';
import { KNOWN, TOKENS } from './usage-columns.ts';

/** Upper ends of the ranges in milliseconds, not included. The last range has no upper end. Stored sums depend on them. */
export const FIRST_BYTE_LIMITS: readonly number[] = [
  5, 25, 50, 100, 150, 250, 400, 600, 1000, 1500, 2500, 4000, 6000, 10_000, 25_000,
];

export const FIRST_BYTE_RANGES = FIRST_BYTE_LIMITS.length + 1;

export const NO_FIRST_BYTES: readonly number[] = Array.from({ length: FIRST_BYTE_RANGES }, () => 0);

/** The time that a share of the requests (0.5, 0.95) does not exceed, in milliseconds: exact to its range, in which times are
 *  taken as evenly spread. null: no request had a first byte. */
export function firstByteAt(counts: readonly number[], share: number): number | null {
  let left = counts.reduce((sum, count) => sum + count, 0) * share;
  let from = 0;
  for (let range = 0; range < counts.length; range += 1) {
    const count = counts[range] ?? 0;
    const to = FIRST_BYTE_LIMITS[range] ?? from;
    if (count > 0 && left <= count) return from + ((to - from) * left) / count;
    left -= count;
    from = to;
  }
  return null;
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
const BY_LABEL: Kind = { hour: 4, day: 14, name: 'label', provider: "''" };
export const KINDS = [BY_ACCOUNT, BY_KEY, BY_MODEL, BY_LABEL];

export const FIRST_BYTES = Array.from({ length: FIRST_BYTE_RANGES }, (_, range) => `first_byte_${range}`);

/** Numbers of usage rows, by the condition of each. */
const ROWS = {
  errors: 'error IS NOT NULL',
  unknown: `error IS NULL AND NOT (${KNOWN})`,
  unpriced: `${KNOWN} AND cost_usd IS NULL`,
  priced: 'cost_usd IS NOT NULL',
  cache_misses: 'cache_miss IS NOT NULL',
};

/** Columns of money. */
export const MONEY = ['cost_usd', 'cache_miss_cost_usd'];

export const MEASURES = [...Object.keys(ROWS), ...TOKENS.map(({ name }) => name), ...MONEY];
export const COUNTS = ['requests', ...MEASURES, ...FIRST_BYTES];
export const COLUMNS = ['kind', 'at', 'account_id', 'name', 'provider', ...COUNTS].join(', ');

/** Aggregates of usage rows, as each engine writes them. */
interface Aggregates {
  rows: (condition: string) => string;
  /** Of the rows whose usage is known. */
  tokens: (expression: string) => string;
  money: (column: string) => string;
}

/** Selects MEASURES from usage rows. */
export function measuresOf({ rows, tokens, money }: Aggregates): string {
  return [
    ...Object.entries(ROWS).map(([name, condition]) => `${rows(condition)} AS ${name}`),
    ...TOKENS.map(
      ({ name }) => `${tokens(name === 'input' ? ALL_INPUT : `coalesce(${name}, 0)`)} AS ${name}`,
    ),
    ...MONEY.map((name) => `${money(name)} AS ${name}`),
  ].join(', ');
}

const ALL_INPUT = 'input + coalesce(cache_read, 0) + coalesce(cache_write, 0)';

interface Group {
  kind: Kind;
  /** Members of the name of a group, and the columns that they are read from. */
  members: Readonly<Record<string, string>>;
  by: string;
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
    admitted: true,
  },
  key: { kind: BY_KEY, members: { key: 'name' }, by: 'account_id, name', admitted: false },
  label: { kind: BY_LABEL, members: { label: "nullif(name, '')" }, by: 'account_id, name', admitted: false },
  model: {
    kind: BY_MODEL,
    members: { model: "nullif(name, '')", provider: "nullif(provider, '')" },
    by: 'account_id, name, provider',
    admitted: false,
  },
  provider: {
    kind: BY_MODEL,
    members: { provider: "nullif(provider, '')" },
    by: 'account_id, provider',
    admitted: false,
  },
  hour: { kind: BY_ACCOUNT, members: { hour: 'at' }, by: 'account_id, at', admitted: true, hours: true },
  day: {
    kind: BY_ACCOUNT,
    members: { day: `at - at % ${DAY_MS}` },
    by: `account_id, at - at % ${DAY_MS}`,
    admitted: true,
  },
};

const ALL: Pick<Group, 'kind' | 'admitted'> = { kind: BY_ACCOUNT, admitted: true };

/** What differs between the engines. */
export interface Dialect {
  /** Parameters of the query: the starts of the first hour and of the one after the last; the times from which on and up to which sums by
   *  day are read; the account. */
  since: string;
  until: string;
  days: string;
  daysUntil: string;
  account: string;
  sum: (count: string) => string;
  /** Sums by hour of rows that are not in the stored sums, with the columns of every kind. `filter`: AND and a condition. */
  newer?: (filter: string) => string;
}

/** The query for the totals of each group (undefined: of everything), of one account or of all. It returns a row for each group: the
 *  account's number (0 without a group), the members of the name, then the counts. */
export function reportOf(grouping: Grouping | undefined, ofAccount: boolean, dialect: Dialect): string {
  const { since, until, days, daysUntil, account, sum, newer } = dialect;
  const group = grouping && GROUPS[grouping];
  const { kind, admitted } = group ?? ALL;
  const filter = ofAccount ? `AND account_id = ${account}` : '';
  const measured = [...MEASURES, ...FIRST_BYTES];
  const requests = kind === BY_ACCOUNT ? '0' : 'requests';
  const counted = `${requests} AS requests, ${measured.join(', ')}`;
  const stored = `SELECT at, account_id, name, provider, ${counted} FROM usage_sums`;
  const sources = [
    `${stored} WHERE kind = ${kind.hour} AND at >= ${since} AND at < ${days} ${filter}`,
    `${stored} WHERE kind = ${kind.day} AND at >= ${days} AND at < ${daysUntil} ${filter}`,
    `${stored} WHERE kind = ${kind.hour} AND at >= ${daysUntil} AND at < ${until} ${filter}`,
  ];
  if (newer !== undefined) {
    sources.push(
      `SELECT hour, account_id, ${kind.name}, ${kind.provider}, ${counted} FROM (${newer(filter)}) AS newer`,
    );
  }
  if (admitted) {
    sources.push(
      `SELECT hour, account_id, '', '', requests, ${measured.map(() => '0').join(', ')}
       FROM hours WHERE hour >= ${since} AND hour < ${until} AND requests > 0 ${filter}`,
    );
  }
  const all = `(${sources.join(' UNION ALL ')}) AS sums`;
  const sums = COUNTS.map((count) => `${sum(count)} AS ${count}`).join(', ');
  if (group === undefined) return `SELECT 0, ${sums} FROM ${all}`;
  const named = Object.entries(group.members).map(([name, expression]) => `${expression} AS "${name}"`);
  return `SELECT account_id, ${named.join(', ')}, ${sums} FROM ${all} GROUP BY ${group.by}`;
}

/** Times of a report, for the parameters of its query. */
interface Spans {
  since: number;
  until: number;
  days: number;
  daysUntil: number;
}

/** Of a report from the hour of `since` to the end of the hour before `until`. The days between are read as sums by day. */
export function spansOf(grouping: Grouping | undefined, since: number, until = END): Spans {
  const first = hourOf(since);
  const last = Math.ceil(until / HOUR_MS) * HOUR_MS;
  const byHours = grouping !== undefined && GROUPS[grouping].hours === true;
  const days = byHours ? last : Math.min(Math.ceil(first / DAY_MS) * DAY_MS, last);
  return { since: first, until: last, days, daysUntil: Math.max(days, dayOf(last)) };
}

/** The start of a day after all others. */
const END = Math.floor(Number.MAX_SAFE_INTEGER / DAY_MS) * DAY_MS;

type Value = number | string | null;

/** `values`: in the order of the members. */
function nameOf(members: readonly string[], values: readonly Value[]): Record<string, string | null> {
  return Object.fromEntries(
    members.map((member, index) => {
      const value = values[index] ?? null;
      return [member, typeof value === 'number' ? isoTime(value) : value];
    }),
  );
}

const AT = Object.fromEntries(COUNTS.map((count, index) => [count, index]));

type Counted = Exclude<keyof Totals, 'costUsd' | 'cacheMissCostUsd' | 'firstByte'>;

/** Where the count of a member stands in COUNTS. */
const PLACES = [
  ...(['requests', 'errors', 'unknown', 'unpriced'] as const).map((name) => ({ name, total: name })),
  { name: 'cache_misses', total: 'cacheMisses' } as const,
  ...TOKENS,
].map(({ name, total }): [Counted, number] => [total, AT[name] ?? -1]);

function eachCount(count: (member: Counted, at: number) => number): Record<Counted, number> {
  return Object.fromEntries(PLACES.map(([member, at]) => [member, count(member, at)])) as Record<
    Counted,
    number
  >;
}

/** `row`: the counts in the order of COUNTS, from the position `from` on; none if there is nothing to sum up. */
function toTotals(row: readonly Value[], from = 0): Totals {
  const count = (at = -1): number => Number(row[from + at] ?? 0);
  // Without rows, sums are null.
  const isEmpty = (row[from] ?? null) === null;
  return {
    ...eachCount((_, at) => count(at)),
    costUsd: count(AT['priced']) > 0 ? count(AT['cost_usd']) : null,
    cacheMissCostUsd: count(AT['cache_miss_cost_usd']),
    firstByte: isEmpty ? NO_FIRST_BYTES : (row.slice(from + 1 + MEASURES.length) as number[]),
  };
}

const NO_USAGE: Totals = toTotals([]);

export function sumOf(all: Iterable<Totals>): Totals {
  const firstByte = [...NO_FIRST_BYTES];
  const sum = { ...NO_USAGE, firstByte };
  for (const totals of all) {
    for (const [member] of PLACES) sum[member] += totals[member];
    if (totals.costUsd !== null) sum.costUsd = (sum.costUsd ?? 0) + totals.costUsd;
    sum.cacheMissCostUsd += totals.cacheMissCostUsd;
    for (let range = 0; range < FIRST_BYTE_RANGES; range += 1) {
      firstByte[range] = (firstByte[range] ?? 0) + (totals.firstByte[range] ?? 0);
    }
  }
  return sum;
}

/** The account's number, then what the query selects of one group. */
export type GroupRow = readonly [accountId: number, ...values: Value[]];

/** What a query without a group returns. */
export const totalsOf = ([row]: readonly GroupRow[]): Totals => toTotals(row ?? [], 1);

/** A row of counts for each account. */
export const totalsByAccount = (found: readonly GroupRow[]): Map<number, Totals> =>
  new Map(found.map((row) => [row[0], toTotals(row, 1)]));

/** What is left of the first if the second is a part of it. */
export function difference(all: Totals, part: Totals): Totals {
  return {
    ...eachCount((member) => Math.max(0, all[member] - part[member])),
    costUsd: all.costUsd === null ? null : Math.max(0, all.costUsd - (part.costUsd ?? 0)),
    cacheMissCostUsd: Math.max(0, all.cacheMissCostUsd - part.cacheMissCostUsd),
    firstByte: all.firstByte.map((count, range) => Math.max(0, count - (part.firstByte[range] ?? 0))),
  };
}

/** `found`: what the query of `reportOf` returns. The order: by account; names by their requests, most first; times as they pass. */
export function accountTotals(grouping: Grouping, found: readonly GroupRow[]): AccountTotals[] {
  const { admitted, members } = GROUPS[grouping];
  const names = Object.keys(members);
  const counts = 1 + names.length;
  const accounts = new Map<number, GroupTotals[]>();
  const inOrder = [...found].sort(
    (a, b) => (admitted ? 0 : Number(b[counts]) - Number(a[counts])) || compare(a, b),
  );
  for (const row of inOrder) {
    const [id] = row;
    const groups = accounts.get(id) ?? [];
    groups.push({ group: nameOf(names, row.slice(1, counts)), totals: toTotals(row, counts) });
    accounts.set(id, groups);
  }
  return [...accounts]
    .map(([accountId, groups]) => ({ accountId, groups }))
    .sort((a, b) => a.accountId - b.accountId);
}

/** By the first values that differ. null comes first. */
function compare(a: readonly Value[], b: readonly Value[]): number {
  const index = a.findIndex((value, index) => value !== b[index]);
  const [left = null, right = null] = [a[index], b[index]];
  if (left === right) return 0;
  return left === null || (right !== null && left < right) ? -1 : 1;
}

export function dayOf(time: number): number {
  return time - (time % DAY_MS);
}
