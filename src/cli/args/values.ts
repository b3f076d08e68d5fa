// Parses values of options and arguments. An invalid value is wrong usage (exit code 2).
import { InvalidArgumentError } from 'commander';
import { availableParallelism } from 'node:os';
import { accountNameFault, nameFault } from '../../accounts/json.ts';
import { PERMISSIONS } from '../../canonical/request.ts';
import { DAY_MS } from '../../clock.ts';
import type { Permission } from '../../store/store.ts';
import { didYouMean } from '../../config/did-you-mean.ts';
import { CliError } from '../../cli-error.ts';
import { DURATION_UNITS, parseDuration } from '../../config/schema/scalars.ts';
import { parseAmount } from '../../config/schema/tier.ts';
import type { LimitKind } from '../../tier.ts';

/** A key's label: 1 to 128 visible characters, no space at either end. */
export const parseName = (text: string): string => withoutFault(text, nameFault(text));

export const parseAccount = (text: string): string => withoutFault(text, accountNameFault(text));

function withoutFault(text: string, fault: string | undefined): string {
  if (fault !== undefined) throw new InvalidArgumentError(fault);
  return text;
}

function parseList(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.some((item) => item === '')) throw new InvalidArgumentError('Give names separated by commas.');
  return [...new Set(items)];
}

export function parsePermissions(text: string): Permission[] {
  const names = parseList(text);
  const unknown = names.find((item) => !PERMISSIONS.some((permission) => permission === item));
  if (unknown !== undefined) {
    const near = didYouMean(unknown, PERMISSIONS);
    throw new InvalidArgumentError(
      `Unknown permission ${JSON.stringify(unknown)}; the permissions are ${PERMISSIONS.join(', ')}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    );
  }
  return PERMISSIONS.filter((permission) => names.includes(permission));
}

export function parseModels(text: string): string[] {
  return parseList(text).map((item) => {
    if (/\p{Cc}/u.test(item)) throw new InvalidArgumentError('A model name has no control characters.');
    return item;
  });
}

const HIGHEST_PORT = 65_535;

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= HIGHEST_PORT))
    throw new InvalidArgumentError(`A port is a whole number from 0 to ${HIGHEST_PORT}.`);
  return port;
}

const MOST_WORKERS = 64;

export function parseWorkers(text: string): number {
  const workers =
    text === 'auto' ? availableParallelism() : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(workers >= 1 && workers <= MOST_WORKERS))
    throw new InvalidArgumentError(
      `A number of workers is a whole number from 1 to ${MOST_WORKERS}, or auto.`,
    );
  return workers;
}

/** Where a path becomes part of another text (a unit, a line for a shell, YAML), a line break in it would begin a line of its own.
 *  Throws CliError. */
export function plainPath(file: string): string {
  if (!/[\p{Cc}\u2028\u2029]/u.test(file)) return file;
  throw new CliError(
    `the path ${JSON.stringify(file)} has a line break or another control character; rename it, or use another`,
  );
}

/** Collects an option that may be given several times. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

// Points in time: a duration (`30d`), or a date or time of ISO 8601, in UTC unless it has a zone.

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?$/i;

/** The first millisecond of the day; undefined: the calendar has no such day. */
function startOfDay(date: string): number | undefined {
  const at = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(date) ? undefined : at;
}

type Reading = { at: number; day?: true } | { duration: number };

function read(text: string): Reading | undefined {
  if (DATE.test(text)) {
    const at = startOfDay(text);
    return at === undefined ? undefined : { at, day: true };
  }
  const time = TIME.exec(text);
  if (time !== null) {
    const [, date = '', clock = '', zone = 'Z'] = time;
    const at = Date.parse(`${date}T${clock}${zone.toUpperCase()}`);
    return startOfDay(date) === undefined || Number.isNaN(at) ? undefined : { at };
  }
  const duration =
    LOOKS_LIKE_DURATION.test(text) && text === text.toLowerCase() ? parseDuration(text) : undefined;
  return duration === undefined ? undefined : { duration };
}

const LOOKS_LIKE_DURATION = /^\d[\da-z\s]*[a-z]$/i;
const UNITS = Object.keys(DURATION_UNITS).join(' ');
const FORMS =
  'a duration such as 30d, 1w or 1h30m, a date such as 2030-01-31, or a time such as 2030-01-31T18:00Z';

function mustRead(text: string): Reading {
  const reading = read(text.trim());
  if (reading === undefined) {
    const units = LOOKS_LIKE_DURATION.test(text.trim()) ? `; the units are ${UNITS}, in lower case` : '';
    throw new InvalidArgumentError(`Give ${FORMS}${units}.`);
  }
  return reading;
}

/** The time at which a key expires, after `now`. A date means the end of that day. */
export function parseExpiry(text: string, now: number): number {
  const reading = mustRead(text);
  let at: number;
  if ('duration' in reading) at = now + reading.duration;
  else at = reading.day ? reading.at + DAY_MS - 1 : reading.at;
  if (at <= now) throw new InvalidArgumentError('That is in the past.');
  if (at > LATEST)
    throw new InvalidArgumentError(
      'That is too far in the future; leave the option out for a key that never expires.',
    );
  return at;
}

const MAX_GRACE_MS = 366 * DAY_MS;

/** How long a replaced key stays valid, in milliseconds. */
export function parseGrace(text: string): number {
  if (text.trim() === '0') return 0;
  const reading = read(text.trim());
  if (reading === undefined || !('duration' in reading))
    throw new InvalidArgumentError('Give a duration such as 24h, 7d or 1h30m, or 0.');
  if (reading.duration > MAX_GRACE_MS) throw new InvalidArgumentError('That is more than a year.');
  return reading.duration;
}

const AMOUNTS: Readonly<Record<LimitKind, string>> = {
  requests: 'Give a whole number of 1 or more.',
  tokens: 'Give a whole number of 1 or more, such as 500k or 2M.',
  cost: 'Give USD, more than 0, with nine decimals at most.',
};

/** What is added to a limit. */
export const parseAmountOf =
  (kind: LimitKind) =>
  (text: string): number => {
    const amount = parseAmount(kind, text);
    if (amount === undefined) throw new InvalidArgumentError(AMOUNTS[kind]);
    return amount;
  };

const MAX_GRANT_MS = 366 * DAY_MS;

/** How long limits are raised, in milliseconds. */
export function parseGrantTime(text: string): number {
  const reading = read(text.trim());
  if (reading === undefined || !('duration' in reading) || reading.duration < 1)
    throw new InvalidArgumentError('Give a duration such as 2h, 7d or 1h30m.');
  if (reading.duration > MAX_GRANT_MS)
    throw new InvalidArgumentError('That is more than a year; another tier lasts: gateway tiers assign.');
  return reading.duration;
}

/** The last time that ISO 8601 writes with a year of four digits. */
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');
const MAX_WINDOW_MS = 5 * 366 * DAY_MS;

/** The start of a window, not after `now`. A date means the start of that day. */
export function parseSince(text: string, now: number): number {
  const reading = mustRead(text);
  const at = 'duration' in reading ? now - reading.duration : reading.at;
  if (at > now) throw new InvalidArgumentError('That is in the future.');
  if (at < now - MAX_WINDOW_MS) throw new InvalidArgumentError('That is more than five years ago.');
  return at;
}

/** Rows of a list. */
const HIGHEST_LIMIT = 10_000;

export function parseLimit(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > HIGHEST_LIMIT)
    throw new InvalidArgumentError(`Give a whole number from 1 to ${HIGHEST_LIMIT}.`);
  return limit;
}
