// Strings and numbers that a JSON schema takes. `nth` varies the value, for arrays of unique items.
import type { JsonObject, JsonValue } from '../canonical/json.ts';
import { textForPattern } from './pattern.ts';

const MAX_TEXT = 100_000;

const two = (n: number): string => String((n % 28) + 1).padStart(2, '0');
const hex = (n: number, width: number): string => n.toString(16).padStart(width, '0');

const FORMATS = new Map<string, (nth: number) => string>(
  Object.entries({
    'date-time': (nth: number) => `2026-01-${two(nth)}T12:00:00Z`,
    date: (nth: number) => `2026-01-${two(nth)}`,
    time: (nth: number) => `12:00:${two(nth)}Z`,
    duration: (nth: number) => `PT${nth + 1}H`,
    email: (nth: number) => `user${nth + 1}@example.com`,
    'idn-email': (nth: number) => `user${nth + 1}@example.com`,
    hostname: (nth: number) => `host${nth + 1}.example.com`,
    'idn-hostname': (nth: number) => `host${nth + 1}.example.com`,
    ipv4: (nth: number) => `192.0.2.${(nth % 254) + 1}`,
    ipv6: (nth: number) => `2001:db8::${hex(nth + 1, 1)}`,
    uri: (nth: number) => `https://example.com/${nth + 1}`,
    url: (nth: number) => `https://example.com/${nth + 1}`,
    iri: (nth: number) => `https://example.com/${nth + 1}`,
    'uri-reference': (nth: number) => `/${nth + 1}`,
    'iri-reference': (nth: number) => `/${nth + 1}`,
    'uri-template': (nth: number) => `/${nth + 1}`,
    uuid: (nth: number) => `00000000-0000-4000-8000-${hex(nth + 1, 12)}`,
    'json-pointer': (nth: number) => `/${nth + 1}`,
    'relative-json-pointer': (nth: number) => String(nth),
    regex: (nth: number) => 'a'.repeat(nth + 1),
    byte: () => 'c2lt',
  }),
);

/** `name`: what a free text says; the name of its property. */
export function stringFor(schema: JsonObject, name: string, nth: number): string {
  const min = Math.min(count(schema.minLength) ?? 0, MAX_TEXT);
  const max = count(schema.maxLength) ?? Infinity;
  if (typeof schema.pattern === 'string') {
    const text = textForPattern(schema.pattern, min, max);
    if (text !== undefined) return text;
  }
  const formatted = typeof schema.format === 'string' ? FORMATS.get(schema.format)?.(nth) : undefined;
  if (formatted !== undefined) return formatted;
  const chars = [...(nth === 0 ? name : `${nth + 1} ${name}`)].slice(0, max);
  return chars.join('') + '.'.repeat(Math.max(0, min - chars.length));
}

/** undefined: no number fits. */
export function numberFor(schema: JsonObject, integer: boolean, nth: number): number | undefined {
  const range = rangeOf(schema);
  const multiple = number(schema.multipleOf);
  const step = stepOf(multiple, integer);
  const align = (value: number): number =>
    step === undefined ? value : clean(Math.ceil(value / step) * step);
  const small = step ?? 1;
  const anchors = [
    align(1),
    0,
    align(range.low),
    align(range.low) + small,
    align(range.high) - small,
    step === undefined ? (range.low + range.high) / 2 : NaN,
    range.high,
  ];
  const start = anchors.find(
    (value) => Number.isFinite(value) && inside(value, range) && aligned(value, step),
  );
  if (start === undefined) return undefined;
  const further = clean(start + nth * small);
  return inside(further, range) ? further : start;
}

interface Range {
  low: number;
  high: number;
  lowOpen: boolean;
  highOpen: boolean;
}

/** The exclusive bounds are numbers, in the oldest drafts booleans beside the inclusive ones. */
function rangeOf(schema: JsonObject): Range {
  const minimum = number(schema.minimum) ?? -Infinity;
  const maximum = number(schema.maximum) ?? Infinity;
  const above = number(schema.exclusiveMinimum) ?? -Infinity;
  const below = number(schema.exclusiveMaximum) ?? Infinity;
  return {
    low: Math.max(minimum, above),
    high: Math.min(maximum, below),
    lowOpen: schema.exclusiveMinimum === true || above >= minimum,
    highOpen: schema.exclusiveMaximum === true || below <= maximum,
  };
}

function inside(value: number, { low, high, lowOpen, highOpen }: Range): boolean {
  return (lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high);
}

function stepOf(multiple: number | undefined, integer: boolean): number | undefined {
  if (multiple === undefined || multiple <= 0) return integer ? 1 : undefined;
  if (!integer || Number.isInteger(multiple)) return multiple;
  const factor = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 100, 1000].find((by) =>
    Number.isInteger(clean(multiple * by)),
  );
  return factor === undefined ? 1 : clean(multiple * factor);
}

function aligned(value: number, step: number | undefined): boolean {
  return step === undefined || Number.isInteger(clean(value / step));
}

/** Without the dust of binary fractions: 3 * 0.1 is 0.3. */
function clean(value: number): number {
  return Number(value.toPrecision(12));
}

export function number(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function count(value: JsonValue | undefined): number | undefined {
  const found = number(value);
  return found === undefined || found < 0 ? undefined : Math.floor(found);
}
