// Draws one frame of `gateway top` as lines: what is under way, targets, accounts near their limit, conversations with their spend.
import { shortId as shortConversation } from '../../conversations/names.ts';
import type { LiveConversation } from '../../observe/conversations.ts';
import type { LiveFrame, LiveTarget } from '../../observe/live.ts';
import type { LiveRequest } from '../../observe/under-way.ts';
import { plural } from '../../plural.ts';
import { meter } from './chart.ts';
import { formatElapsed } from '../../elapsed.ts';
import {
  clean,
  formatCost,
  formatCount,
  formatDuration,
  formatShort,
  inSentence,
  shownSecond,
  timeTitle,
  type Style,
  type Zone,
} from './style.ts';
import { truncate } from '../../display-width.ts';
import { table, wrapWords, type Column } from './table.ts';

/** Requests of an account in this hour. */
export interface AccountHour {
  account: string;
  used: number;
  /** null: no limit. */
  limit: number | null;
}

export interface TopData {
  gateway: { pid: number; version: string; since: string; urls: readonly string[] };
  frame: LiveFrame;
  /** Nearest to the limit first. */
  accounts: readonly AccountHour[];
}

interface Canvas {
  /** undefined: a pipe, so nothing is shortened. */
  width: number | undefined;
  /** Lines of the terminal; undefined: no limit. */
  height: number | undefined;
  style: Style;
  zone: Zone;
}

/** `14:30:05` */
const clockOf = (at: number, zone: Zone): string => shownSecond(at, zone).slice(11);

interface Section {
  title: string;
  /** The first line has the titles of the columns. */
  lines: readonly string[];
  /** Rows that are not among the lines. */
  more: number;
}

export function topLines(data: TopData, canvas: Canvas): string[] {
  const { width, height, style } = canvas;
  const head = headLines(data, canvas);
  const sections = [
    requestSection(data.frame, canvas),
    targetSection(data.frame.targets, canvas),
    accountSection(data.accounts, canvas),
    conversationSection(data.frame.conversations, canvas),
  ].filter(({ lines }) => lines.length > 0);
  const room = height === undefined ? Infinity : Math.max(0, height - head.length);
  const body = fitted(sections, room).flatMap(({ title, lines, more }) => [
    '',
    style.bold(title),
    ...lines,
    ...(more > 0 ? [style.dim(`… and ${formatCount(more)} more`)] : []),
  ]);
  const shown = [...head, ...body].slice(0, height ?? Infinity);
  return width === undefined ? shown : shown.map((line) => line.trimEnd());
}

/** Takes rows from the longest sections until all fit. */
function fitted(sections: readonly Section[], room: number): Section[] {
  const result = sections.map((section) => ({ ...section }));
  const height = ({ lines, more }: Section): number => lines.length + (more > 0 ? 3 : 2);
  while (result.reduce((sum, section) => sum + height(section), 0) > room) {
    const longest = result.reduce((most, section) => (weightOf(section) > weightOf(most) ? section : most));
    if (weightOf(longest) === 0) break;
    longest.lines = longest.lines.slice(0, -1);
    longest.more += 1;
  }
  return result;
}

/** Requests under way keep twice as many rows as the others, and every section keeps one. */
function weightOf({ title, lines }: Section): number {
  if (lines.length <= 2) return 0;
  return title === UNDER_WAY ? lines.length / 2 : lines.length;
}

const UNDER_WAY = 'UNDER WAY';

function headLines({ gateway, frame }: TopData, { width, style, zone }: Canvas): string[] {
  const { totals } = frame;
  const now = Date.parse(frame.at);
  const who = [
    style.bold(`gateway ${clean(gateway.version)}`),
    `pid ${gateway.pid}`,
    ...gateway.urls.slice(0, 1).map(clean),
    `up ${formatDuration(now - Date.parse(gateway.since))}`,
    inSentence(clockOf(now, zone), zone),
  ];
  const rate = frame.requests.reduce((sum, request) => sum + (request.tokens_per_second ?? 0), 0);
  const what = [
    `${formatCount(frame.in_flight)} in flight`,
    `${formatCount(Math.round(rate))} tokens/s`,
    plural(totals.requests, 'request', formatCount(totals.requests)),
    plural(totals.errors, 'error', formatCount(totals.errors)),
    `${formatCount(totals.refused)} refused`,
    `${formatShort(totals.output_tokens)} tokens out`,
    ...(totals.cost_usd > 0 ? [formatCost(totals.cost_usd)] : []),
  ];
  return [...wrapWords(who, ' · ', width), ...wrapWords(what, ' · ', width)];
}

type Sized<Row> = Column<Row> & { from?: number };

/** The columns that fit the terminal. */
function section<Row>(
  title: string,
  rows: readonly Row[],
  columns: readonly Sized<Row>[],
  { width, style }: Canvas,
  more = 0,
): Section {
  const shown = columns.filter(({ from = 0 }) => from <= (width ?? Infinity));
  return { title, lines: rows.length === 0 ? [] : table(rows, shown, { width, style }), more };
}

const SHORT_ID = 10;

function requestSection({ requests, in_flight: all }: LiveFrame, canvas: Canvas): Section {
  const columns: Sized<LiveRequest>[] = [
    { title: 'ACCOUNT', value: ({ account }) => clean(account), shrinks: true, from: 70 },
    { title: 'MODEL', value: modelText, shrinks: true },
    {
      title: 'STATE',
      value: ({ state, stream }) => (stream || state === 'waiting' ? state : 'sending'),
      from: 80,
    },
    { title: 'AGE', value: ({ age_ms: age }) => formatElapsed(age), align: 'right', least: 5 },
    { title: 'TOKENS', value: ({ output_tokens: count }) => estimate(count), align: 'right' },
    { title: 'TOK/S', value: ({ tokens_per_second: rate }) => rateText(rate), align: 'right', least: 5 },
    { title: 'ID', value: ({ id }) => shortId(id, canvas.width), from: 60 },
  ];
  return section(UNDER_WAY, requests, columns, canvas, all - requests.length);
}

const shortId = (id: string, width: number | undefined): string =>
  width === undefined ? clean(id) : clean(id).replace(/^req_/, '').slice(0, SHORT_ID);
const estimate = (count: number | null): string => (count === null ? '-' : `~${formatShort(count)}`);
const rateText = (rate: number | null): string => (rate === null ? '-' : rate.toFixed(rate < 10 ? 1 : 0));

function modelText({ model_asked: asked, target }: LiveRequest): string {
  if (target === null) return clean(asked);
  return clean(asked === target || target.endsWith(`/${asked}`) ? target : `${asked} → ${target}`);
}

const STATE_PAINTS = { healthy: 'green', cooling: 'yellow', failing: 'red' } as const;

function targetSection(targets: readonly LiveTarget[], canvas: Canvas): Section {
  const rank = ({ state }: LiveTarget): number => (state === 'failing' ? 0 : state === 'cooling' ? 1 : 2);
  const rows = [...targets].sort((a, b) => rank(a) - rank(b) || b.in_flight - a.in_flight);
  return section<LiveTarget>(
    'TARGETS',
    rows,
    [
      { title: 'TARGET', value: ({ target }) => clean(target), shrinks: true },
      { title: 'STATE', value: ({ state }) => ({ text: state, paint: STATE_PAINTS[state] }), least: 7 },
      {
        title: 'AGAIN IN',
        value: ({ wait_ms: wait }) => (wait > 0 ? formatElapsed(wait) : ''),
        align: 'right',
      },
      { title: 'IN FLIGHT', value: ({ in_flight: count }) => formatCount(count), align: 'right' },
      { title: 'FIRST BYTE', value: ({ first_byte_ms: ms }) => formatElapsed(ms), align: 'right' },
    ],
    canvas,
  );
}

const METER = 16;

function accountSection(accounts: readonly AccountHour[], canvas: Canvas): Section {
  const bar = ({ used, limit }: AccountHour): string => (limit === null ? '' : meter(used, limit, METER));
  return section<AccountHour>(
    'ACCOUNTS THIS HOUR',
    accounts,
    [
      { title: 'ACCOUNT', value: ({ account }) => clean(account), shrinks: true },
      { title: 'USED', value: ({ used }) => formatCount(used), align: 'right' },
      { title: 'LIMIT', value: ({ limit }) => (limit === null ? '-' : formatCount(limit)), align: 'right' },
      { title: '', value: (row) => ({ text: bar(row), paint: levelOf(row) }) },
    ],
    canvas,
  );
}

const NEAR = 0.8;

function levelOf({ used, limit }: AccountHour): 'green' | 'yellow' | 'red' {
  const share = limit === null ? 0 : used / limit;
  return share >= 1 ? 'red' : share >= NEAR ? 'yellow' : 'green';
}

function conversationSection(conversations: readonly LiveConversation[], canvas: Canvas): Section {
  return section<LiveConversation>(
    'CONVERSATIONS OF THE LAST 1,000 REQUESTS',
    conversations,
    [
      { title: 'ACCOUNT', value: ({ account }) => clean(account), shrinks: true },
      { title: 'MODEL', value: ({ model }) => clean(model), shrinks: true },
      { title: 'CONV', value: ({ conversation }) => clean(shortConversation(conversation)), from: 80 },
      { title: 'REQUESTS', value: ({ requests }) => formatCount(requests), align: 'right' },
      { title: 'IN', value: (row) => formatShort(row.input_tokens), align: 'right', from: 70 },
      { title: 'OUT', value: (row) => formatShort(row.output_tokens), align: 'right', from: 70 },
      { title: 'COST', value: ({ cost_usd: cost }) => formatCost(cost), align: 'right' },
      {
        title: timeTitle('LAST', canvas.zone),
        value: ({ last_at: at }) => clockOf(Date.parse(at), canvas.zone),
      },
    ],
    canvas,
  );
}

/** A line that says how to leave, at the bottom of a full screen. */
export const footer = ({ width, style }: Pick<Canvas, 'width' | 'style'>): string =>
  style.dim(truncate('q quits; gateway requests ID shows one request', width ?? Infinity));
