// Output of commands: colour, escaping of untrusted text, JSON, and the formats of numbers, durations, times and their zones.
import type { Environment } from '../../environment.ts';
import type { Context, Terminal } from '../context.ts';
import { plural } from '../../plural.ts';

type Paint = (text: string) => string;

export type Style = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', Paint>;

const unchanged: Paint = (text) => text;

export const plainStyle: Style = {
  bold: unchanged,
  dim: unchanged,
  red: unchanged,
  green: unchanged,
  yellow: unchanged,
  cyan: unchanged,
};

/** Whether to use colour and animation: on a terminal, but not in CI and not with NO_COLOR. */
export function isInteractive(terminal: Terminal, env: Environment): boolean {
  const wanted = !env['NO_COLOR'] && (!env['CI'] || env['CI'] === 'false') && env['TERM'] !== 'dumb';
  return terminal.isTTY === true && wanted;
}

/** The sixteen colours of the terminal's theme, or no colours. chalk is loaded only if it is used. */
export async function createStyle(terminal: Terminal, env: Environment): Promise<Style> {
  if (!isInteractive(terminal, env)) return plainStyle;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const { bold, dim, red, green, yellow, cyan } = chalk;
  return { bold, dim, red, green, yellow, cyan };
}

// Control characters, and invisible characters that change the direction of text.
// eslint-disable-next-line no-control-regex -- the pattern must match control characters
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const UNSAFE_IN_JSON = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes characters that control a terminal: names and labels may contain them. */
export function clean(text: string): string {
  return text.replace(UNSAFE, escaped);
}

const MAX_LINE = 1000;
const HEAD = 500;
const TAIL = 300;

/** Cuts the middle of a long line: the problem and its correction are at the ends, a value of any length between them. */
export function shortened(line: string): string {
  if (line.length <= MAX_LINE) return line;
  const cut = line.length - HEAD - TAIL;
  return `${line.slice(0, HEAD)}… (${plural(cut, 'more character')}) …${line.slice(-TAIL)}`;
}

/** Quotes a name for a shell, if necessary. It stays on one line. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${clean(text).replaceAll("'", `'\\''`)}'`;
}

/** Prints one JSON document on stdout. */
export function printJson(context: Context, value: unknown): void {
  context.stdout.write(`${jsonText(value)}\n`);
}

/** Prints the values as one JSON array, each as it comes: a long report needs the memory of one of them. For a program, each is one
 *  line: half of the bytes and of the time. */
export function printJsonArray({ stdout }: Context, values: Iterable<unknown>): void {
  let before = '[\n';
  for (const value of values) {
    const text = stdout.isTTY ? jsonText([value]).slice('[\n'.length, -'\n]'.length) : jsonLine(value);
    stdout.write(before + text);
    before = ',\n';
  }
  stdout.write(before === ',\n' ? '\n]\n' : '[]\n');
}

// JSON.stringify escapes control characters, but not DEL, C1 and direction marks. Line breaks here are its own.
const jsonText = (value: unknown): string => JSON.stringify(value, null, 2).replace(UNSAFE_IN_JSON, escaped);

const jsonLine = (value: unknown): string => JSON.stringify(value).replace(UNSAFE, escaped);

/** Prints one JSON document on a line of its own. */
export function printJsonLine(context: Context, value: unknown): void {
  context.stdout.write(`${jsonLine(value)}\n`);
}

export function printLines(terminal: Terminal, lines: readonly string[]): void {
  if (lines.length > 0) terminal.write(`${lines.join('\n')}\n`);
}

/** The width of the terminal; undefined: no limit (a pipe, or a terminal of unknown width). */
export function widthOf(terminal: Terminal): number | undefined {
  return terminal.isTTY === true && terminal.columns ? terminal.columns : undefined;
}

// Created at first use, because the first NumberFormat of a process costs time and memory that `serve` can save.
let counts: Intl.NumberFormat | undefined;
let short: Intl.NumberFormat | undefined;

/** `1,234,567`. A report formats hundreds of thousands of counts. */
function grouped(count: number): string {
  let text = '';
  let left = count;
  for (; left >= 1000; left = Math.floor(left / 1000))
    text = `,${String(left % 1000).padStart(3, '0')}${text}`;
  return left + text;
}

export function formatCount(count: number): string {
  if (count >= 0 && Number.isSafeInteger(count)) return grouped(count);
  counts ??= new Intl.NumberFormat('en-US');
  return counts.format(count);
}

/** `1.2M` */
export function formatShort(count: number): string {
  short ??= new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
  return short.format(count);
}

/** null: unknown, which is not free. */
export function formatCost(usd: number | null): string {
  if (usd === null) return '-';
  return `$${usd.toFixed(usd !== 0 && usd < 1 ? 4 : 2)}`;
}

/** `12m`: whole units of the largest unit that fits at least once. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${formatCount(Math.floor(seconds / 86_400))}d`;
}

/** The times that a person reads: UTC or those of this machine. */
export interface Zone {
  name: string;
  /** Milliseconds to add to a time, so that the same time in UTC reads as a local one. */
  offset(at: number): number;
}

export const UTC: Zone = { name: 'UTC', offset: () => 0 };

export const LOCAL: Zone = {
  name: 'local time',
  offset: (at) => -60_000 * new Date(at).getTimezoneOffset(),
};

/** Of the times that a command shows: what reads a pipe may not know the zone of this machine. */
export const zoneOf = ({ stdout, utc }: Pick<Context, 'stdout' | 'utc'>): Zone =>
  stdout.isTTY === true && utc !== true ? LOCAL : UTC;

/** `2026-11-21 14:30:05` */
export const shownSecond = (at: number, zone: Zone): string =>
  new Date(at + zone.offset(at)).toISOString().slice(0, 19).replace('T', ' ');

/** `2026-11-21 14:30` */
export const shown = (at: number, zone: Zone): string => shownSecond(at, zone).slice(0, 16);

/** In a sentence: with `UTC`, or without a zone for that of this machine. */
export const inSentence = (time: string, zone: Zone): string => (zone === UTC ? `${time} UTC` : time);

/** A time in a sentence of a command. */
export function timeText(at: number, context: Pick<Context, 'stdout' | 'utc'>): string {
  const zone = zoneOf(context);
  return inSentence(shown(at, zone), zone);
}

/** The title of a column of times. */
export const timeTitle = (title: string, zone: Zone): string => (zone === UTC ? `${title} (UTC)` : title);

/** The same of an ISO time in UTC. */
export const shownIso = (iso: string, zone: Zone): string =>
  zone === UTC ? iso.slice(0, 16).replace('T', ' ') : shown(Date.parse(iso), zone);
