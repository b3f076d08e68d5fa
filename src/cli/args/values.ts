// Values of options and arguments, checked as they are read: what is wrong here is wrong usage.
import { InvalidArgumentError } from 'commander';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Permission } from '../../store/store.ts';
import { parseDuration } from '../../config/scalars.ts';

const LONGEST_NAME = 128;

/** Controls, halves of characters, and what takes no room on a screen or turns its direction. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/** An account's name or a key's label: 1 to 128 characters that can be seen, no space at either end. */
export function parseName(text: string): string {
  const length = [...text].length;
  if (length < 1 || length > LONGEST_NAME) {
    throw new InvalidArgumentError(`A name has 1 to ${LONGEST_NAME} characters; this has ${length}.`);
  }
  if (UNSEEN.test(text)) throw new InvalidArgumentError('A name has no control or zero-width characters.');
  if (text.trim() !== text) throw new InvalidArgumentError('A name has no space at its beginning or end.');
  return text;
}

function parseList(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.some((item) => item === '')) throw new InvalidArgumentError('Give names separated by commas.');
  return [...new Set(items)];
}

const PERMISSIONS: readonly Permission[] = PROTOCOL_NAMES;

export function parsePermissions(text: string): Permission[] {
  const asked = parseList(text);
  const foreign = asked.find((item) => !PERMISSIONS.some((permission) => permission === item));
  if (foreign !== undefined) {
    throw new InvalidArgumentError(
      `Unknown permission ${JSON.stringify(foreign)}; there are ${PERMISSIONS.join(' and ')}.`,
    );
  }
  return PERMISSIONS.filter((permission) => asked.includes(permission));
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

/** Collects an option that may be given several times. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

// Points in time on the command line: a duration (`30d`), a date or a time of ISO 8601, in UTC unless it says otherwise.

const DAY_MS = 86_400_000;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?$/i;

/** The first millisecond of a day that the calendar knows. */
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
  const duration = /^\d/.test(text) && /[a-z]$/i.test(text) ? parseDuration(text) : undefined;
  return duration === undefined ? undefined : { duration };
}

const FORMS =
  'a duration such as 30d, 1w or 1h30m, a date such as 2030-01-31, or a time such as 2030-01-31T18:00Z';

function mustRead(text: string): Reading {
  const reading = read(text.trim());
  if (reading === undefined) throw new InvalidArgumentError(`Give ${FORMS}.`);
  return reading;
}

/** When a key expires: after now; a date to its end. */
export function parseExpiry(text: string, now: number): number {
  const reading = mustRead(text);
  let at: number;
  if ('duration' in reading) at = now + reading.duration;
  else at = reading.day ? reading.at + DAY_MS - 1 : reading.at;
  if (at <= now) throw new InvalidArgumentError('That is in the past.');
  if (at > LATEST)
    throw new InvalidArgumentError('That is too far away; leave it out for a key that never expires.');
  return at;
}

// The last time that ISO 8601 writes with a year of four digits.
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');
const LONGEST_WINDOW_MS = 5 * 366 * DAY_MS;

/** Where a window begins: not after now; a date from its start. */
export function parseSince(text: string, now: number): number {
  const reading = mustRead(text);
  const at = 'duration' in reading ? now - reading.duration : reading.at;
  if (at > now) throw new InvalidArgumentError('That is in the future.');
  if (at < now - LONGEST_WINDOW_MS) throw new InvalidArgumentError('That is more than five years ago.');
  return at;
}
