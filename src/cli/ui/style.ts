// How commands write: the one place that decides about colour, and the one where strangers' text is made harmless.
import type { Context, Environment, Terminal } from '../context.ts';

type Paint = (text: string) => string;

export type Style = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', Paint>;

const asIs: Paint = (text) => text;

export const plainStyle: Style = { bold: asIs, dim: asIs, red: asIs, green: asIs, yellow: asIs, cyan: asIs };

/** A terminal whose reader wants colour and movement: not a pipe, not CI, not under NO_COLOR. */
export function isInteractive(terminal: Terminal, env: Environment): boolean {
  const wanted = !env['NO_COLOR'] && (!env['CI'] || env['CI'] === 'false') && env['TERM'] !== 'dumb';
  return terminal.isTTY === true && wanted;
}

/** The sixteen colours of the user's own theme, or none. chalk itself is loaded only where it has something to do. */
export async function createStyle(terminal: Terminal, env: Environment): Promise<Style> {
  if (!isInteractive(terminal, env)) return plainStyle;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const { bold, dim, red, green, yellow, cyan } = chalk;
  return { bold, dim, red, green, yellow, cyan };
}

// Controls, and the invisible characters that turn the direction of the text around them.
// eslint-disable-next-line no-control-regex -- they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Names and labels may hold anything: what a terminal would obey is shown as an escape. */
export function clean(text: string): string {
  return text.replace(UNSAFE, escaped);
}

const LONGEST = 1000;
const HEAD = 500;
const TAIL = 300;

/** A value that was given may be of any length: what it is and how to mend it stand at the ends of the line. */
export function shortened(line: string): string {
  if (line.length <= LONGEST) return line;
  const left = line.length - HEAD - TAIL;
  return `${line.slice(0, HEAD)}… (${left} more characters) …${line.slice(-TAIL)}`;
}

/** A name as one word of a command line, ready to be pasted. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** One JSON document on stdout, nothing else. */
export function printJson(context: Context, value: unknown): void {
  // Line breaks are JSON.stringify's own; all others it has escaped already, but not DEL, C1 and direction marks.
  const text = JSON.stringify(value, null, 2).replace(UNSAFE, (char) =>
    char === '\n' ? char : escaped(char),
  );
  context.stdout.write(`${text}\n`);
}

export function printLines(terminal: Terminal, lines: readonly string[]): void {
  if (lines.length > 0) terminal.write(`${lines.join('\n')}\n`);
}

/** Columns that may be filled; undefined where nothing limits them (a pipe, a terminal that does not say). */
export function widthOf(terminal: Terminal): number | undefined {
  return terminal.isTTY === true && terminal.columns ? terminal.columns : undefined;
}

// The first format of a process costs 17 ms and 7 MiB: made where one is written, so that `serve` makes none.
let counts: Intl.NumberFormat | undefined;
let short: Intl.NumberFormat | undefined;

export function formatCount(count: number): string {
  counts ??= new Intl.NumberFormat('en-US');
  return counts.format(count);
}

/** `1 request`, `2 requests`. */
export const plural = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `1.2M` */
export function formatShort(count: number): string {
  short ??= new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
  return short.format(count);
}

/** Null is unknown, never free. */
export function formatCost(usd: number | null): string {
  if (usd === null) return '-';
  return `$${usd.toFixed(usd !== 0 && usd < 1 ? 4 : 2)}`;
}

/** `12m`: the largest unit that is whole at least once. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${formatCount(Math.floor(seconds / 86_400))}d`;
}

/** ISO 8601 in UTC, or null. */
export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** `2026-11-21 14:30`, UTC, for people. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}
