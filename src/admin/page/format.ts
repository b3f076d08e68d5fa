// Numbers and times in the reader's own locale. An unknown value is a dash, which screen readers hear as "unknown" (parts/text.ts).

const number = new Intl.NumberFormat();
const decimal = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
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
export const rate = (value: Maybe): string => or(value, (known) => decimal.format(known));
/** 12.3K: where space is short. */
export const short = (value: Maybe): string =>
  or(value, (known) => (Math.abs(known) < 10_000 ? number.format(Math.round(known)) : compact.format(known)));
export const share = (part: number, whole: number): string =>
  whole === 0 ? UNKNOWN : percent.format(part / whole);
/** The smaller the sum, the more digits; their number is fixed, so that a column stands in line. */
export const cost = (value: Maybe): string =>
  or(value, (known) => {
    const size = Math.abs(known);
    if (size >= 1 || size === 0) return money.format(known);
    return (size >= 0.01 ? cents : partsOfCents).format(known);
  });
export const price = (value: Maybe): string => or(value, (known) => prices.format(known));

/** Milliseconds as 350ms, 1.2s, 2m 5s. */
export const duration = (value: Maybe): string => or(value, durationOf);

/** A formatter takes longer to make than to use. */
const unit = (name: string, maximumFractionDigits = 0): ((value: number) => string) => {
  const made = new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: name,
    unitDisplay: 'narrow',
    maximumFractionDigits,
  });
  return (value) => made.format(value);
};
const milliseconds = unit('millisecond');
const tenths = unit('second', 1);
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
export const clockOf = (value: MaybeTime): string => at(value, clock);
export const timeOfDay = (value: MaybeTime): string => at(value, clockWithSeconds);

const STEPS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** "3 hours ago", "in 2 days". */
export function ago(value: MaybeTime, now = Date.now()): string {
  if (value === null || value === undefined) return UNKNOWN;
  const seconds = (Date.parse(value) - now) / 1000;
  for (const [name, length] of STEPS)
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), name);
  return relative.format(Math.round(seconds), 'second');
}
