// JSON that changes when JavaScript parses and writes it: integers of 64 bits, `1.0`, the order of members whose names look like
// indexes. The source text of such an object is recorded, and the object is written as that text.
import { randomBytes } from 'node:crypto';
import { wellFormed, type JsonObject, type JsonValue } from '../../canonical/json.ts';

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

/** The JSON of an object: the text that it remembers, where it does. Half of a surrogate pair, which would be spelt, is replaced. */
export function rawObjectJson(value: JsonObject | JsonValue[]): string {
  const kept = texts.get(value);
  if (kept !== undefined) return kept;
  const json = JSON.stringify(value);
  return json.includes('\\ud') ? plainText(json) : json;
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

export function beginsWithDigit(name: string): boolean {
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
