// JSON as local models write it: single quotes, bare names, commas and brackets too many or missing, Python's constants, an end that
// was cut off. One pass over the text, whatever it is.
import { isObject, type JsonObject, type JsonValue } from '../canonical/json.ts';

/** Levels of nesting; deeper text is no call. */
const MAX_DEPTH = 128;

interface Tolerant {
  value: JsonValue;
  /** The text ended before the value did: brackets alone are missing, or the rest of a string. */
  cut: 'brackets' | 'string' | undefined;
}

/** Undefined where the text is no JSON value with nothing but stray brackets, commas and white space behind it. */
export function readTolerant(text: string): Tolerant | undefined {
  const reader = new Reader(text);
  try {
    const value = reader.value(0);
    return reader.isAtEnd() ? { value, cut: reader.cut } : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

/** An object with members in quotes, or an empty one: a name of a command before it is no JSON. */
const OPENING = /\{\s*["'}]/;

/** The first object with members, whatever stands before and behind it: a sentence, a code fence, another object. */
export function readTolerantWithin(text: string): JsonValue | undefined {
  const start = text.search(OPENING);
  if (start === -1) return undefined;
  const reader = new Reader(text, start);
  try {
    return reader.firstObject();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

class Unreadable extends Error {}

const CONSTANTS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
  ['undefined', null],
  ['NaN', null],
  ['Infinity', null],
  ['-Infinity', null],
]);
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const CONSTANT = /-?[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const SPACE = /\s*/y;
const STRAY = /[\s,\]}]*$/y;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const BACKSLASH = 0x5c;
/** Empty objects before the whole one. */
const MOST_EMPTY = 100;

class Reader {
  readonly #text: string;
  #at: number;
  cut: Tolerant['cut'];

  constructor(text: string, at = 0) {
    this.#text = text;
    this.#at = at;
  }

  isAtEnd(): boolean {
    return this.#match(STRAY) !== undefined && this.#at === this.#text.length;
  }

  /** Past empty ones: servers begin a call with `{}` and send the whole one behind it. */
  firstObject(): JsonValue {
    for (let empty = 0; empty < MOST_EMPTY; empty++) {
      const object = this.value(0);
      if (!isObject(object) || Object.keys(object).length > 0) return object;
      this.#match(/[^{]*/y);
      if (this.#at === this.#text.length) return object;
    }
    throw new Unreadable();
  }

  value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new Unreadable();
    this.#match(SPACE);
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#list(depth);
    if (first === '"' || first === "'") return this.#string(first);
    const number = this.#match(NUMBER);
    if (number !== undefined) return Number(number);
    const constant = CONSTANTS.get(this.#match(CONSTANT) ?? '');
    if (constant === undefined) throw new Unreadable();
    return constant;
  }

  #object(depth: number): JsonObject {
    // Without a prototype, a member of any name is a member.
    const object = Object.create(null) as JsonObject;
    this.#at++;
    while (this.#goesOn('}')) {
      const name = this.#name();
      this.#match(SPACE);
      if (this.#at === this.#text.length) this.cut ??= 'brackets';
      if (this.cut !== undefined) break;
      if (this.#text[this.#at] !== ':') throw new Unreadable();
      this.#at++;
      this.#match(SPACE);
      if (this.#at === this.#text.length) this.cut ??= 'brackets';
      if (this.cut !== undefined) break;
      object[name] = this.value(depth + 1);
    }
    return { ...object };
  }

  #list(depth: number): JsonValue[] {
    const list: JsonValue[] = [];
    this.#at++;
    while (this.#goesOn(']')) list.push(this.value(depth + 1));
    return list;
  }

  /** To the next item; false behind the closing bracket, or where the text ends. */
  #goesOn(close: string): boolean {
    this.#match(/[\s,]*/y);
    if (this.#at === this.#text.length) this.cut ??= 'brackets';
    if (this.cut !== undefined) return false;
    if (this.#text[this.#at] !== close) return true;
    this.#at++;
    return false;
  }

  #name(): string {
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") return this.#string(first);
    const word = this.#match(WORD);
    if (word === undefined) throw new Unreadable();
    return word;
  }

  #string(quote: string): string {
    const text = this.#text;
    const closing = quote.charCodeAt(0);
    const pieces: string[] = [];
    let from = this.#at + 1;
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === closing && isClosing(text, at + 1)) {
        this.#at = at + 1;
        return pieces.join('') + text.slice(from, at);
      }
      if (code !== BACKSLASH) continue;
      pieces.push(text.slice(from, at));
      this.#at = at + 1;
      pieces.push(this.#escape());
      from = this.#at;
      at = from - 1;
    }
    this.cut = 'string';
    this.#at = text.length;
    return pieces.join('') + text.slice(from);
  }

  #escape(): string {
    const next = this.#text[this.#at];
    if (next === undefined) {
      this.cut = 'string';
      return '';
    }
    this.#at++;
    if (next === 'u') {
      const digits = this.#match(/[\da-fA-F]{4}/y);
      return digits === undefined ? '\\u' : String.fromCharCode(parseInt(digits, 16));
    }
    if ('"\'\\/\n'.includes(next)) return next;
    // A path of Windows, or an expression: the backslash is meant.
    return ESCAPES[next] ?? `\\${next}`;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** Whether a quote before `from` ends its string: one that the model did not escape has more of the sentence behind it. */
function isClosing(text: string, from: number): boolean {
  let at = from;
  while (/\s/.test(text.charAt(at))) at++;
  return at === text.length || ',:}]'.includes(text.charAt(at));
}
