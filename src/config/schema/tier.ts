// Reads a tier of the configuration file: a number of requests an hour, or limits of requests, tokens and money. By hand, because the
// order in which the file writes the limits is the one in which they are shown.
import { type Period, PERIODS } from '../../calendar.ts';
import { type Limit, LIMIT_KINDS, type LimitKind, NANOS, hourlyTier, tierOf, type Tier } from '../../tier.ts';
import { suggest } from '../did-you-mean.ts';
import { parseWhole, type Rule } from './scalars.ts';

interface Fault {
  path: (string | number)[];
  message: string;
}

const SHORT = 'is not a number of requests an hour; write a whole number of 1 or more';
const EXAMPLE: Readonly<Record<LimitKind, string>> = {
  requests: '60/hour',
  tokens: '2M/day',
  cost: '5/day',
};
const UNITS: Readonly<Record<string, number>> = { k: 1e3, K: 1e3, M: 1e6, B: 1e9, G: 1e9 };
const COUNTS = ['all', 'fresh'];

/** The tier, or what is wrong with it. A message never repeats a value. */
export function readTier(value: unknown): Tier | { faults: Fault[] } {
  if (!isMapping(value)) {
    const requests = parseWhole(value);
    if (requests !== undefined && requests >= 1) return hourlyTier(requests);
    if (value === undefined || value === null)
      return { faults: [{ path: [], message: `is missing; ${SHORT.slice(SHORT.indexOf('write'))}` }] };
    const isLong = Array.isArray(value) || (typeof value === 'string' && value.includes('/'));
    return {
      faults: [{ path: [], message: isLong ? `${SHORT}, or { requests: 60/hour, cost: 5/day }` : SHORT }],
    };
  }
  const reading: Reading = { limits: [], faults: [] };
  for (const [kind, given] of Object.entries(value)) {
    if (isKind(kind)) readKind(kind, given, reading);
    else reading.faults.push({ path: [kind], message: `is not a known key; ${suggest(kind, LIMIT_KINDS)}` });
  }
  if (reading.faults.length > 0) return { faults: reading.faults };
  if (reading.limits.length > 0) return tierOf(reading.limits);
  return { faults: [{ path: [], message: 'has no limit; write requests, tokens or cost' }] };
}

interface Reading {
  limits: Limit[];
  faults: Fault[];
}

function readKind(kind: LimitKind, given: unknown, { limits, faults }: Reading): void {
  const { value, fresh, path } = kind === 'tokens' ? countOf(given, faults) : { value: given, path: [] };
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0)
    faults.push({ path: [kind, ...path], message: `is an empty list; write ${EXAMPLE[kind]}` });
  for (const [index, item] of list.entries()) {
    const where = [kind, ...path, ...(Array.isArray(value) ? [index] : [])];
    const read = readLimit(kind, item);
    if (typeof read === 'string') faults.push({ path: where, message: read });
    else if (limits.some((other) => other.kind === kind && other.per === read.per))
      faults.push({ path: where, message: `limits the ${read.per} twice; keep one` });
    else limits.push({ kind, ...read, ...(fresh && { fresh }) });
  }
}

/** `{ limit: 2M/day, count: fresh }`. */
function countOf(given: unknown, faults: Fault[]): { value: unknown; fresh?: true; path: string[] } {
  if (!isMapping(given)) return { value: given, path: [] };
  const { limit, count = 'all', ...rest } = given;
  for (const key of Object.keys(rest))
    faults.push({
      path: ['tokens', key],
      message: `is not a known key; ${suggest(key, ['limit', 'count'])}`,
    });
  if (typeof count !== 'string' || !COUNTS.includes(count))
    faults.push({ path: ['tokens', 'count'], message: 'is not a known choice; write all or fresh' });
  return { value: limit, path: ['limit'], ...(count === 'fresh' && { fresh: true }) };
}

const FORM = /^\s*(\d{1,16}(?:\.\d{1,18})?)\s*([A-Za-z]?)\s*\/\s*([A-Za-z]+)\s*$/;

/** The limit, or what is wrong with it. */
function readLimit(kind: LimitKind, value: unknown): { per: Period; most: number } | string {
  const write = `write one like ${EXAMPLE[kind]}`;
  if (value === undefined || value === null) return `is missing; ${write}`;
  if (typeof value === 'number') return `names no period; ${write}`;
  const [, number, unit = '', period = ''] = (typeof value === 'string' && FORM.exec(value)) || [];
  if (number === undefined) return `is not a limit; ${write} (${PERIODS.join(', ')})`;
  const per = PERIODS.find((known) => known === period.toLowerCase().replace(/s$/, ''));
  if (per === undefined) return `has an unknown period; ${suggest(period.toLowerCase(), PERIODS)}`;
  const factor = factorOf(unit);
  if (factor === undefined)
    return `has an unknown unit; ${write}, with k, M or B for thousands, millions or billions`;
  const most = exactAmount(kind, number, factor);
  if (most !== undefined && most >= 1) return { per, most };
  return kind === 'cost'
    ? 'is not an amount of USD; write more than 0, with nine decimals at most'
    : `is not a number of ${kind}; write a whole number of 1 or more`;
}

const AMOUNT = /^\s*(\d{1,16}(?:\.\d{1,18})?)\s*([A-Za-z]?)\s*$/;

/** An amount without a period: `5`, `0.50`, `2M`. undefined: it is none, or 0. */
export function parseAmount(kind: LimitKind, text: string): number | undefined {
  const [, number = '', unit = ''] = AMOUNT.exec(text) ?? [];
  const factor = factorOf(unit);
  const amount = number === '' || factor === undefined ? undefined : exactAmount(kind, number, factor);
  return amount === 0 ? undefined : amount;
}

/** Billionths of a dollar. */
export const COST: Rule<number> = {
  wrong: 'is not an amount of USD',
  right: 'write more than 0, with nine decimals at most, like 3.00',
  read: (value) =>
    typeof value === 'number' || typeof value === 'string' ? parseAmount('cost', String(value)) : undefined,
};

const factorOf = (unit: string): number | undefined =>
  unit === '' ? 1 : Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;

/** Without floating point: 0.1 is no binary fraction. undefined: not a whole number of units, or too large. */
function exactAmount(kind: LimitKind, number: string, factor: number): number | undefined {
  const [whole = '', fraction = ''] = number.split('.');
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * BigInt(factor) * BigInt(kind === 'cost' ? NANOS : 1);
  const amount = Number(scaled / scale);
  return scaled % scale === 0n && Number.isSafeInteger(amount) ? amount : undefined;
}

const isKind = (name: string): name is LimitKind => LIMIT_KINDS.some((kind) => kind === name);

function isMapping(value: unknown): value is Record<string, unknown> {
  return value instanceof Object && !Array.isArray(value);
}
