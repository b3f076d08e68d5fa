// Prints usage for people: on a terminal, a block for each account with a meter and a chart; in a pipe, tables.
import type { AccountUsage, PrintedTotals } from '../../../accounts/usage-report.ts';
import type { Grouping } from '../../../store/store.ts';
import { chart } from '../../ui/chart.ts';
import { type LimitedUsage, limitLines, otherLimits } from './limits-view.ts';
import type { Context } from '../../context.ts';
import { csvLine } from './csv.ts';
import {
  clean,
  createStyle,
  formatCost,
  formatCount,
  formatShort,
  widthOf,
  type Style,
  shown,
  shownIso,
  timeTitle,
  UTC,
  type Zone,
} from '../../ui/style.ts';
import { displayWidth, truncate } from '../../../display-width.ts';
import { table, wrapWords, type Column } from '../../ui/table.ts';
import { plural } from '../../../plural.ts';
import { formatElapsed } from '../../../elapsed.ts';

interface Window {
  by: Grouping | undefined;
  zone: Zone;
}

interface Canvas {
  width: number;
  style: Style;
  now: number;
  /** Lines of a chart: more if there are fewer accounts. */
  height: number;
  zone: Zone;
}

const NO_ACCOUNTS = ['No accounts yet. Create one with its first key: gateway keys create --account NAME'];

export async function usageLines(
  accounts: Iterable<LimitedUsage>,
  { by, zone }: Window,
  { stdout, env, clock }: Context,
): Promise<string[]> {
  if (stdout.isTTY !== true) return plainTables(accounts, by, zone);
  const width = Math.max(20, widthOf(stdout) ?? 80);
  const style = await createStyle(stdout, env);
  const rows: BlockRow[] = [];
  // A long report keeps the lines of an account's groups, not the groups.
  for (const row of accounts) {
    const options = { width: width - INDENT.length, style, zone };
    const split = by === undefined || row.by?.length === 0 ? [] : ['', ...groupTable([row], by, options)];
    rows.push({ ...row, by: [], split });
  }
  if (rows.length === 0) return NO_ACCOUNTS;
  const canvas: Canvas = {
    width,
    style,
    now: clock.now(),
    height: heightFor(rows.length === 1 ? 1 : rows.filter(isActive).length),
    zone,
  };
  const since = `since ${shown(Date.parse(rows[0]?.hours[0]?.hour ?? ''), zone)}`;
  const times = zone === UTC ? 'times in UTC' : `times in ${zone.name}`;
  const head = wrapWords([since, times], ', ', canvas.width).map((line) => canvas.style.dim(line));
  const several = rows.length > 1;
  return [
    ...head,
    ...rows.filter((row) => !several || isActive(row)).flatMap((row) => ['', ...block(row, canvas)]),
    ...(several ? [...allLines(rows, canvas), ...idleLines(rows, canvas)] : []),
  ];
}

const isActive = ({ totals, used }: AccountUsage): boolean => totals.requests > 0 || used > 0;

function allLines(rows: readonly AccountUsage[], { style, width }: Canvas): string[] {
  const words = wrapWords(totalsWords(sumOf(rows)), ' · ', width - INDENT.length);
  return ['', style.bold('all accounts'), ...words.map((line) => INDENT + line)];
}

function idleLines(rows: readonly AccountUsage[], { style, width }: Canvas): string[] {
  const names = rows.filter((row) => !isActive(row)).map(({ account }) => clean(account));
  if (names.length === 0) return [];
  return ['', style.dim(truncate(`idle: ${names.join(', ')}`, width))];
}

function sumOf(rows: readonly Counted[]): PrintedTotals {
  if (rows.length === 1 && rows[0] !== undefined) return rows[0].totals;
  const sum = (value: (totals: PrintedTotals) => number): number =>
    rows.reduce((total, { totals }) => total + value(totals), 0);
  const priced = rows.some(({ totals }) => totals.cost_usd !== null);
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    unknown: sum(({ unknown }) => unknown),
    unpriced: sum(({ unpriced }) => unpriced),
    input_tokens: sum((totals) => totals.input_tokens),
    cache_read_tokens: sum((totals) => totals.cache_read_tokens),
    cache_write_tokens: sum((totals) => totals.cache_write_tokens),
    output_tokens: sum((totals) => totals.output_tokens),
    cost_usd: priced ? sum((totals) => totals.cost_usd ?? 0) : null,
    cache_misses: sum((totals) => totals.cache_misses),
    cache_miss_tokens: sum((totals) => totals.cache_miss_tokens),
    cache_miss_cost_usd: sum((totals) => totals.cache_miss_cost_usd),
    // Percentiles of several accounts cannot be added.
    first_byte_ms: null,
  };
}

/** `≥$1.50`: the cost does not include models without a known price. */
function costText({ cost_usd: cost, unpriced }: PrintedTotals): string {
  return `${cost !== null && unpriced > 0 ? '≥' : ''}${formatCost(cost)}`;
}

function heightFor(accounts: number): number {
  if (accounts === 1) return 6;
  return accounts <= 3 ? 3 : 1;
}

const INDENT = '  ';

/** `split`: the lines of its groups. */
type BlockRow = LimitedUsage & { split: readonly string[] };

function block(row: BlockRow, canvas: Canvas): string[] {
  const { style } = canvas;
  const width = canvas.width - INDENT.length;
  const tier = clean(row.tier);
  const name = truncate(clean(row.account), Math.max(8, canvas.width - displayWidth(tier) - 2));
  const hours = row.hours.map(({ hour, requests }) => {
    const at = Date.parse(hour);
    return { hour: at + canvas.zone.offset(at), requests };
  });
  const bars = chart(hours, {
    height: canvas.height,
    width,
    limit: row.limit ?? Infinity,
    style,
  });
  const idle = hours.every(({ requests }) => requests === 0);
  return [
    `${style.bold(name)}  ${style.dim(tier)}`,
    ...[
      ...limitLines(row, width, canvas),
      ...(idle ? [style.dim('no requests in this window')] : ['', ...bars, '']),
      ...wrapWords(totalsWords(row.totals), ' · ', width),
      ...row.split,
    ].map((line) => (line === '' ? '' : INDENT + line)),
  ];
}

function totalsWords(totals: PrintedTotals): string[] {
  return [
    plural(totals.requests, 'request', formatCount(totals.requests)),
    plural(totals.errors, 'error', formatCount(totals.errors)),
    `${plural(totals.input_tokens, 'token', formatShort(totals.input_tokens))} in`,
    ...(totals.cache_read_tokens > 0 ? [`${formatShort(totals.cache_read_tokens)} of them cached`] : []),
    `${formatShort(totals.output_tokens)} out`,
    ...(totals.unknown > 0 ? [`${formatCount(totals.unknown)} of unknown usage`] : []),
    ...(totals.cost_usd === null ? [] : [costText(totals)]),
    ...(totals.cache_misses === 0 ? [] : [missText(totals)]),
    ...(totals.first_byte_ms === null
      ? []
      : [
          `first byte p50 ${formatElapsed(totals.first_byte_ms.p50)}`,
          `p95 ${formatElapsed(totals.first_byte_ms.p95)}`,
        ]),
  ];
}

/** `3 cache misses (41.2K tokens, $0.1500)` */
function missText(totals: PrintedTotals): string {
  const { cache_misses: misses, cache_miss_tokens: tokens, cache_miss_cost_usd: cost } = totals;
  return `${formatCount(misses)} cache ${misses === 1 ? 'miss' : 'misses'} (${formatShort(tokens)} tokens${cost > 0 ? `, ${formatCost(cost)}` : ''})`;
}

type Counted = { totals: PrintedTotals };
type CountedColumn = Column<Counted>;

function errors({ errors: count }: PrintedTotals): ReturnType<CountedColumn['value']> {
  const text = formatCount(count);
  return count > 0 ? { text, paint: 'red' } : text;
}

const fresh = (totals: PrintedTotals): number =>
  totals.input_tokens - totals.cache_read_tokens - totals.cache_write_tokens;

const COLUMNS: Readonly<Record<string, (totals: PrintedTotals) => ReturnType<CountedColumn['value']>>> = {
  REQUESTS: ({ requests }) => formatCount(requests),
  ERRORS: errors,
  UNKNOWN: ({ unknown }) => formatCount(unknown),
  FRESH: (totals) => formatCount(fresh(totals)),
  CACHED: (totals) => formatCount(totals.cache_read_tokens),
  WRITTEN: (totals) => formatCount(totals.cache_write_tokens),
  OUTPUT: (totals) => formatCount(totals.output_tokens),
  P50: ({ first_byte_ms: time }) => formatElapsed(time?.p50 ?? null),
  P95: ({ first_byte_ms: time }) => formatElapsed(time?.p95 ?? null),
  COST: costText,
};

const TOTALS = Object.entries(COLUMNS).map(([title, text]): CountedColumn => ({
  title,
  value: ({ totals }) => text(totals),
  align: 'right',
}));

/** Columns that a narrow terminal leaves out, the first ones first. */
const OPTIONAL = [['P50', 'UNKNOWN'], ['WRITTEN'], ['P95', 'ERRORS'], ['CACHED'], ['FRESH']];

const MEMBERS = {
  account: ['account'],
  key: ['key', 'name'],
  label: ['label'],
  model: ['model', 'provider'],
  provider: ['provider'],
  hour: ['hour'],
  day: ['day'],
} as const satisfies Record<Grouping, readonly string[]>;

/** Names may be cut; ids, hours and days are of no use without their end. */
const CUT: Readonly<Partial<Record<string, Pick<CountedColumn, 'shrinks' | 'shortest'>>>> = {
  account: { shrinks: true },
  name: { shrinks: true },
  label: { shrinks: true },
  model: { shrinks: true, shortest: 20 },
  provider: { shrinks: true },
};

/** A row of `by`, which has the members of the group's name; undefined: the total. */
type GroupRow = Counted & { account: string; group: Readonly<Record<string, unknown>> | undefined };

/** The groups of all accounts, then the total. */
function* withTotal(rows: Iterable<AccountUsage>): Iterable<GroupRow> {
  const all: Counted[] = [];
  let groups = 0;
  for (const { account, totals, by = [] } of rows) {
    all.push({ totals });
    groups += by.length;
    for (const group of by) yield { account, group, totals: group.totals };
  }
  if (groups > 1) yield { account: 'total', group: undefined, totals: sumOf(all) };
}

function groupTable(
  rows: Iterable<AccountUsage>,
  by: Grouping,
  options: { width?: number | undefined; style?: Style; account?: boolean; zone: Zone },
): string[] {
  const withOwner = options.account === true && by !== 'account';
  const columns: Column<GroupRow>[] = MEMBERS[by].map((member, index) => ({
    title: member.toUpperCase(),
    value: ({ group }) => {
      if (group === undefined) return index === 0 && !withOwner ? 'total' : '';
      return groupText(member, group[member], options.zone);
    },
    ...CUT[member],
  }));
  const owner: Column<GroupRow>[] = withOwner
    ? [{ title: 'ACCOUNT', value: ({ account }) => clean(account) }]
    : [];
  return table(withTotal(rows), [...owner, ...columns, ...TOTALS], {
    ...options,
    optional: OPTIONAL,
  });
}

function groupText(member: string, value: unknown, zone: Zone): string {
  if (typeof value !== 'string') return '-';
  if (member !== 'day' && member !== 'hour') return clean(value);
  const text = shownIso(value, zone);
  return member === 'day' ? text.slice(0, 10) : text;
}

/** A row of the summary. The last row is the total, which has no account. */
type SummaryRow = Counted & Partial<AccountUsage>;

function countOrNone(count: number | null | undefined): string {
  if (count === undefined) return '';
  return count === null ? '-' : formatCount(count);
}

/** `accounts` is read once; only the summaries and the cells of the groups are kept. */
function plainTables(accounts: Iterable<LimitedUsage>, by: Grouping | undefined, zone: Zone): string[] {
  if (by === undefined) {
    const rows = [...accounts];
    return [...summaryTable(rows, zone), ...otherLimits(rows, zone)];
  }
  const summaries: LimitedUsage[] = [];
  function* summarized(): Iterable<AccountUsage> {
    for (const account of accounts) {
      summaries.push({ ...account, hours: [], by: [] });
      yield account;
    }
  }
  const groups = groupTable(summarized(), by, { account: true, zone });
  const tables = [...summaryTable(summaries, zone), ...otherLimits(summaries, zone)];
  return [...tables, ...(summaries.length === 0 ? [] : ['', ...groups])];
}

function summaryTable(rows: readonly AccountUsage[], zone: Zone): string[] {
  if (rows.length === 0) return NO_ACCOUNTS;
  const all: SummaryRow[] = rows.length > 1 ? [...rows, { totals: sumOf(rows) }] : [...rows];
  return table<SummaryRow>(all, [
    { title: 'ACCOUNT', value: ({ account }) => (account === undefined ? 'total' : clean(account)) },
    { title: 'TIER', value: ({ tier = '' }) => clean(tier) },
    { title: 'USED', value: ({ used }) => (used === undefined ? '' : formatCount(used)), align: 'right' },
    { title: 'LIMIT', value: ({ limit }) => countOrNone(limit), align: 'right' },
    { title: 'LEFT', value: ({ remaining }) => countOrNone(remaining), align: 'right' },
    {
      title: timeTitle('RESETS', zone),
      value: ({ resets_at: at }) => (at === undefined ? '' : shownIso(at, zone)),
    },
    ...TOTALS,
  ]);
}

const CSV_TOTALS = [
  'requests',
  'errors',
  'unknown',
  'unpriced',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'cost_usd',
] as const satisfies readonly (keyof PrintedTotals)[];
/** Behind all others: scripts may read columns by their number. */
const CSV_MISSES = ['cache_misses', 'cache_miss_tokens', 'cache_miss_cost_usd'] as const;

/** RFC 4180, with the names that `--json` has: the names, then a line for each group or for the account. Times in UTC. */
export function usageCsv(by: Grouping | undefined): { head: string; lines: (row: AccountUsage) => string[] } {
  const members = by === undefined || by === 'account' ? [] : MEMBERS[by];
  return {
    head: csvLine([
      'account',
      ...members,
      ...CSV_TOTALS,
      'first_byte_p50_ms',
      'first_byte_p95_ms',
      ...CSV_MISSES,
    ]),
    lines: ({ account, totals, by: groups = [] }) =>
      (by === undefined ? [{ totals }] : groups).map((group: Counted & Record<string, unknown>) =>
        csvLine([
          account,
          ...members.map((member) => group[member]),
          ...CSV_TOTALS.map((name) => group.totals[name]),
          group.totals.first_byte_ms?.p50,
          group.totals.first_byte_ms?.p95,
          ...CSV_MISSES.map((name) => group.totals[name]),
        ]),
      ),
  };
}
