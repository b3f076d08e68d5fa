// Prints usage for people: on a terminal, a block for each account with a meter and a chart; in a pipe, tables.
import type { AccountUsage, PrintedTotals } from '../../accounts/usage-report.ts';
import type { Grouping } from '../../store/store.ts';
import { chart, meter } from './chart.ts';
import type { Context } from '../context.ts';
import {
  clean,
  createStyle,
  formatCost,
  formatCount,
  formatDuration,
  formatShort,
  formatTime,
  printLines,
  widthOf,
  type Style,
} from './style.ts';
import { displayWidth, table, truncate, wrapWords, type Column } from './table.ts';
import { plural } from '../../plural.ts';

interface Window {
  since: number;
  by: Grouping | undefined;
}

interface Canvas {
  width: number;
  style: Style;
  now: number;
  /** Lines of a chart: more if there are fewer accounts. */
  height: number;
}

export async function printUsage(
  rows: readonly AccountUsage[],
  window: Window,
  context: Context,
): Promise<void> {
  const { stdout, env, clock } = context;
  if (rows.length === 0) {
    printLines(stdout, [
      'No accounts yet. Create one with its first key: gateway keys create --account NAME',
    ]);
    return;
  }
  if (stdout.isTTY !== true) {
    printLines(stdout, plainTables(rows, window.by));
    return;
  }
  const canvas: Canvas = {
    width: Math.max(20, widthOf(stdout) ?? 80),
    style: await createStyle(stdout, env),
    now: clock.now(),
    height: heightFor(rows.length === 1 ? 1 : rows.filter(isActive).length),
  };
  const since = `since ${formatTime(Date.parse(rows[0]?.hours[0]?.hour ?? ''))}`;
  const head = wrapWords([since, 'times in UTC'], ', ', canvas.width).map((line) => canvas.style.dim(line));
  const several = rows.length > 1;
  printLines(stdout, [
    ...head,
    ...rows
      .filter((row) => !several || isActive(row))
      .flatMap((row) => ['', ...block(row, window.by, canvas)]),
    ...(several ? [...allLines(rows, canvas), ...idleLines(rows, canvas)] : []),
  ]);
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

function sumOf(rows: readonly AccountUsage[]): PrintedTotals {
  const sum = (value: (totals: PrintedTotals) => number): number =>
    rows.reduce((total, { totals }) => total + value(totals), 0);
  const priced = rows.some(({ totals }) => totals.cost_usd !== null);
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    unknown: sum(({ unknown }) => unknown),
    unpriced: sum(({ unpriced }) => unpriced),
    input_tokens: sum((totals) => totals.input_tokens),
    output_tokens: sum((totals) => totals.output_tokens),
    cost_usd: priced ? sum((totals) => totals.cost_usd ?? 0) : null,
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

function block(row: AccountUsage, by: Grouping | undefined, canvas: Canvas): string[] {
  const { style } = canvas;
  const width = canvas.width - INDENT.length;
  const tier = clean(row.tier);
  const name = truncate(clean(row.account), Math.max(8, canvas.width - displayWidth(tier) - 2));
  const hours = row.hours.map(({ hour, requests }) => ({ hour: Date.parse(hour), requests }));
  const bars = chart(hours, { height: canvas.height, width, limit: row.limit ?? Infinity, style });
  const idle = hours.every(({ requests }) => requests === 0);
  const split =
    by === undefined || row.by?.length === 0 ? [] : ['', ...groupTable([row], by, { width, style })];
  return [
    `${style.bold(name)}  ${style.dim(tier)}`,
    ...[
      ...limitLines(row, width, canvas),
      ...(idle ? [style.dim('no requests in this window')] : ['', ...bars, '']),
      ...wrapWords(totalsWords(row.totals), ' · ', width),
      ...split,
    ].map((line) => (line === '' ? '' : INDENT + line)),
  ];
}

/** The meter and its text: side by side if there is room, else below each other. */
function limitLines(row: AccountUsage, width: number, { style, now }: Canvas): string[] {
  if (row.limit === null || row.remaining === null) return [`${formatCount(row.used)} this hour, no limit`];
  const resets = Date.parse(row.resets_at);
  const words = [
    `${formatCount(row.used)} of ${formatCount(row.limit)} this hour`,
    `${formatCount(row.remaining)} left`,
    `resets in ${formatDuration(resets - now)} at ${row.resets_at.slice(11, 16)}`,
  ];
  const text = words.join(', ');
  const room = width - text.length - 2;
  if (room >= 10) return [`${meter(row.used, row.limit, Math.min(24, room), style)}  ${text}`];
  return [meter(row.used, row.limit, Math.min(24, width), style), ...wrapWords(words, ', ', width)];
}

function totalsWords(totals: PrintedTotals): string[] {
  return [
    plural(totals.requests, 'request', formatCount(totals.requests)),
    plural(totals.errors, 'error', formatCount(totals.errors)),
    `${plural(totals.input_tokens, 'token', formatShort(totals.input_tokens))} in`,
    `${formatShort(totals.output_tokens)} out`,
    ...(totals.unknown > 0 ? [`${formatCount(totals.unknown)} of unknown usage`] : []),
    ...(totals.cost_usd === null ? [] : [costText(totals)]),
  ];
}

type Counted = { totals: PrintedTotals };

const TOTALS: readonly Column<Counted>[] = [
  { title: 'REQUESTS', value: ({ totals }) => formatCount(totals.requests), align: 'right' },
  {
    title: 'ERRORS',
    value: ({ totals }) => ({
      text: formatCount(totals.errors),
      paint: totals.errors > 0 ? 'red' : undefined,
    }),
    align: 'right',
  },
  { title: 'UNKNOWN', value: ({ totals }) => formatCount(totals.unknown), align: 'right' },
  { title: 'INPUT', value: ({ totals }) => formatCount(totals.input_tokens), align: 'right' },
  { title: 'OUTPUT', value: ({ totals }) => formatCount(totals.output_tokens), align: 'right' },
  { title: 'COST', value: ({ totals }) => costText(totals), align: 'right' },
];

const MEMBERS = {
  account: ['account'],
  key: ['key', 'name'],
  model: ['model', 'provider'],
  provider: ['provider'],
  hour: ['hour'],
  day: ['day'],
} as const satisfies Record<Grouping, readonly string[]>;

type GroupRow = Counted & { account: string; group: Record<string, unknown> };

function groupTable(
  rows: readonly AccountUsage[],
  by: Grouping,
  options: { width?: number | undefined; style?: Style; account?: boolean },
): string[] {
  const groups: GroupRow[] = rows.flatMap(({ account, by: found = [] }) =>
    found.map(({ totals, ...group }) => ({ account, group, totals })),
  );
  const columns: Column<GroupRow>[] = MEMBERS[by].map((member) => ({
    title: member.toUpperCase(),
    value: ({ group }) => groupText(member, group[member]),
    shrinks: member !== 'key',
  }));
  const owner: Column<GroupRow>[] =
    options.account && by !== 'account' ? [{ title: 'ACCOUNT', value: ({ account }) => clean(account) }] : [];
  return table(groups, [...owner, ...columns, ...TOTALS], options);
}

function groupText(member: string, value: unknown): string {
  if (typeof value !== 'string') return '-';
  if (member === 'day') return value.slice(0, 10);
  return member === 'hour' ? formatTime(Date.parse(value)) : clean(value);
}

/** A row of the summary. The last row is the total, which has no account. */
type SummaryRow = Counted & Partial<AccountUsage>;

function countOrNone(count: number | null | undefined): string {
  if (count === undefined) return '';
  return count === null ? '-' : formatCount(count);
}

function plainTables(rows: readonly AccountUsage[], by: Grouping | undefined): string[] {
  const all: SummaryRow[] = rows.length > 1 ? [...rows, { totals: sumOf(rows) }] : [...rows];
  const summary = table<SummaryRow>(all, [
    { title: 'ACCOUNT', value: ({ account }) => (account === undefined ? 'total' : clean(account)) },
    { title: 'TIER', value: ({ tier = '' }) => clean(tier) },
    { title: 'USED', value: ({ used }) => (used === undefined ? '' : formatCount(used)), align: 'right' },
    { title: 'LIMIT', value: ({ limit }) => countOrNone(limit), align: 'right' },
    { title: 'LEFT', value: ({ remaining }) => countOrNone(remaining), align: 'right' },
    {
      title: 'RESETS (UTC)',
      value: ({ resets_at: at }) => (at === undefined ? '' : formatTime(Date.parse(at))),
    },
    ...TOTALS,
  ]);
  return by === undefined ? summary : [...summary, '', ...groupTable(rows, by, { account: true })];
}
