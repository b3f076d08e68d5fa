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
import { JsonBody, readJson, type JsonNode } from './body.ts';

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

/** What a value was parsed from: its JSON, or the body of it, whose spans are known. */
export type Source = Buffer | string | JsonBody;

/** The objects at `places` remember how they stand in `source`, which the body was parsed from. */
export function keepSource(source: Source, places: readonly ArgumentsPath[]): void {
  let body: JsonBody | undefined;
  let nodes: Nodes | undefined;
  for (const { holder, name, steps } of places) {
    const value = holder[name];
    const like = likeness(value);
    if (typeof value !== 'object' || value === null || like === 'same') continue;
    body ??= bodyOfSource(source);
    if (body === undefined) return;
    nodes ??= new Nodes(body);
    const node = nodes.at([...steps, name]);
    if (node !== undefined) keepText(value, node.bytes.toString(), like);
  }
  if (body !== source) body?.release();
}

function bodyOfSource(source: Source): JsonBody | undefined {
  if (source instanceof JsonBody) return source;
  return readJson(typeof source === 'string' ? Buffer.from(source) : source);
}

/** The values of a body by the steps that lead to them. What lies on the way of many is found once, however long it is. */
class Nodes {
  readonly #found: Map<string, JsonNode | undefined>;
  readonly #items = new Map<string, readonly JsonNode[]>();

  constructor(body: JsonBody) {
    this.#found = new Map([['', body.root]]);
  }

  at(steps: readonly (string | number)[]): JsonNode | undefined {
    let way = '';
    let node = this.#found.get(way);
    for (const step of steps) {
      const next = `${way}/${step}`;
      if (!this.#found.has(next)) this.#found.set(next, node && this.#inside(node, way, step));
      node = this.#found.get(next);
      way = next;
    }
    return node;
  }

  #inside(node: JsonNode, way: string, step: string | number): JsonNode | undefined {
    if (typeof step === 'string') return node.get(step);
    let items = this.#items.get(way);
    if (items === undefined) this.#items.set(way, (items = node.items()));
    return items[step];
  }
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
