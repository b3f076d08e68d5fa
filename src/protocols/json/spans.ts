// Judges JSON in its bytes exactly as JSON.parse does, in one pass, and notes where each value stands. What is read of a body is found
// by these spans, so that no objects are made of the rest (docs/decisions/0023).

/** Numbers of each value, and their places among them. */
export const ROW = 4;
/** Where the quote of its name stands; -1: an element, or the root. */
export const NAME = 0;
export const START = 1;
/** Behind the last byte. */
export const END = 2;
/** The row of the next value that is not inside this one. */
export const NEXT = 3;

/** Where all values of a body stand: a row for each, before those inside it. */
export interface Spans {
  /** Longer than `used`. */
  rows: Int32Array;
  /** Numbers in them that belong to this body. */
  used: number;
  /** Some name is written with an escape. */
  escapedNames: boolean;
}

export interface Bounds {
  /** Levels of objects and arrays; the root is the first. */
  maxDepth: number;
  /** The root, each member and each element. Names do not count. */
  maxValues: number;
}

export const UNBOUNDED: Bounds = { maxDepth: Infinity, maxValues: Infinity };

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_OBJECT = 0x7b;
export const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Rows of bodies that are read no more. An array for a long body gets memory pages of its own, which V8 counts beside its heap. */
const spare: Int32Array[] = [];
const MOST_SPARE = 8;
const LONGEST_SPARE = 32_768 * ROW;
const FEW_ROWS = 256;

export function giveBack(rows: Int32Array): void {
  if (rows.length <= LONGEST_SPARE && spare.length < MOST_SPARE) spare.push(rows);
}

/** `bytes`: valid UTF-8. undefined: they are not JSON, or beyond the bounds. */
export function scanJson(bytes: Buffer, { maxDepth, maxValues }: Bounds): Spans | undefined {
  const strings = new Strings(bytes);
  const outer: number[] = [];
  let rows = spare.pop() ?? new Int32Array(FEW_ROWS * ROW);
  let used = 0;
  let at = 0;
  let name = -1;
  /** The row of the object or array that is open; -1: none. */
  let open = -1;
  let isNamed = false;
  for (;;) {
    if (isNamed) {
      name = skipSpace(bytes, at);
      at = behindColon(bytes, strings.endOfName(name));
      if (at === -1) return undefined;
    }
    at = skipSpace(bytes, at);
    if (used >= maxValues * ROW) return undefined;
    if (used === rows.length) rows = doubled(rows);
    rows[used + NAME] = name;
    rows[used + START] = at;
    const first = bytes[at];
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      if (outer.length >= maxDepth) return undefined;
      outer.push(open);
      open = used;
      used += ROW;
      isNamed = first === OPEN_OBJECT;
      name = -1;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== (isNamed ? CLOSE_OBJECT : CLOSE_ARRAY)) continue;
    } else {
      at = first === QUOTE ? strings.end(at) : scalarEnd(bytes, at);
      if (at === -1) return undefined;
      rows[used + END] = at;
      used += ROW;
      rows[used - ROW + NEXT] = used;
    }
    // Behind a value: what is open ends, or goes on.
    for (;;) {
      at = skipSpace(bytes, at);
      if (open === -1)
        return at === bytes.length ? { rows, used, escapedNames: strings.escapedNames } : undefined;
      const byte = bytes[at++];
      if (byte === COMMA) break;
      if (byte !== (isNamed ? CLOSE_OBJECT : CLOSE_ARRAY)) return undefined;
      rows[open + END] = at;
      rows[open + NEXT] = used;
      open = outer.pop() ?? -1;
      isNamed = open !== -1 && bytes[rows[open + START] ?? 0] === OPEN_OBJECT;
    }
  }
}

function doubled(rows: Int32Array): Int32Array {
  const larger = new Int32Array(rows.length * 2);
  larger.set(rows);
  return larger;
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  // A read behind the end would be undefined, for which V8 gives compiled code up.
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    // Mostly there is none: the first comparison suffices.
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
  }
  return at;
}

/** The place behind the colon that follows a name; -1: there is none. */
function behindColon(bytes: Buffer, nameEnd: number): number {
  if (nameEnd === -1) return -1;
  const at = skipSpace(bytes, nameEnd);
  return bytes[at] === COLON ? at + 1 : -1;
}

/** Behind the number, `true`, `false` or `null` at `at`; -1: there is none. */
function scalarEnd(bytes: Buffer, at: number): number {
  switch (bytes[at]) {
    case 0x74:
      return wordEnd(bytes, at, 'true');
    case 0x66:
      return wordEnd(bytes, at, 'false');
    case 0x6e:
      return wordEnd(bytes, at, 'null');
    default:
      return numberEnd(bytes, at);
  }
}

function wordEnd(bytes: Buffer, start: number, word: string): number {
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word.charCodeAt(at)) return -1;
  return start + word.length;
}

const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

function numberEnd(bytes: Buffer, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at);
  if (at !== -1 && bytes[at] === POINT) at = digitsEnd(bytes, at + 1);
  if (at === -1) return -1;
  const exponent = bytes[at];
  if (exponent !== 0x65 && exponent !== 0x45) return at;
  const sign = bytes[at + 1];
  return digitsEnd(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
}

/** Behind the digits at `start`; -1: there are none. */
function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = bytes[++at]);
  return at === start ? -1 : at;
}

/** Bytes that end a stretch of a string: its quote, an escape, or a control character, which is not allowed. */
const ENDS_STRETCH = new Uint8Array(256).fill(1, 0, 0x20);
ENDS_STRETCH[QUOTE] = 1;
ENDS_STRETCH[BACKSLASH] = 1;

/** Bytes of an escape by its letter. */
const ESCAPE_BYTES = new Uint8Array(256);
for (const letter of '"\\/bfnrt') ESCAPE_BYTES[letter.charCodeAt(0)] = 2;
ESCAPE_BYTES[0x75] = 6;

const IS_HEX = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') IS_HEX[digit.charCodeAt(0)] = 1;

/** Most strings are short: they are read by bytes. */
const SHORT = 16;
const NO_WORDS = new Int32Array(0);

/** Finds the ends of strings: long ones by words of four bytes, which takes a fifth of the time. */
class Strings {
  escapedNames = false;
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  /** Bytes of the first word that stand before `#bytes`. */
  readonly #before: number;
  /** Where the next quote and the next backslash stand, as far as they were searched. */
  #quote = -1;
  #slash = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#before = bytes.byteOffset % 4;
    this.#words =
      bytes.length < 2 * SHORT
        ? NO_WORDS
        : new Int32Array(bytes.buffer, bytes.byteOffset - this.#before, (this.#before + bytes.length) >> 2);
  }

  /** Behind the name whose quote is at `open`; -1: none begins there. */
  endOfName(open: number): number {
    if (this.#bytes[open] !== QUOTE) return -1;
    const stretch = this.#stretchEnd(open + 1);
    if (this.#bytes[stretch] === QUOTE) return stretch + 1;
    this.escapedNames = true;
    return this.#endFrom(stretch);
  }

  /** Behind the string whose quote is at `open`; -1: it does not end, or holds what no string may. */
  end(open: number): number {
    return this.#endFrom(this.#stretchEnd(open + 1));
  }

  #endFrom(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (;;) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH) return -1;
      const length = ESCAPE_BYTES[bytes[at + 1] ?? 0] ?? 0;
      if (length === 0 || (length === 6 && !this.#isHex(at + 2))) return -1;
      at = this.#stretchEnd(at + length);
    }
  }

  #isHex(from: number): boolean {
    for (let at = from; at < from + 4; at++) if (IS_HEX[this.#bytes[at] ?? 0] !== 1) return false;
    return true;
  }

  /** The same of a long stretch: only control characters are looked for in the words. */
  #longEnd(from: number): number {
    this.#quote = nextOf(QUOTE, this.#bytes, this.#quote, from);
    this.#slash = nextOf(BACKSLASH, this.#bytes, this.#slash, from);
    const end = Math.min(this.#quote, this.#slash);
    const words = this.#words;
    const before = this.#before;
    const last = (end + before) >> 2;
    let word = (from + before) >> 2;
    while (word < last && (((words[word] ?? 0) - 0x20202020) & ~(words[word] ?? 0) & 0x80808080) === 0)
      word++;
    return Math.max(from, word * 4 - before);
  }

  /** The first byte at or behind `from` that ends a stretch, or the end of the bytes. */
  #stretchEnd(from: number): number {
    const bytes = this.#bytes;
    const near = Math.min(from + SHORT, bytes.length);
    let at = from;
    while (at < near && ENDS_STRETCH[bytes[at] ?? 0] === 0) at++;
    if (at < near) return at;
    // The bytes before the next word are looked at twice.
    const words = this.#words;
    const before = this.#before;
    let word = (at + before) >> 2;
    const far = Math.min(word + LONG_WORDS, words.length);
    while (word < far && !endsStretch(words[word] ?? 0)) word++;
    at = Math.max(at, word * 4 - before);
    if (word === far && far < words.length) at = this.#longEnd(at);
    while (at < bytes.length && ENDS_STRETCH[bytes[at] ?? 0] === 0) at++;
    return at;
  }
}

/** Words of a string behind which its end is searched by the machine's own search: an image has a million. */
const LONG_WORDS = 256;

/** The place of `byte`, whose first occurrence behind an earlier place was `known`, behind `from`; the end of the bytes if it is not there. */
function nextOf(byte: number, bytes: Buffer, known: number, from: number): number {
  if (known >= from) return known;
  const found = bytes.indexOf(byte, from);
  return found === -1 ? bytes.length : found;
}

/** Whether one of the four bytes does: https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord */
function endsStretch(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const slashes = word ^ 0x5c5c5c5c;
  const found =
    ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
  return (found & 0x80808080) !== 0;
}
