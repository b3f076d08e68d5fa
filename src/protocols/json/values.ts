// Values made of the spans of their JSON, for JSON with a name that is written with an escape. Where JSON.parse of some V8 reads one, it
// may take the name of another member, which a stranger can choose: https://github.com/nodejs/node/issues/63785
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import {
  BACKSLASH,
  END,
  giveBack,
  NAME,
  NEXT,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ROW,
  scanJson,
  START,
  UNBOUNDED,
} from './spans.ts';

/** As JSON.parse, whatever JSON.parse takes the names for. Throws its SyntaxError. */
export function parseJson(text: string): JsonValue {
  if (!hasEscapedName(text)) return JSON.parse(text) as JsonValue;
  const bytes = Buffer.from(text.replace(/\p{Surrogate}/gu, escaped));
  const spans = scanJson(bytes, UNBOUNDED);
  // Not JSON: this throws the error that says why.
  if (spans === undefined) return JSON.parse(text) as JsonValue;
  const value = valueOf(bytes, spans.rows);
  giveBack(spans.rows);
  return value;
}

function escaped(half: string): string {
  return `\\u${half.charCodeAt(0).toString(16)}`;
}

/** Whether a string that has an escape stands before a colon. */
function hasEscapedName(text: string): boolean {
  let at = text.indexOf('\\');
  while (at !== -1) {
    while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
    while (at < text.length && text.charCodeAt(++at) <= 0x20);
    if (text[at] === ':') return true;
    at = text.indexOf('\\', at);
  }
  return false;
}

interface Open {
  value: JsonObject | JsonValue[];
  /** The row behind the last one that is inside. */
  end: number;
}

/** A loop, since it may have any number of levels. */
function valueOf(bytes: Buffer, rows: Int32Array): JsonValue {
  const outer: Open[] = [];
  const end = rows[NEXT] ?? 0;
  const whole = shallow(bytes, rows, 0);
  let open = opened(whole, end);
  for (let at = ROW; at < end; at += ROW) {
    while (open !== undefined && at >= open.end) open = outer.pop();
    if (open === undefined) break;
    const value = shallow(bytes, rows, at);
    if (Array.isArray(open.value)) open.value.push(value);
    else put(open.value, nameAt(bytes, rows[at + NAME] ?? 0), value);
    const inner = opened(value, rows[at + NEXT] ?? 0);
    if (inner === undefined) continue;
    outer.push(open);
    open = inner;
  }
  return whole;
}

function opened(value: JsonValue, end: number): Open | undefined {
  return typeof value === 'object' && value !== null ? { value, end } : undefined;
}

/** Objects and arrays are empty yet. */
function shallow(bytes: Buffer, rows: Int32Array, row: number): JsonValue {
  const start = rows[row + START] ?? 0;
  const end = rows[row + END] ?? 0;
  switch (bytes[start]) {
    case OPEN_OBJECT:
      return {};
    case OPEN_ARRAY:
      return [];
    case QUOTE:
      return textIn(bytes, start, end);
    default:
      return JSON.parse(bytes.toString('latin1', start, end)) as JsonValue;
  }
}

/** A member of its own whatever its name is, as JSON.parse makes it. */
function put(object: JsonObject, name: string, value: JsonValue): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
}

export function isAt(bytes: Buffer, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** The name whose first quote stands there. */
export function nameAt(bytes: Buffer, quote: number): string {
  let end = quote + 1;
  while (bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  return textIn(bytes, quote, end + 1);
}

/** Names, roles and types come again and again: to find one is faster than to decode it. */
const known: (string | undefined)[] = new Array<undefined>(512).fill(undefined);
const LONGEST_KNOWN = 24;

/** The string from its quote to behind the other one. */
export function textIn(bytes: Buffer, start: number, end: number): string {
  const length = end - start - 2;
  if (length === 0) return '';
  if (length > LONGEST_KNOWN) return decoded(bytes, start, end);
  const first = bytes[start + 1] ?? 0;
  const last = bytes[end - 2] ?? 0;
  const place = (first * 31 + last * 7 + length) % known.length;
  const text = known[place];
  if (text?.length === length && isAt(bytes, start + 1, text)) return text;
  const found = decoded(bytes, start, end);
  if (found.length === length) known[place] = found;
  return found;
}

function decoded(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}
