// Points in time on the command line: a duration (`30d`), a date or a time of ISO 8601, in UTC unless it says otherwise.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../config/duration-size.ts';

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
