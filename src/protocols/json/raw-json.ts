// JSON that changes when JavaScript parses and writes it: integers of 64 bits, `1.0`, the order of members whose names look like
// indexes. The source text of such an object is recorded, and the object is written as that text. The arguments of calls are such
// objects within a larger body that was parsed as a whole: their text is read from the body's bytes.
// And the bytes of a translated request.
import { randomBytes } from 'node:crypto';
import {
  isObject,
  stringOf,
  wellFormed,
  type JsonObject,
  type JsonValue,
  wellFormedJson,
} from '../../canonical/json.ts';
import { JsonSource, rangesOf, skipValue, type Range } from './splice.ts';
import { skipSpace } from './spans.ts';

/** The object, as it would be written -> the text to write instead. */
const texts = new WeakMap<object, string>();

interface Writing {
  /** What stands for a text while the rest is written; '' until one is needed. Made when what a stranger sent is long here. */
  token: string;
  texts: string[];
}

let writing: Writing | undefined;

/** Where nothing writes exactly, the object is what it always was. */
function toJSON(this: object): unknown {
  const text = texts.get(this);
  if (text === undefined) return this;
  if (writing === undefined) return JSON.parse(text) as JsonValue;
  writing.token ||= randomBytes(16).toString('hex');
  writing.texts.push(text);
  return writing.token;
}

/** `JSON.stringify` of a JSON value, with every object within that remembers its text written as that. */
export function rawJson(value: unknown): string {
  const own: Writing = { token: '', texts: [] };
  const before = writing;
  writing = own;
  let json: string;
  try {
    json = JSON.stringify(value);
  } finally {
    writing = before;
  }
  if (own.token === '') return json;
  let exact = '';
  let from = 0;
  for (const text of own.texts) {
    const at = json.indexOf(own.token, from);
    exact += json.slice(from, at - 1) + text;
    from = at + own.token.length + 1;
  }
  return exact + json.slice(from);
}

/** The JSON of an object: its source text, if that was recorded. A lone surrogate, which JSON would escape, is replaced. */
export function rawObjectJson(value: JsonObject | JsonValue[]): string {
  const kept = texts.get(value);
  if (kept !== undefined) return kept;
  const json = JSON.stringify(value);
  return json.includes('\\ud') ? plainText(json) : json;
}

/** A tool's arguments as servers write them: text, or the object itself. */
export function argumentsText(value: JsonValue | undefined): string {
  if (isObject(value) || Array.isArray(value)) return rawObjectJson(value);
  return stringOf(value);
}

/** Levels of objects and arrays that are looked at: as many as a request's body may have. */
export const MAX_LEVELS = 512;

/** Whether JSON.stringify may write an object differently from its source, as far as the object shows. `deep`: too many levels to decide. */
type Likeness = 'same' | 'other' | 'deep';

/** A number may have been written in many ways, and names that look like indexes come first whatever their place was. */
export function likeness(value: JsonValue | undefined, levels = MAX_LEVELS): Likeness {
  if (typeof value === 'number') return 'other';
  if (typeof value !== 'object' || value === null) return 'same';
  if (levels === 0) return 'deep';
  let found: Likeness = 'same';
  if (Array.isArray(value)) {
    for (const item of value) {
      const inner = likeness(item, levels - 1);
      if (inner === 'deep') return inner;
      if (inner === 'other') found = inner;
    }
    return found;
  }
  for (const name in value) {
    const inner = likeness(value[name], levels - 1);
    if (inner === 'deep') return inner;
    if (inner === 'other' || beginsWithDigit(name)) found = 'other';
  }
  return found;
}

function beginsWithDigit(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

/** `text` is the source of `value`. From now on `value` is written as `text`, if JSON.stringify would write it differently. */
export function keepText(value: JsonObject | JsonValue[], text: string, like: 'other' | 'deep'): void {
  // JSON.stringify goes down by itself, until there is no room for its steps.
  const written = like === 'deep' ? undefined : JSON.stringify(value);
  if (written === text) return;
  const own = plainText(text);
  if (own === written) return;
  texts.set(value, own);
  Object.defineProperty(value, 'toJSON', { value: toJSON, configurable: true });
}

/** JSON without white space, its strings spelt as JSON.stringify spells them. */
function plainText(json: string): string {
  let plain = '';
  let at = 0;
  for (;;) {
    const quote = json.indexOf('"', at);
    if (quote === -1) return plain + withoutSpace(json.slice(at));
    const end = stringEnd(json, quote);
    const string = json.slice(quote, end);
    plain += withoutSpace(json.slice(at, quote));
    plain += string.includes('\\') ? JSON.stringify(wellFormed(JSON.parse(string) as string)) : string;
    at = end;
  }
}

function withoutSpace(between: string): string {
  return between.replace(/[ \t\n\r]+/g, '');
}

/** Behind the string whose first quote stands at `open`. */
function stringEnd(json: string, open: number): number {
  for (let quote = json.indexOf('"', open + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let slash = quote;
    while (json[slash - 1] === '\\') slash--;
    if ((quote - slash) % 2 === 0) return quote + 1;
  }
  return json.length;
}

/** An object in a parsed body: the member `name` of `holder`, found by `steps`. */
export interface ArgumentsPath {
  holder: JsonObject;
  name: string;
  steps: readonly (string | number)[];
}

/** Whether the object must be looked up in its source. */
export function mayDiffer(value: JsonValue | undefined): value is JsonObject | JsonValue[] {
  return typeof value === 'object' && likeness(value) !== 'same';
}

/**
 * Whether a schema must be looked up in its source: a name that looks like an index stands first in an object, wherever it was
 * written, and a number may be too large to be held. How a small number is spelt means nothing in a schema, and they have many.
 */
export function isReordered(schema: JsonValue | undefined): schema is JsonObject {
  if (typeof schema === 'number') return Math.abs(schema) > Number.MAX_SAFE_INTEGER;
  if (typeof schema !== 'object' || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(isReordered);
  let first = true;
  for (const name in schema) {
    if ((first && beginsWithDigit(name)) || isReordered(schema[name])) return true;
    first = false;
  }
  return false;
}

/** The objects at `places` remember how they stand in `source`, which the body was parsed from. */
export function keepSource(source: Buffer | string, places: readonly ArgumentsPath[]): void {
  if (places.length === 0) return;
  const bytes = typeof source === 'string' ? Buffer.from(source) : source;
  const text = new JsonSource(bytes);
  const known = new Map<string, Places>();
  let from = 0;
  for (const place of places) {
    const value = place.holder[place.name];
    const like = likeness(value);
    if (typeof value !== 'object' || value === null || like === 'same') continue;
    const near = from === -1 || like === 'deep' ? undefined : behindId(text, place, from);
    const json = near && jsonIn(bytes, near);
    if (near !== undefined && json !== undefined && says(json, value)) {
      from = near.end;
      keepText(value, json, like);
      continue;
    }
    // Once is enough: what is written in another order is so everywhere.
    from = -1;
    const range = locate(bytes, place, known);
    if (range !== undefined) keepText(value, jsonIn(bytes, range), like);
  }
}

function jsonIn(bytes: Buffer, { start, end }: Range): string {
  return bytes.toString('utf8', start, end);
}

const BACKSLASH = 0x5c;

/**
 * Where the member seems to stand: behind its holder's id, as the members of calls usually do. 1 us a call, where finding the
 * way through 195 KB takes 250. Whether it is the member is seen by its value: another object of the same id and the same
 * value would do as well.
 */
function behindId(source: JsonSource, { holder, name }: ArgumentsPath, from: number): Range | undefined {
  if (typeof holder.id !== 'string') return undefined;
  const sought = `"id":${JSON.stringify(holder.id)}`;
  const at = source.bytes.indexOf(sought, from);
  if (at === -1 || source.bytes[at - 1] === BACKSLASH) return undefined;
  return memberBehind(source, at + Buffer.byteLength(sought), name);
}

/** The value of the member `name` among those that follow, in the same object, a value that ends at `end`. */
function memberBehind(source: JsonSource, end: number, name: string): Range | undefined {
  const { bytes } = source;
  let at = skipSpace(bytes, end);
  while (bytes[at] === COMMA) {
    const nameStart = skipSpace(bytes, at + 1);
    const nameEnd = source.skipString(nameStart);
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1);
    const isSought = source.readName(nameStart, nameEnd) === name;
    at = skipValue(source, start, Infinity);
    if (isSought) return { start, end: at };
    at = skipSpace(bytes, at);
  }
  return undefined;
}

function says(json: string, value: JsonValue): boolean {
  const written = JSON.stringify(value);
  if (json === written) return true;
  try {
    return JSON.stringify(JSON.parse(json)) === written;
  } catch {
    return false;
  }
}

/** What stands in an object or a list, by name or index. Of members of one name the last is the one that was parsed. */
type Places = ReadonlyMap<string, Range>;

function placesIn(bytes: Buffer, { start, end }: Range): Places {
  return new Map(rangesOf(bytes, start, end).map((item) => [item.name, item]));
}

function locate(
  bytes: Buffer,
  { steps, name }: ArgumentsPath,
  known: Map<string, Places>,
): Range | undefined {
  let range: Range | undefined = { start: bytes.findIndex((byte) => byte > 0x20), end: bytes.length };
  let place = '';
  for (const step of [...steps, name]) {
    let places = known.get(place);
    if (places === undefined) known.set(place, (places = placesIn(bytes, range)));
    range = places.get(String(step));
    if (range === undefined) return undefined;
    place += `/${step}`;
  }
  return range;
}

// A long conversation is serialised in pieces: a string of more than 128 KiB gets memory pages of its own, which are mapped, cleared
// and unmapped for every request.
const LONG = 131_072;
/** Approximate characters of one piece: large enough that the fixed cost of each JSON.stringify does not matter. */
const PIECE = 65_536;
const COMMA = 0x2c;

/** Messages are repaired before (canonical/history): halves of surrogate pairs may still be in tools, schemas, stop sequences, names. */
function stringify(value: JsonObject): string {
  return wellFormedJson(rawJson(value));
}

/** The bytes of `rawJson(body)`. `about`: their approximate number. */
export function requestBytes(body: JsonObject, about: number): Buffer {
  const name = body.input === undefined ? 'messages' : 'input';
  const messages = body[name];
  if (about < LONG || !Array.isArray(messages) || messages.length === 0) {
    return Buffer.from(stringify(body));
  }
  const step = Math.ceil((messages.length * PIECE) / about);
  const lists: string[] = [];
  for (let at = 0; at < messages.length; at += step) {
    lists.push(rawJson(messages.slice(at, at + step)));
  }
  const members = Object.entries(body);
  const place = members.findIndex(([member]) => member === name);
  const head = stringify(Object.fromEntries(members.slice(0, place))).slice(0, -1);
  const tail = stringify(Object.fromEntries(members.slice(place + 1))).slice(1);
  return joined(`${head}${head === '{' ? '' : ','}"${name}":`, lists, tail === '}' ? tail : `,${tail}`);
}

/** Each list overwrites the closing bracket of the list before it, and its own opening bracket becomes the comma. */
function joined(head: string, lists: readonly string[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Buffer.byteLength(tail) + 1;
  for (const list of lists) length += Buffer.byteLength(list) - 1;
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = bytes.write(head);
  for (const [index, list] of lists.entries()) {
    if (index > 0) at--;
    const written = bytes.write(list, at);
    if (index > 0) bytes[at] = COMMA;
    at += written;
  }
  bytes.write(tail, at);
  return bytes;
}
