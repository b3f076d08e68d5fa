// Finds where the members of a JSON object stand in its bytes, and changes a body there, so that it is not written anew. The scan does not
// validate: what it reads is known to be JSON, or JSON.parse judges it afterwards. It also counts the values that JSON.parse would
// create, which may need a thousand times the memory and time of the bytes.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Traits } from '../../canonical/traits.ts';
import { skipSpace } from './spans.ts';

export interface Range {
  start: number;
  /** Behind the last byte. */
  end: number;
}

/** A member: the range of its value, and its name without escapes. */
export interface Member extends Range {
  name: string;
  /** Where the name's quote stands. */
  nameStart: number;
}

export interface Members {
  list: readonly Member[];
  /** The member that JSON.parse would give: the last of its name. */
  get(name: string): Member | undefined;
  /** Names that are there more than once, whatever the case of their letters. */
  duplicates: readonly string[];
  /** More levels than allowed: the scan stopped there. */
  tooDeep: boolean;
  /** JSON values in the bytes: the root, each member and each element. Names do not count. */
  values: number;
  /** Offsets of the object's braces; -1: absent. */
  open: number;
  close: number;
}

export interface Edit extends Range {
  text: string | Buffer;
}
export type Addition = (members: Members) => Edit;

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** The members of the object in `bytes`, which is the first of `maxDepth` levels. `ascii`: the bytes as text, where all are ASCII. */
export function scanMembers(bytes: Buffer, maxDepth: number, ascii?: string): Members {
  const open = skipSpace(bytes, 0);
  if (bytes[open] !== OPEN_OBJECT) {
    const { tooDeep, values } = measureJson(bytes, maxDepth, ascii);
    return new Found({ items: [], close: -1, tooDeep }, -1, values);
  }
  const source = new JsonSource(bytes, ascii);
  const found = readItems(source, open, maxDepth);
  return new Found(found, open, source.values + 1);
}

export type Size = Pick<Members, 'tooDeep' | 'values'>;

/** The levels and values of the JSON in `bytes`, whatever its root is. Arguments as those of `scanMembers`. */
export function measureJson(bytes: Buffer, maxDepth: number, ascii?: string): Size {
  const source = new JsonSource(bytes, ascii);
  const end = skipValue(source, skipSpace(bytes, 0), maxDepth);
  return { tooDeep: end < 0, values: source.values };
}

/** A class, since one is created for every request. It has no map: most requests look up one or two members. */
export class Found implements Members {
  readonly list: readonly Member[];
  readonly duplicates: readonly string[];
  readonly tooDeep: boolean;
  readonly values: number;
  readonly open: number;
  readonly close: number;

  constructor({ items, close, tooDeep }: Items, open: number, values: number) {
    this.list = items;
    this.values = values;
    this.duplicates = namesGivenTwice(items);
    this.tooDeep = tooDeep;
    this.open = open;
    this.close = close;
  }

  get(name: string): Member | undefined {
    return this.list.findLast((member) => member.name === name);
  }
}

const NONE: readonly string[] = [];
const FEW = 24;

/** Servers in Go take names for the same that differ in the case of letters alone: https://pkg.go.dev/encoding/json#Unmarshal */
function namesGivenTwice(items: readonly Member[]): readonly string[] {
  if (items.length <= FEW && items.every(({ name }, at) => LOWER.test(name) && isFirst(items, name, at)))
    return NONE;
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { name } of items) {
    const folded = name.toUpperCase().toLowerCase();
    if (seen.has(folded)) twice.add(name);
    seen.add(folded);
  }
  return [...twice];
}

const LOWER = /^[a-z0-9_]*$/;

function isFirst(items: readonly Member[], name: string, at: number): boolean {
  for (let before = 0; before < at; before++) if (items[before]?.name === name) return false;
  return true;
}

/** The members of the object at `start`, or the elements of the array, whose names are their indexes. Other values have none. */
export const rangesOf = (bytes: Buffer, start: number, end: number): Member[] =>
  itemsAt(new JsonSource(bytes.subarray(0, end)), start);
/** The same for valid JSON that is read at many places; the window only serves to read on. */
export function itemsAt(source: JsonSource, start: number): Member[] {
  if (start < source.base) [source.text, source.base] = ['', 0];
  return readItems(source, start, Infinity).items;
}

/** What to cut so that the elements at `indexes` are gone and the commas are right; never all of them. */
export function cutsOf(spans: readonly Range[], indexes: readonly number[]): Range[] {
  const gone = new Set(indexes);
  const firstKept = spans.findIndex((_, index) => !gone.has(index));
  return indexes.flatMap((index) => {
    const span = spans[index];
    if (span === undefined) return [];
    // Before the first element that stays, the comma after goes too; later on, the comma before.
    const next = spans[index + 1];
    const previous = spans[index - 1];
    if (index < firstKept) return next === undefined ? [] : [{ start: span.start, end: next.start }];
    return previous === undefined ? [] : [{ start: previous.end, end: span.end }];
  });
}

/** `bytes` with every edit's range replaced by its text. Ranges must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const inOrder = [...edits].sort((a, b) => a.start - b.start);
  let grown = 0;
  for (const { start, end, text } of inOrder) grown += Buffer.byteLength(text) - (end - start);
  const spliced = Buffer.allocUnsafe(bytes.length + grown);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of inOrder) {
    if (start < from || end < start || end > bytes.length)
      throw new RangeError('edits overlap or leave the bytes');
    to += bytes.copy(spliced, to, from, start);
    to += typeof text === 'string' ? spliced.write(text, to) : text.copy(spliced, to);
    from = end;
  }
  bytes.copy(spliced, to, from);
  return spliced;
}

interface Items {
  items: Member[];
  close: number;
  tooDeep: boolean;
}

const NO_MEMBERS: readonly Member[] = [];

function readItems(source: JsonSource, open: number, maxDepth: number): Items {
  const { bytes } = source;
  // No literal, for the reason for which a member is of a class.
  const items = NO_MEMBERS.slice();
  const kind = bytes[open];
  const named = kind === OPEN_OBJECT;
  if (!named && kind !== OPEN_ARRAY) return { items, close: -1, tooDeep: false };
  const last = named ? CLOSE_OBJECT : CLOSE_ARRAY;
  let at = skipSpace(bytes, open + 1);
  if (maxDepth < 1) return { items, close: -1, tooDeep: true };
  if (bytes[at] === last) return { items, close: at, tooDeep: false };
  while (at < bytes.length) {
    const nameStart = at;
    let name = named ? '' : String(items.length);
    if (named) {
      if (bytes[at] !== QUOTE) break;
      const nameEnd = source.skipString(at);
      name = source.readName(at, nameEnd);
      at = skipSpace(bytes, nameEnd);
      if (bytes[at] !== COLON) break;
      at = skipSpace(bytes, at + 1);
    }
    const end = skipValue(source, at, maxDepth - 1);
    if (end < 0) return { items, close: -1, tooDeep: true };
    items.push({ name, nameStart, start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === last) return { items, close: at, tooDeep: false };
    if (bytes[at] !== COMMA) break;
    at = skipSpace(bytes, at + 1);
  }
  return { items, close: -1, tooDeep: false };
}

/** The place after the value at `from`, or -1 if it has more than `levels` levels. Adds its values to those of the source. */
export function skipValue(source: JsonSource, from: number, levels: number): number {
  const { bytes } = source;
  const first = bytes[from];
  source.values++;
  if (first === QUOTE) return source.skipString(from);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(bytes, from);
  let depth = 0;
  // One for what stands first in each object and array, and one for each comma.
  let inner = 0;
  let at = from;
  let { text, base } = source;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const found = text.indexOf('"', at - base + 1);
      if (found !== -1 && bytes[base + found - 1] !== BACKSLASH) {
        at = base + found + 1;
        continue;
      }
      at = source.skipString(at);
      ({ text, base } = source);
      continue;
    }
    at++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++depth > levels) return -1;
      inner++;
    } else if (byte === COMMA) {
      inner++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (isBehindOpening(bytes, at - 1)) inner--;
      if (--depth === 0) break;
    }
  }
  source.values += inner;
  return at;
}

/** Nothing but white space stands between the bracket at `close` and an opening one. */
function isBehindOpening(bytes: Buffer, close: number): boolean {
  let at = close - 1;
  let byte = bytes[at];
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[--at];
  return byte === OPEN_OBJECT || byte === OPEN_ARRAY;
}

function skipScalar(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === undefined || byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)
      break;
    at++;
  }
  return at;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Bytes that are decoded at once: a larger string gets memory pages of its own, which is several times slower. */
const WINDOW = 65_536;
/** V8 copies a slice up to this length; a longer one would keep the whole window in memory. */
const COPIED = 12;

/**
 * The bytes, and a window of them as text with one character a byte: to find quotes, `indexOf` of a string is faster than that of a
 * Buffer, and both are faster than a loop over the bytes.
 */
export class JsonSource {
  readonly bytes: Buffer;
  text: string;
  /** Where `text` begins in the bytes. */
  base = 0;
  /** JSON values that were skipped in it. */
  values = 0;

  /** `ascii`: all of the bytes as text, if the caller has it and they are ASCII. */
  constructor(bytes: Buffer, ascii = '') {
    this.bytes = bytes;
    this.text = ascii;
  }

  /** The offset behind the string whose opening quote is at `open`; the end of the bytes if it is never closed. */
  skipString(open: number): number {
    const { bytes } = this;
    let quote = open;
    for (;;) {
      quote = this.#find(quote + 1);
      if (quote === -1) return bytes.length;
      if (bytes[quote - 1] !== BACKSLASH) return quote + 1;
      let slash = quote - 1;
      while (slash > open + 1 && bytes[slash - 1] === BACKSLASH) slash--;
      if ((quote - slash) % 2 === 0) return quote + 1;
    }
  }

  /** The offset of the first quote at or behind `from`; -1: not found. */
  #find(from: number): number {
    const end = this.base + this.text.length;
    if (from >= end || from < this.base) return this.#findAnew(from);
    const found = this.text.indexOf('"', from - this.base);
    // A string that continues beyond the window is long: the bytes are searched at once.
    return found === -1 ? this.bytes.indexOf(QUOTE, end) : this.base + found;
  }

  #findAnew(from: number): number {
    this.base = from;
    this.text = this.bytes.toString('latin1', from, from + WINDOW);
    const found = this.text.indexOf('"');
    return found === -1 ? this.bytes.indexOf(QUOTE, from + this.text.length) : from + found;
  }

  /** The name between the quotes, without its escapes. */
  readName(start: number, end: number): string {
    const from = start + 1 - this.base;
    const to = end - 1 - this.base;
    if (from >= 0 && to - from <= COPIED && to <= this.text.length) {
      const short = this.text.slice(from, to);
      if (isPlain(short)) return short;
    }
    const text = this.bytes.toString('utf8', start + 1, end - 1);
    if (!text.includes('\\')) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return text;
    }
  }
}

/** ASCII without escapes. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x80 || code === BACKSLASH) return false;
  }
  return true;
}

/** What is read of the target of a relayed body (`RelayTarget`). */
interface Target {
  upstream: string;
  traits: Pick<Traits, 'thinkingOff'>;
  withoutThinking?: unknown;
}

/**
 * A body for a provider of the same protocol. `cleaned`: the bytes without parts that no provider accepts. `asks`: members that the
 * gateway adds or changes. `without`: a member that this provider must not get. `thinks`: thinking stays on although that of earlier turns is
 * left out.
 */
export function rewriteBody(
  { bytes, members, value }: { bytes: Buffer; members: Members; value: JsonObject },
  target: Target,
  {
    cleaned = bytes,
    asks = [],
    without,
    thinks = false,
  }: { cleaned?: Buffer; asks?: readonly Addition[]; without?: string; thinks?: boolean },
): { bytes: Buffer; thinkingCut: boolean } {
  const withoutThinking = target.withoutThinking !== undefined;
  const places = cleaned === bytes ? members : scanMembers(cleaned, Infinity);
  const edits: Edit[] = [];
  const model = places.get('model');
  if (model !== undefined && value.model !== target.upstream) {
    edits.push({ start: model.start, end: model.end, text: JSON.stringify(target.upstream) });
  }
  for (const ask of asks) edits.push(ask(places));
  if (without !== undefined) edits.push(...memberCut(places, without));
  // A tool turn that starts without thinking cannot continue with it, so it is switched off if the model allows that.
  const switchedOff = withoutThinking && !thinks && asksForThinking(value, target);
  const thinking = switchedOff ? places.get('thinking') : undefined;
  if (thinking !== undefined) {
    edits.push({ start: thinking.start, end: thinking.end, text: '{"type":"disabled"}' });
  }
  return {
    bytes: edits.length === 0 ? cleaned : splice(cleaned, edits),
    thinkingCut: thinking !== undefined || (withoutThinking && cleaned !== bytes),
  };
}

/** What to cut so that a member is gone, its name and its comma with it; nothing if it is not there or is the only one. */
function memberCut({ list }: Members, name: string): Edit[] {
  const index = list.findIndex((member) => member.name === name);
  if (index < 0 || list.length === 1) return [];
  const spans = list.map(({ nameStart, end }) => ({ start: nameStart, end }));
  return cutsOf(spans, [index]).map((span) => ({ ...span, text: '' }));
}

/** Whether the request turns on thinking that can be switched off: some models allow that only up to an effort, some never. */
function asksForThinking({ thinking, output_config: output }: JsonObject, { traits }: Target): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return false;
  if (traits.thinkingOff !== 'up_to_high') return traits.thinkingOff === 'always';
  return !isObject(output) || (output.effort !== 'xhigh' && output.effort !== 'max');
}
