// A JSON body that is read without becoming objects: its values are found on the tape, and parsed one by one when somebody asks for them.
import { isAscii } from 'node:buffer';
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import { Found, type Member, type Members, type Range } from './splice.ts';
import {
  BACKSLASH,
  END,
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
  type Tape,
} from './tape.ts';

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
    return this.isText ? textIn(this.#body.bytes, this.start, this.end) : undefined;
  }

  /** Its JSON as it is written, between these bytes of it. */
  spelling(from = 0, to = Infinity): string {
    const { start, end } = this;
    return this.#body.bytes.toString('utf8', start + Math.max(0, from), Math.min(start + to, end));
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

  /** The last member of that name, which is ASCII, as JSON.parse has it; undefined also for what is no object. */
  get(name: string): JsonNode | undefined {
    const { rows, bytes, escapedNames } = this.#body;
    if (bytes[this.start] !== OPEN_OBJECT) return undefined;
    const end = rows[this.#row + NEXT] ?? 0;
    let found = -1;
    for (let row = this.#row + ROW; row < end; row = rows[row + NEXT] ?? end) {
      const quote = rows[row + NAME] ?? 0;
      if (isNamed(bytes, quote, name) || (escapedNames && nameAt(bytes, quote) === name)) found = row;
    }
    return found === -1 ? undefined : new JsonNode(this.#body, found);
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
const LONGEST_ESCAPE = 6;

/** An object in bytes. */
export class JsonBody {
  readonly bytes: Buffer;
  readonly rows: Int32Array;
  readonly escapedNames: boolean;
  readonly members: Members;
  readonly root: JsonNode;
  readonly #lists = new Map<string, readonly JsonNode[]>();
  #encoding: 'latin1' | 'utf8' | undefined;
  #value: JsonObject | undefined;

  /** `bytes`: those of the tape, with an object as the root. */
  constructor(bytes: Buffer, { rows, escapedNames }: Tape) {
    this.bytes = bytes;
    this.rows = rows;
    this.escapedNames = escapedNames;
    this.root = new JsonNode(this, 0);
    this.members = membersOf(bytes, rows);
  }

  /** As JSON.parse gives it; of a large body, each member is parsed when it is read. */
  get value(): JsonObject {
    return (this.#value ??= this.bytes.length < LARGE ? (this.parse(this.root) as JsonObject) : this.#lazy());
  }

  member(name: string): JsonNode | undefined {
    return this.root.get(name);
  }

  /** The elements of a member that is a list; found once. undefined: it is none. */
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
    return JSON.parse(this.bytes.toString(this.#encoding, start, end)) as JsonValue;
  }

  #lazy(): JsonObject {
    const object: JsonObject = {};
    for (const member of this.members.list) this.#define(object, member);
    return object;
  }

  #define(object: JsonObject, member: Member): void {
    const { name } = member;
    const put = (value: JsonValue | undefined): void =>
      void Object.defineProperty(object, name, { ...OWN, value });
    Object.defineProperty(object, name, {
      configurable: true,
      enumerable: true,
      get: (): JsonValue => {
        const value = this.parse(member);
        put(value);
        return value;
      },
      set: put,
    });
  }
}

/** Bytes below which one parse of the whole is cheaper. */
const LARGE = 8192;

const OWN: PropertyDescriptor = { configurable: true, enumerable: true, writable: true };

/** The body in `bytes`, which are UTF-8. undefined: they are no JSON, no object, or beyond the bounds. */
export function readJson(bytes: Buffer, bounds: Bounds = UNBOUNDED): JsonBody | undefined {
  const tape = scanJson(bytes, bounds);
  if (tape === undefined || bytes[tape.rows[START] ?? 0] !== OPEN_OBJECT) return undefined;
  return new JsonBody(bytes, tape);
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

function membersOf(bytes: Buffer, rows: Int32Array): Members {
  const items: Member[] = [];
  const end = rows[NEXT] ?? 0;
  for (let row = ROW; row < end; row = rows[row + NEXT] ?? end) {
    const nameStart = rows[row + NAME] ?? 0;
    const name = nameAt(bytes, nameStart);
    items.push({ name, nameStart, start: rows[row + START] ?? 0, end: rows[row + END] ?? 0 });
  }
  const open = rows[START] ?? 0;
  const close = (rows[END] ?? 0) - 1;
  return new Found({ items, close, tooDeep: false }, open, rows.length / ROW);
}

function isNamed(bytes: Buffer, quote: number, name: string): boolean {
  return isAt(bytes, quote + 1, name) && bytes[quote + 1 + name.length] === QUOTE;
}

function isAt(bytes: Buffer, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

function nameAt(bytes: Buffer, quote: number): string {
  let end = quote + 1;
  while (bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  return textIn(bytes, quote, end + 1);
}

/** Names, roles and types come again and again: to find one is faster than to decode it. */
const known: (string | undefined)[] = new Array<undefined>(512).fill(undefined);
const LONGEST_KNOWN = 24;

/** The string from its quote to behind the other one. */
function textIn(bytes: Buffer, start: number, end: number): string {
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
