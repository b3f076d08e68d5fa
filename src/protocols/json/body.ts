// A JSON body that is read without becoming objects: its values are found by their spans, and parsed one by one when somebody asks for them.
import { isAscii } from 'node:buffer';
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import { Found, type Member, type Members, type Range } from './splice.ts';
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
  type Bounds,
  type Spans,
} from './spans.ts';
import { isAt, nameAt, parseJson, textIn } from './values.ts';

/** A value in the body. Nodes are made anew wherever one is asked for. */
export class JsonNode implements Range {
  readonly #body: JsonBody;
  readonly #row: number;

  constructor(body: JsonBody, row: number) {
    this.#body = body;
    this.#row = row;
  }

  get start(): number {
    return this.#body.rows[this.#row + START] ?? 0;
  }

  get end(): number {
    return this.#body.rows[this.#row + END] ?? 0;
  }

  get isObject(): boolean {
    return this.#body.bytes[this.start] === OPEN_OBJECT;
  }

  get isList(): boolean {
    return this.#body.bytes[this.start] === OPEN_ARRAY;
  }

  get isText(): boolean {
    return this.#body.bytes[this.start] === QUOTE;
  }

  get isNull(): boolean {
    return this.#body.bytes[this.start] === LETTER_N;
  }

  /** Whether a list has no element, or an object no member. */
  get isEmpty(): boolean {
    return this.#body.rows[this.#row + NEXT] === this.#row + ROW;
  }

  /** The text; undefined: it is another value. */
  get text(): string | undefined {
    return this.#body.textAt(this.#row);
  }

  /** Its JSON as it is written. */
  get bytes(): Buffer {
    return this.#body.bytes.subarray(this.start, this.end);
  }

  /** Whether it is a text that begins so; `beginning` is ASCII without what must be escaped. */
  startsWith(beginning: string): boolean {
    const { bytes } = this.#body;
    const { start, end } = this;
    if (bytes[start] !== QUOTE) return false;
    if (isAt(bytes, start + 1, beginning)) return true;
    // Some writers escape slashes.
    const compared = bytes.subarray(start, Math.min(end, start + 1 + LONGEST_ESCAPE * beginning.length));
    return compared.includes(BACKSLASH) && textIn(bytes, start, end).startsWith(beginning);
  }

  /** Parsed anew each time. */
  get value(): JsonValue {
    return this.#body.parse(this);
  }

  /** The last member of that name, which is ASCII that JSON does not escape, as JSON.parse has it; undefined also for what is no object. */
  get(name: string): JsonNode | undefined {
    const found = this.#find(name);
    return found === -1 ? undefined : new JsonNode(this.#body, found);
  }

  /** The same of a member that is a text. */
  textOf(name: string): string | undefined {
    const found = this.#find(name);
    return found === -1 ? undefined : this.#body.textAt(found);
  }

  #find(name: string): number {
    const body = this.#body;
    const { rows, bytes } = body;
    let found = -1;
    if (bytes[rows[this.#row + START] ?? 0] !== OPEN_OBJECT) return found;
    const end = rows[this.#row + NEXT] ?? 0;
    for (let row = this.#row + ROW; row < end; row = rows[row + NEXT] ?? end) {
      if (body.isNamed(row, name)) found = row;
    }
    return found;
  }

  /** The elements of a list; of what is none, nothing. */
  items(): JsonNode[] {
    const { rows } = this.#body;
    const items: JsonNode[] = [];
    if (!this.isList) return items;
    const end = rows[this.#row + NEXT] ?? 0;
    for (let row = this.#row + ROW; row < end; row = rows[row + NEXT] ?? end) {
      items.push(new JsonNode(this.#body, row));
    }
    return items;
  }
}

const LETTER_N = 0x6e;
const LETTER_U = 0x75;
const LONGEST_ESCAPE = 6;

/** An object in bytes. */
export class JsonBody {
  readonly bytes: Buffer;
  readonly members: Members;
  readonly root: JsonNode;
  readonly #escapedNames: boolean;
  readonly #used: number;
  #rows: Int32Array | undefined;
  #types: ReadonlySet<string> | undefined;
  readonly #lists = new Map<string, readonly JsonNode[]>();
  #encoding: 'latin1' | 'utf8' | undefined;
  #value: JsonObject | undefined;

  /** `bytes`: those of the spans, with an object as the root. */
  constructor(bytes: Buffer, { rows, used, escapedNames }: Spans) {
    this.bytes = bytes;
    this.#rows = rows;
    this.#used = used;
    this.#escapedNames = escapedNames;
    this.root = new JsonNode(this, 0);
    this.members = membersOf(bytes, rows, used);
  }

  get rows(): Int32Array {
    if (this.#rows === undefined) throw new Error('the body was released');
    return this.#rows;
  }

  /** Nothing is read of this body and its nodes any more: another one gets their memory. */
  release(): void {
    if (this.#rows !== undefined) giveBack(this.#rows);
    this.#rows = undefined;
  }

  /** The text of the value at a row; undefined: it is another value. */
  textAt(row: number): string | undefined {
    const { bytes, rows } = this;
    const start = rows[row + START] ?? 0;
    return bytes[start] === QUOTE ? textIn(bytes, start, rows[row + END] ?? 0) : undefined;
  }

  isNamed(row: number, name: string): boolean {
    const quote = this.rows[row + NAME] ?? -1;
    return isNamed(this.bytes, quote, name) || (this.#escapedNames && isSpelled(this.bytes, quote, name));
  }

  /** The texts of all members `type`, wherever they stand: what is not among them need not be looked for. */
  get types(): ReadonlySet<string> {
    return (this.#types ??= this.#readTypes());
  }

  /** Whether a member has that name, wherever it stands. */
  hasName(name: string): boolean {
    return this.#nextNamed(name, ROW) !== -1;
  }

  #readTypes(): Set<string> {
    const types = new Set<string>();
    let last: string | undefined;
    for (let row = this.#nextNamed('type', ROW); row !== -1; row = this.#nextNamed('type', row + ROW)) {
      const text = this.textAt(row);
      if (text !== undefined && text !== last) types.add((last = text));
    }
    return types;
  }

  /** The first row at or behind `from` of a member of that name; -1: there is none. */
  #nextNamed(name: string, from: number): number {
    const { bytes, rows } = this;
    const first = name.charCodeAt(0);
    for (let row = from; row < this.#used; row += ROW) {
      const quote = rows[row + NAME] ?? -1;
      if (quote === -1 || (bytes[quote + 1] !== first && !this.#escapedNames)) continue;
      if (this.isNamed(row, name)) return row;
    }
    return -1;
  }

  /** As JSON.parse gives it; of a large body, each member is parsed when it is read. */
  get value(): JsonObject {
    if (this.#value !== undefined) return this.#value;
    const { list } = this.members;
    const isSimple = this.bytes.length < LARGE || list.length > MANY || list.some(isLongNamed);
    return isSimple ? this.whole() : (this.#value = this.#lazy());
  }

  /** The same, parsed at once: for who reads all of it. */
  whole(): JsonObject {
    return (this.#value = this.parse(this.root) as JsonObject);
  }

  member(name: string): JsonNode | undefined {
    return this.root.get(name);
  }

  /** The elements of a member, found once; undefined: the member is not a list. */
  list(name: string): readonly JsonNode[] | undefined {
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    const node = this.member(name);
    if (node?.isList !== true) return undefined;
    const items = node.items();
    this.#lists.set(name, items);
    return items;
  }

  parse({ start, end }: Range): JsonValue {
    this.#encoding ??= isAscii(this.bytes) ? 'latin1' : 'utf8';
    const text = this.bytes.toString(this.#encoding, start, end);
    return this.#escapedNames ? parseJson(text) : (JSON.parse(text) as JsonValue);
  }

  #lazy(): JsonObject {
    // Without a prototype it is a dictionary: as a literal, each set of members would make hidden classes.
    const object = Object.create(null, { [BODY]: { value: this } }) as JsonObject;
    for (const { name } of this.members.list) Object.defineProperty(object, name, unreadMember(name));
    return object;
  }
}

const BODY = Symbol('body');

interface Unread {
  readonly [BODY]: JsonBody;
}

const unread = new Map<string, PropertyDescriptor>();
const MOST_UNREAD = 500;

/**
 * A member that is parsed when it is read. One getter serves all bodies: V8 keeps accessors in its old space, where what a getter of
 * one body held, all that was parsed of it, would stay until the next large collection.
 */
function unreadMember(name: string): PropertyDescriptor {
  const known = unread.get(name);
  if (known !== undefined) return known;
  const put = (object: Unread, value: JsonValue | undefined): void =>
    void Object.defineProperty(object, name, { ...OWN, value });
  const descriptor: PropertyDescriptor = {
    configurable: true,
    enumerable: true,
    get(this: Unread): JsonValue | undefined {
      const body = this[BODY];
      const member = body.members.get(name);
      const value = member && body.parse(member);
      put(this, value);
      return value;
    },
    set(this: Unread, value: JsonValue | undefined) {
      put(this, value);
    },
  };
  if (unread.size >= MOST_UNREAD) unread.clear();
  unread.set(name, descriptor);
  return descriptor;
}

/** Bytes below which one parse of the whole is cheaper. */
const LARGE = 8192;
/** Members that no protocol has so many of. */
const MANY = 100;

/** No protocol has such a name, and none is kept beyond its body (`unread`). */
function isLongNamed({ name }: Member): boolean {
  return name.length > 64;
}

const OWN: PropertyDescriptor = { configurable: true, enumerable: true, writable: true };

/** The body in `bytes`, which are UTF-8. undefined: they are no JSON, no object, or beyond the bounds. */
export function readJson(bytes: Buffer, bounds: Bounds = UNBOUNDED): JsonBody | undefined {
  const spans = scanJson(bytes, bounds);
  if (spans === undefined || bytes[spans.rows[START] ?? 0] !== OPEN_OBJECT) return undefined;
  return new JsonBody(bytes, spans);
}

/** Of what is known to be an object's JSON. */
export function bodyIn(bytes: Buffer): JsonBody {
  const body = readJson(bytes);
  if (body === undefined) throw new TypeError('the bytes are not the JSON of an object');
  return body;
}

/** A body that holds this value. */
export function bodyOf(value: JsonObject): JsonBody {
  return bodyIn(Buffer.from(JSON.stringify(value)));
}

function membersOf(bytes: Buffer, rows: Int32Array, used: number): Members {
  const items: Member[] = [];
  const end = rows[NEXT] ?? 0;
  for (let row = ROW; row < end; row = rows[row + NEXT] ?? end) {
    const nameStart = rows[row + NAME] ?? 0;
    const name = nameAt(bytes, nameStart);
    items.push({ name, nameStart, start: rows[row + START] ?? 0, end: rows[row + END] ?? 0 });
  }
  const open = rows[START] ?? 0;
  const close = (rows[END] ?? 0) - 1;
  return new Found({ items, close, tooDeep: false }, open, used / ROW);
}

function isNamed(bytes: Buffer, quote: number, name: string): boolean {
  return isAt(bytes, quote + 1, name) && bytes[quote + 1 + name.length] === QUOTE;
}

/** The same where it may be written with escapes. What is longer is not decoded: it may be megabytes, asked for many names. */
function isSpelled(bytes: Buffer, quote: number, name: string): boolean {
  let from = quote + 1;
  for (let at = 0; at < name.length; at++) {
    if (bytes[from] !== BACKSLASH) {
      if (bytes[from++] !== name.charCodeAt(at)) return false;
      continue;
    }
    const letter = bytes[from + 1] ?? 0;
    const code = letter === LETTER_U ? hexAt(bytes, from + 2) : ESCAPED.get(letter);
    if (code !== name.charCodeAt(at)) return false;
    from += letter === LETTER_U ? LONGEST_ESCAPE : 2;
  }
  return bytes[from] === QUOTE;
}

/** The codes of characters by the letters of their short escapes. */
const ESCAPED: ReadonlyMap<number, number> = new Map(
  [...'"\\/bfnrt'].map((letter, at) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(at)]),
);

/** Four digits, which were judged before. */
function hexAt(bytes: Buffer, from: number): number {
  let code = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = bytes[at] ?? 0;
    code = code * 16 + (byte <= 0x39 ? byte - 0x30 : (byte & 0xdf) - 0x37);
  }
  return code;
}
