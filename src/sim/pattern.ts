// A text that a regular expression matches, for schemas with `pattern`. It is built from the expression alone and never
// run against it, so that no expression of a client can hold the process: look-around and back references are given up.

const PREFERRED =
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ .:/@#,;+*=!?%&$()[]{}<>|~^\'"`\\\t\n';
const MAX_LENGTH = 10_000;
/** Longer ones are given up: groups in groups are read by recursion. */
const MAX_PATTERN = 2000;

class Unsupported extends Error {}

/** A matching text of `min` to `max` characters, or undefined where none was found. */
export function textForPattern(pattern: string, min: number, max: number): string | undefined {
  if (pattern.length > MAX_PATTERN) return undefined;
  const most = Math.min(min, MAX_LENGTH) + 1;
  for (let repeats = 1; repeats <= most; repeats = repeats < 64 ? repeats + 1 : repeats * 2) {
    const text = build(pattern, repeats);
    if (text === undefined) return undefined;
    if (text.length >= min) return text.length <= max ? text : shortest(pattern, min, max);
  }
  return undefined;
}

function shortest(pattern: string, min: number, max: number): string | undefined {
  const text = build(pattern, 0);
  return text !== undefined && text.length >= min && text.length <= max ? text : undefined;
}

function build(pattern: string, repeats: number): string | undefined {
  try {
    const reader: Reader = { pattern, at: 0, repeats };
    const text = alternatives(reader);
    return reader.at === pattern.length ? text : undefined;
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

interface Reader {
  readonly pattern: string;
  at: number;
  /** How often what may repeat without end is repeated. */
  readonly repeats: number;
}

/** The first of `a|b|c`; the others are read over. */
function alternatives(reader: Reader): string {
  const first = sequence(reader);
  while (reader.pattern[reader.at] === '|') {
    reader.at += 1;
    sequence(reader);
  }
  return first;
}

function sequence(reader: Reader): string {
  let text = '';
  for (;;) {
    const char = reader.pattern[reader.at];
    if (char === undefined || char === '|' || char === ')') return text;
    const atom = readAtom(reader, char);
    const count = readCount(reader);
    if (text.length + atom.length * count > MAX_LENGTH) throw new Unsupported();
    text += atom.repeat(count);
  }
}

function readAtom(reader: Reader, char: string): string {
  if (char === '(') return group(reader);
  if (char === '^' || char === '$') {
    reader.at += 1;
    return '';
  }
  const match =
    /\[\^?\]?(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|.)|[^]/uy;
  match.lastIndex = reader.at;
  const source = match.exec(reader.pattern)?.[0];
  if (source === undefined) throw new Unsupported();
  reader.at += source.length;
  if (/^\\[bB1-9k]/.test(source)) throw new Unsupported();
  return source.length === 1 && source !== '.' ? source : matching(source);
}

function group(reader: Reader): string {
  reader.at += 1;
  const opening = /\?(?::|<(?![=!])[^>]*>)/y;
  opening.lastIndex = reader.at;
  const kind = opening.exec(reader.pattern)?.[0];
  if (kind !== undefined) reader.at += kind.length;
  else if (reader.pattern[reader.at] === '?') throw new Unsupported();
  const text = alternatives(reader);
  if (reader.pattern[reader.at] !== ')') throw new Unsupported();
  reader.at += 1;
  return text;
}

function readCount(reader: Reader): number {
  const quantifier = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
  quantifier.lastIndex = reader.at;
  const found = quantifier.exec(reader.pattern);
  if (found === null) return 1;
  reader.at += found[0].length;
  const [, mark, from, comma, to] = found;
  if (mark === '*') return reader.repeats;
  if (mark === '+') return Math.max(1, reader.repeats);
  if (mark === '?') return Math.min(1, reader.repeats);
  const least = Number(from);
  if (comma === '') return least;
  return to === '' ? Math.max(least, reader.repeats) : Math.min(Math.max(least, reader.repeats), Number(to));
}

/** A character of a class or an escape, found by asking the expression engine about one character at a time. */
function matching(source: string): string {
  const expression = compile(`^(?:${source})$`);
  const own = [...source.replace(/^\[\^?|\]$|\\/g, '')];
  const char = [...PREFERRED, ...own, 'é', '中'].find((candidate) => expression.test(candidate));
  if (char === undefined) throw new Unsupported();
  return char;
}

function compile(source: string): RegExp {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags);
    } catch {
      // Not every expression that is meant without `u` is right with it.
    }
  }
  throw new Unsupported();
}
