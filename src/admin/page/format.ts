// Numbers and times in the reader's own locale. An unknown value is a dash, which screen readers hear as "unknown" (parts/text.ts).
import { plural } from '../../plural.ts';

const number = new Intl.NumberFormat();
const decimal = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const compactTenths = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const wholePercent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });
const usd = (most: number, least = most): Intl.NumberFormat =>
  new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  });
const money = usd(2);
const cents = usd(4);
const partsOfCents = usd(6);
const prices = usd(6, 2);
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const shortTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const hour = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
/** Below a chart: 22:00, or 10 PM where the clock has twelve hours. */
const hourOfDay = new Intl.DateTimeFormat(
  undefined,
  hour.resolvedOptions().hour12 === true ? { hour: 'numeric' } : { hour: '2-digit', minute: '2-digit' },
);
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dayAlone = new Intl.DateTimeFormat(undefined, { day: 'numeric', timeZone: 'UTC' });
const monthAlone = new Intl.DateTimeFormat(undefined, { month: 'short', timeZone: 'UTC' });
/** Days of the gateway begin at midnight UTC. */
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const clockWithSeconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

export const UNKNOWN = '–';
type Maybe = number | null | undefined;

const or = (value: Maybe, format: (value: number) => string): string =>
  value === null || value === undefined ? UNKNOWN : format(value);

export const count = (value: Maybe): string => or(value, (known) => number.format(known));
/** "1 commit", "2 commits". */
export const counted = (value: number, noun: string): string => plural(value, noun, number.format(value));
export const rate = (value: Maybe): string => or(value, (known) => decimal.format(known));
/** 12.3K: where space is short. */
export const short = (value: Maybe): string =>
  or(value, (known) => (Math.abs(known) < 10_000 ? number.format(Math.round(known)) : compact.format(known)));
/** As short, of a column: all whole, or all with one digit behind the point. */
export function shorts(values: readonly Maybe[]): (value: Maybe) => string {
  const isLong = Math.max(0, ...values.map((value) => value ?? 0)) >= 100_000;
  return (value) =>
    or(value, (known) => (isLong && known >= 1000 ? compactTenths.format(known) : number.format(known)));
}
export const share = (part: number, whole: number): string =>
  whole === 0 ? UNKNOWN : percent.format(part / whole);
/** Without digits behind the point, in a column of such; what is not used up is not 100 %. */
export const wholeShare = (part: number, whole: number): string =>
  whole === 0 ? UNKNOWN : percent.format(Math.floor((100 * part) / whole + 1e-9) / 100);
/** The smaller the sum, the more digits; their number is fixed, so that a column stands in line. */
export const cost = (value: Maybe): string =>
  or(value, (known) => {
    const size = Math.abs(known);
    if (size >= 1 || size === 0) return money.format(known);
    return (size >= 0.01 ? cents : partsOfCents).format(known);
  });
/** Of a limit, whose column has limits of all sizes: always with cents. */
export const dollars = (value: number): string => costs([1])(value);
/** As cost, of a column: all with the digits that the greatest has. `isFine`: of small sums beside large ones. */
export function costs(values: readonly Maybe[], isFine = false): (value: Maybe) => string {
  const most = Math.max(0, ...values.map((value) => Math.abs(value ?? 0)));
  const [shape, least] =
    (most >= 1 && !isFine) || most === 0
      ? [money, 0.01]
      : most >= 0.01
        ? [cents, 0.0001]
        : [partsOfCents, 0.000001];
  return (value) =>
    or(value, (known) => (known > 0 && known < least / 2 ? `<${shape.format(least)}` : shape.format(known)));
}
export const price = (value: Maybe): string => or(value, (known) => prices.format(known));

/** Milliseconds as 350ms, 1.2s, 2m 5s. */
export const duration = (value: Maybe): string => or(value, durationOf);

/** As duration, of a column: all in the unit that the greatest has. */
export function durations(values: readonly Maybe[]): (value: Maybe) => string {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  if (most >= 60_000) return duration;
  return (value) =>
    or(value, (known) => {
      if (most < 1000) return milliseconds(Math.round(known));
      return known > 0 && known < 5 ? `<${hundredths(0.01)}` : hundredths(known / 1000);
    });
}

/** Of an axis: all in one unit, with the digits that one of them needs. */
export function durationMarks(values: readonly number[]): string[] {
  const most = Math.max(0, ...values);
  if (most < 1000) return values.map(milliseconds);
  if (most >= 60_000) return values.map((value) => (value === 0 ? minutes(0) : durationOf(value)));
  const shape = values.every((value) => value % 1000 === 0) ? seconds : tenths;
  return values.map((value) => shape(value / 1000));
}

/** Of what grows before one's eyes, in one unit until it is long. */
export const age = (ms: number): string => (ms < 9950 ? tenths(ms / 1000) : durationOf(ms));

/** A formatter takes longer to make than to use. */
const unit = (
  name: string,
  maximumFractionDigits = 0,
  minimumFractionDigits = 0,
): ((value: number) => string) => {
  const made = new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: name,
    unitDisplay: 'narrow',
    maximumFractionDigits,
    minimumFractionDigits,
  });
  return (value) => made.format(value);
};
const milliseconds = unit('millisecond');
const tenths = unit('second', 1, 1);
const hundredths = unit('second', 2, 2);
const seconds = unit('second');
const minutes = unit('minute');
const hours = unit('hour');

function durationOf(ms: number): string {
  if (Math.round(ms) < 1000) return milliseconds(Math.round(ms));
  if (ms < 9950) return tenths(ms / 1000);
  const whole = Math.round(ms / 1000);
  if (whole < 60) return seconds(whole);
  const inMinutes = Math.floor(whole / 60);
  if (inMinutes < 60) return `${minutes(inMinutes)} ${seconds(whole % 60)}`;
  return `${hours(Math.floor(inMinutes / 60))} ${minutes(inMinutes % 60)}`;
}

type MaybeTime = string | null | undefined;
const at = (value: MaybeTime, format: Intl.DateTimeFormat): string =>
  value === null || value === undefined ? UNKNOWN : format.format(new Date(value));

export const time = (value: MaybeTime): string => at(value, dateTime);
export const timeShort = (value: MaybeTime): string => at(value, shortTime);
export const timeOfHour = (value: MaybeTime): string => at(value, hour);
export const dayOf = (value: MaybeTime): string => at(value, day);
export const hourLabel = (time: number): string => hourOfDay.format(time);
export const dayLabel = (time: number): string => dayAndMonth.format(time);
export const dayOfMonth = (time: number): string => dayAlone.format(time);
export const monthLabel = (time: number): string => monthAlone.format(time);
/** "1 Nov – 15 Nov 2026"; within a day with its hours. */
export function range(since: string, until: string | undefined): string {
  const [from, to] = [Date.parse(since), until === undefined ? Date.now() : Date.parse(until)];
  if (Number.isNaN(from) || Number.isNaN(to)) return since;
  const isOfDays = from % 86_400_000 === 0 && (until === undefined || to % 86_400_000 === 0);
  return isOfDays ? day.formatRange(from, Math.max(from, to - 1)) : hour.formatRange(from, to);
}
/** ▲ 12 %: how much more than before; undefined: there is nothing to compare with. */
export function change(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const share = now / before - 1;
  const sign = Math.abs(share) < 0.0005 ? '=' : share > 0 ? '▲' : '▼';
  return `${sign} ${(Math.abs(share) < 1 ? percent : wholePercent).format(Math.abs(share))}`;
}

export const clockOf = (value: MaybeTime): string => at(value, clock);
export const timeOfDay = (value: MaybeTime): string => at(value, clockWithSeconds);

/** With what the next smaller unit is rounded to: 60 of those are one already. */
const STEPS = [
  ['day', 86_400, 3600],
  ['hour', 3600, 60],
  ['minute', 60, 1],
] as const;

/** "3 hours ago", "in 2 days". */
export function ago(value: MaybeTime, now = Date.now()): string {
  if (value === null || value === undefined) return UNKNOWN;
  const seconds = (Date.parse(value) - now) / 1000;
  for (const [name, length, smaller] of STEPS)
    if (Math.round(Math.abs(seconds) / smaller) * smaller >= length)
      return relative.format(Math.round(seconds / length), name);
  return relative.format(Math.round(seconds), 'second');
}
