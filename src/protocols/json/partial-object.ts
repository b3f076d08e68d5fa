// A JSON object that arrives in pieces. After each character it is known whether the text can still become an object, so that a piece
// that makes the whole text unreadable is not sent.
import { MAX_LEVELS } from './raw-json.ts';

type Mode =
  | 'blank'
  | 'first name'
  | 'name'
  | 'colon'
  | 'value'
  | 'first item'
  | 'after'
  | 'string'
  | 'escape'
  | 'hex'
  | 'literal'
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent'
  | 'sign'
  | 'power'
  | 'whole'
  | 'broken';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const ESCAPED = '"\\/bfnrt';
const LITERALS: ReadonlyMap<string, string> = new Map([
  ['t', 'rue'],
  ['f', 'alse'],
  ['n', 'ull'],
]);
/** Of a string, all that is nothing but itself. */
// eslint-disable-next-line no-control-regex -- a raw control character is no JSON
const PLAIN = /[^"\\\x00-\x1f]*/y;

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isExponent(code: number): boolean {
  return (code | 0x20) === 0x65;
}

export class PartialObject {
  #mode: Mode = 'blank';
  /** The brackets that are open. */
  readonly #open: number[] = [];
  /** The string that is read is a member's name. */
  #isName = false;
  /** Of a literal, what must follow; of a \u escape, a character for each digit that is missing. */
  #rest = '';

  /** `blank`: nothing but white space came. `open`: something is missing. `broken`: no text that begins so is a JSON object. */
  get state(): 'blank' | 'open' | 'whole' | 'broken' {
    const mode = this.#mode;
    return mode === 'blank' || mode === 'whole' || mode === 'broken' ? mode : 'open';
  }

  /** False where the text has become `broken`. */
  push(piece: string): boolean {
    for (let at = 0; at < piece.length; at++) {
      if (this.#mode === 'string') {
        PLAIN.lastIndex = at;
        PLAIN.test(piece);
        at = PLAIN.lastIndex;
        if (at >= piece.length) break;
      }
      this.#mode = this.#next(piece.charCodeAt(at), piece, at);
      if (this.#mode === 'broken') return false;
    }
    return this.#mode !== 'broken';
  }

  /** What makes an `open` text whole but for its last brace; `empty`: it has no member then. */
  completion(): { text: string; empty: boolean } {
    const inner = this.#open
      .slice(1)
      .reverse()
      .map((bracket) => (bracket === OPEN_OBJECT ? '}' : ']'));
    const empty = this.#open.length === 1 && this.#mode === 'first name';
    return { text: this.#ending() + inner.join(''), empty };
  }

  #ending(): string {
    switch (this.#mode) {
      case 'string':
        return this.#isName ? '":null' : '"';
      case 'escape':
        return this.#isName ? '\\":null' : '\\"';
      case 'hex':
        return `${'0'.repeat(this.#rest.length)}${this.#isName ? '":null' : '"'}`;
      case 'literal':
        return this.#rest;
      case 'name':
        return '"":null';
      case 'colon':
        return ':null';
      case 'value':
        return 'null';
      case 'minus':
      case 'point':
      case 'exponent':
      case 'sign':
        return '0';
      default:
        return '';
    }
  }

  #next(code: number, piece: string, at: number): Mode {
    switch (this.#mode) {
      case 'string':
        if (code === QUOTE) return this.#isName ? 'colon' : 'after';
        return code === BACKSLASH ? 'escape' : 'broken';
      case 'escape':
        this.#rest = '0000';
        if (code === 0x75) return 'hex';
        return ESCAPED.includes(piece.charAt(at)) ? 'string' : 'broken';
      case 'hex':
        this.#rest = this.#rest.slice(1);
        if (!isDigit(code) && !((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)) return 'broken';
        return this.#rest === '' ? 'string' : 'hex';
      case 'literal':
        if (code !== this.#rest.charCodeAt(0)) return 'broken';
        this.#rest = this.#rest.slice(1);
        return this.#rest === '' ? 'after' : 'literal';
      case 'minus':
        if (code === 0x30) return 'zero';
        return isDigit(code) ? 'integer' : 'broken';
      case 'point':
        return isDigit(code) ? 'fraction' : 'broken';
      case 'exponent':
        return code === 0x2b || code === 0x2d ? 'sign' : isDigit(code) ? 'power' : 'broken';
      case 'sign':
        return isDigit(code) ? 'power' : 'broken';
      case 'zero':
      case 'integer':
      case 'fraction':
      case 'power':
        return this.#number(code);
      default:
        return isSpace(code) ? this.#mode : this.#structure(code, piece, at);
    }
  }

  /** A number that may end here. */
  #number(code: number): Mode {
    const mode = this.#mode;
    if (isDigit(code)) return mode === 'zero' ? 'broken' : mode;
    if (code === 0x2e && (mode === 'zero' || mode === 'integer')) return 'point';
    if (isExponent(code) && mode !== 'power') return 'exponent';
    return isSpace(code) ? 'after' : this.#after(code);
  }

  #structure(code: number, piece: string, at: number): Mode {
    switch (this.#mode) {
      case 'blank':
        return code === OPEN_OBJECT ? this.#down(code) : 'broken';
      case 'first name':
        if (code === CLOSE_OBJECT) return this.#after(code);
        return this.#string(code, true);
      case 'name':
        return this.#string(code, true);
      case 'colon':
        return code === 0x3a ? 'value' : 'broken';
      case 'first item':
        return code === CLOSE_ARRAY ? this.#after(code) : this.#value(code, piece, at);
      case 'value':
        return this.#value(code, piece, at);
      case 'after':
        return this.#after(code);
      default:
        return 'broken';
    }
  }

  #value(code: number, piece: string, at: number): Mode {
    if (code === QUOTE) return this.#string(code, false);
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) return this.#down(code);
    if (code === 0x30) return 'zero';
    if (isDigit(code)) return 'integer';
    if (code === 0x2d) return 'minus';
    this.#rest = LITERALS.get(piece.charAt(at)) ?? '';
    return this.#rest === '' ? 'broken' : 'literal';
  }

  #string(code: number, isName: boolean): Mode {
    this.#isName = isName;
    return code === QUOTE ? 'string' : 'broken';
  }

  #down(bracket: number): Mode {
    this.#open.push(bracket);
    if (this.#open.length > MAX_LEVELS) return 'broken';
    return bracket === OPEN_OBJECT ? 'first name' : 'first item';
  }

  /** What may stand behind a value. */
  #after(code: number): Mode {
    const inObject = this.#open.at(-1) === OPEN_OBJECT;
    if (code === COMMA) return inObject ? 'name' : 'value';
    if (code !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return 'broken';
    this.#open.pop();
    return this.#open.length === 0 ? 'whole' : 'after';
  }
}
