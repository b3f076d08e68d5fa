// What a tier allows: limits of requests, of tokens and of money, each for a period of the calendar. Amounts are whole numbers, so that
// sums are exact: requests, tokens, and billionths of a dollar.
import type { Period } from './calendar.ts';

export const LIMIT_KINDS = ['requests', 'tokens', 'cost'] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

export interface Limit {
  kind: LimitKind;
  per: Period;
  /** Requests, tokens or billionths of a dollar. */
  most: number;
  /** Of tokens: those that were read from a cache don't count. */
  fresh?: true;
}

export interface Tier {
  /** Requests an hour; Infinity: no such limit. */
  perHour: number;
  /** All limits in the order of the file, that of requests an hour too. */
  limits: readonly Limit[];
  /** Some limit is another than that of requests an hour: its requests are held until they end. */
  held: boolean;
}

/** Billionths of a dollar in one. */
export const NANOS = 1_000_000_000;

/** The whole number that is nearest to a sum of dollars. */
export const nanosOf = (dollars: number): number => Math.round(dollars * NANOS);

export function tierOf(limits: readonly Limit[]): Tier {
  const hourly = limits.find(isHourly);
  return { perHour: hourly?.most ?? Infinity, limits, held: !limits.every(isHourly) };
}

/** The short form of a tier. */
export function hourlyTier(requests: number): Tier {
  return tierOf(requests === Infinity ? [] : [{ kind: 'requests', per: 'hour', most: requests }]);
}

const isHourly = ({ kind, per }: Limit): boolean => kind === 'requests' && per === 'hour';

/** An amount as people write it: money in dollars, with as many decimals as it has. */
export function amountText(kind: LimitKind, amount: number): string {
  if (kind !== 'cost') return String(amount);
  const whole = Math.floor(amount / NANOS);
  const fraction = String(amount % NANOS)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/** An amount as JSON has it: money in dollars. */
export function amountNumber(kind: LimitKind, amount: number): number {
  return kind === 'cost' ? Number(amountText(kind, amount)) : amount;
}

/** `60 requests an hour`, `2,000,000 tokens a day`, `5 USD a month`. */
export function limitText({ kind, per, most, fresh }: Limit): string {
  const article = per === 'hour' ? 'an' : 'a';
  return `${countedText(kind, most)}${fresh === true ? ' without cache reads' : ''} ${article} ${per}`;
}

/** `60 requests an hour, 5 USD a day`, `no limit`. */
export function tierText({ limits }: Tier): string {
  return limits.length === 0 ? 'no limit' : limits.map(limitText).join(', ');
}

const THOUSANDS = /\B(?=(?:\d{3})+(?!\d))/g;

/** `60 requests`, `1 request`, `2,000,000 tokens`, `5 USD`. */
export function countedText(kind: LimitKind, amount: number): string {
  const number = groupedText(kind, amount);
  if (kind === 'cost') return `${number} USD`;
  return `${number} ${amount === 1 ? kind.slice(0, -1) : kind}`;
}

/** `2,000,000`, `1,234.5`. */
export function groupedText(kind: LimitKind, amount: number): string {
  const [whole = '', fraction] = amountText(kind, amount).split('.');
  return whole.replace(THOUSANDS, ',') + (fraction === undefined ? '' : `.${fraction}`);
}
