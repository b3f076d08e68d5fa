// Prints limits for people: a row for each limit, with a bar on a terminal, and the grants that add to them.
import { type AccountLimits, hourlyGrant } from '../../../accounts/limits-report.ts';
import type { AccountUsage } from '../../../accounts/usage-report.ts';
import type { Standing } from '../../../store/holds/holds.ts';
import { countedText, groupedText, limitText } from '../../../tier.ts';
import type { Context } from '../../context.ts';
import { meter, meterCell } from '../../ui/chart.ts';
import {
  clean,
  createStyle,
  formatCount,
  formatDuration,
  inSentence,
  plainStyle,
  shown,
  type Style,
  timeTitle,
  widthOf,
  type Zone,
  zoneOf,
} from '../../ui/style.ts';
import { type Column, table, wrapWords } from '../../ui/table.ts';

const BAR = 12;
/** Columns of `5 USD a day + 2.5 USD`. */
const SHORTEST = 22;
/** Columns that a narrow terminal leaves out, the first ones first. */
const OPTIONAL = [['TIER'], ['ESTIMATED'], ['HELD'], ['BAR']];

interface Row {
  account: string;
  tier: string;
  standing: Standing;
}

interface Canvas {
  width: number | undefined;
  style: Style;
  zone: Zone;
  now: number;
}

export async function limitsLines(found: readonly AccountLimits[], context: Context): Promise<string[]> {
  const { stdout, env, clock } = context;
  if (found.length === 0)
    return ['No accounts yet. Create one with its first key: gateway keys create --account NAME'];
  const style = await createStyle(stdout, env);
  const canvas = { width: widthOf(stdout), style, zone: zoneOf(context) };
  const free = found.filter(({ standings }) => standings.length === 0);
  const groups = [
    limitTable(found, { ...canvas, ...(stdout.isTTY === true && { now: clock.now() }) }),
    free.length === 0 ? [] : [`no limit: ${free.map(({ account }) => clean(account.name)).join(', ')}`],
    grantTable(found, canvas),
  ].filter((lines) => lines.length > 0);
  return groups.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

/** No line if nothing is limited. `now`: on a terminal, which gets bars. */
function limitTable(
  found: readonly AccountLimits[],
  { width, style, zone, now }: Pick<Canvas, 'width' | 'style' | 'zone'> & { now?: number },
): string[] {
  const rows = found.flatMap(({ account, standings }) =>
    standings.map((standing): Row => ({ account: clean(account.name), tier: clean(account.tier), standing })),
  );
  if (rows.length === 0) return [];
  const isEstimated = rows.some(({ standing }) => standing.estimated > 0);
  const bar: Column<Row>[] = [{ title: 'BAR', value: ({ standing }) => barOf(standing) }];
  const columns: Column<Row>[] = [
    { title: 'ACCOUNT', value: ({ account }) => account, shrinks: true },
    { title: 'TIER', value: ({ tier }) => tier },
    { title: 'LIMIT', value: ({ standing }) => withGrants(standing), shrinks: true, shortest: SHORTEST },
    ...(now === undefined ? [] : bar),
    { title: 'SPENT', value: ({ standing }) => spentText(standing), align: 'right' },
    ...(isEstimated ? [amount('ESTIMATED', ({ estimated }) => estimated)] : []),
    amount('HELD', ({ held }) => held),
    amount('LEFT', leftOf),
    {
      title: now === undefined ? timeTitle('RESETS', zone) : 'RESETS',
      value: ({ standing: { resetsAt } }) =>
        now === undefined ? shown(resetsAt, zone) : `in ${formatDuration(resetsAt - now)}`,
    },
  ];
  return table(rows, columns, { width, style, optional: OPTIONAL });
}

const amount = (title: string, of: (standing: Standing) => number): Column<Row> => ({
  title,
  value: ({ standing }) => groupedText(standing.limit.kind, of(standing)),
  align: 'right',
});

const allOf = ({ limit, granted }: Standing): number => limit.most + granted;

function leftOf(standing: Standing): number {
  return Math.max(0, allOf(standing) - standing.spent - standing.held);
}

const barOf = (standing: Standing) => meterCell(standing.spent, allOf(standing), BAR);

/** `5 USD a day + 2 USD`. */
function withGrants({ limit, granted }: Standing): string {
  return limitText(limit) + (granted === 0 ? '' : ` + ${countedText(limit.kind, granted)}`);
}

/** `≥1.5`: some answers were of an unknown price, and count 0. */
function spentText({ limit: { kind }, spent, unpriced }: Standing): string {
  return (unpriced > 0 ? '≥' : '') + groupedText(kind, spent);
}

function grantTable(found: readonly AccountLimits[], { width, style, zone }: Omit<Canvas, 'now'>): string[] {
  const rows = found.flatMap(({ account, grants }) =>
    grants.map((grant) => ({ account: clean(account.name), grant })),
  );
  if (rows.length === 0) return [];
  return table(
    rows,
    [
      { title: 'GRANT', value: ({ grant }) => clean(grant.id) },
      { title: 'ACCOUNT', value: ({ account }) => account, shrinks: true },
      { title: 'ADDS', value: ({ grant: { kind, amount: added } }) => countedText(kind, added) },
      { title: timeTitle('UNTIL', zone), value: ({ grant: { until } }) => shown(until, zone) },
    ],
    { width, style },
  );
}

/** Of one limit, in a line beside its meter. */
function standingWords(standing: Standing, now: number, zone: Zone): string[] {
  const { limit, held, resetsAt, estimated } = standing;
  const { kind, per } = limit;
  return [
    `${spentText(standing)} of ${countedText(kind, allOf(standing))} this ${per}`,
    ...(estimated > 0 ? [`${groupedText(kind, estimated)} of it estimated`] : []),
    ...(held > 0 ? [`${groupedText(kind, held)} held`] : []),
    `${groupedText(kind, leftOf(standing))} left`,
    `resets in ${formatDuration(resetsAt - now)} at ${inSentence(shown(resetsAt, zone), zone)}`,
  ];
}

/** A row of `gateway usage`. */
export type LimitedUsage = AccountUsage & { standings: readonly Standing[] };

/** That of requests an hour first: it has its chart below. */
export function limitLines(
  row: LimitedUsage,
  width: number,
  { style, now, zone }: Omit<Canvas, 'width'>,
): string[] {
  const others = row.standings.filter(({ limit }) => limit.kind !== 'requests' || limit.per !== 'hour');
  const more = others.flatMap((standing) =>
    meterLines({
      words: standingWords(standing, now, zone),
      bar: (room) => meter(standing.spent, standing.limit.most + standing.granted, room, style),
      width,
    }),
  );
  if (row.limit === null || row.remaining === null) {
    const used = `${formatCount(row.used)} this hour`;
    return more.length === 0 ? [`${used}, no limit`] : [`${used}, no limit of requests an hour`, ...more];
  }
  const all = row.limit + hourlyGrant(row.standings);
  const resets = Date.parse(row.resets_at);
  const words = [
    `${formatCount(row.used)} of ${formatCount(all)} this hour`,
    `${formatCount(row.remaining)} left`,
    `resets in ${formatDuration(resets - now)} at ${shown(resets, zone).slice(11)}`,
  ];
  return [...meterLines({ words, bar: (room) => meter(row.used, all, room, style), width }), ...more];
}

/** The meter and its text: side by side if there is room, else below each other. */
function meterLines({
  words,
  bar,
  width,
}: {
  words: readonly string[];
  bar: (room: number) => string;
  width: number;
}): string[] {
  const text = words.join(', ');
  const room = width - text.length - 2;
  if (room >= 10) return [`${bar(Math.min(24, room))}  ${text}`];
  return [bar(Math.min(24, width)), ...wrapWords(words, ', ', width)];
}

/** The summary has those of requests an hour. */
export function otherLimits(rows: readonly LimitedUsage[], zone: Zone): string[] {
  const found = rows.map(({ account, tier, standings }) => ({
    account: { id: 0, name: account, tier },
    standings: standings.filter(({ limit }) => limit.kind !== 'requests' || limit.per !== 'hour'),
    grants: [],
  }));
  const lines = limitTable(found, { width: undefined, style: plainStyle, zone });
  return lines.length === 0 ? [] : ['', ...lines];
}
