// What the editors of the settings' formats have in common: values, paths into them, and edits of a text that leave all other bytes.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/** A member of an object, or the item of a list whose members are these. */
export type Segment = string | Readonly<Record<string, string>>;
export type Path = readonly Segment[];

export interface Edit {
  path: Path;
  value: Json;
  /** The value belongs to the gateway whole: it is taken out even if the user changed something inside. */
  entry?: true;
  /** The value is one line of a text: the user's own lines stay beside it, and it is taken out alone. */
  line?: true;
}

/** Names of members and indexes of items that lead to a value. */
export type Names = readonly (string | number)[];

/** The place in a text of a name, or of a value without members or items. */
export interface Token {
  from: number;
  to: number;
  kind: 'name' | 'value';
  names: Names;
  /** A name, a text, a number or a date as text; undefined: null, or a boolean. */
  text: string | undefined;
}

export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return value instanceof Date ? value.toISOString() : undefined;
}

/** What a text repeats by a reference: the value between two offsets, also at another path. */
interface Repeated {
  from: number;
  to: number;
  names: Names;
}

/** A text of one format. `set` and `remove` change nothing but the value at the path. All throw DocumentError. */
export interface Editor {
  /** undefined: the text holds no value (empty, or comments alone). */
  read(text: string): Json | undefined;
  /** Creates what is missing on the way. */
  set(text: string, path: Path, value: Json): string;
  /** The value must be there. */
  remove(text: string, path: Path): string;
  /** Whether nothing but white space would be left without the value. */
  isBlank(text: string): boolean;
  /** Names and values, in the order of the text. Between them are punctuation and comments alone. */
  tokens(text: string): { tokens: Token[]; repeated: Repeated[] };
}

/** A text that is not valid, or that has another type than expected at a path. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
  /** An offset of the text. */
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** `3:14`: line and column, from 1. */
export function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return `${line}:${at - (before.lastIndexOf('\n') + 1) + 1}`;
}

/** `modelProviders.openai[id=auto].baseUrl` */
export function formatSegments(path: Path): string {
  const parts = path.map((segment) =>
    typeof segment === 'string'
      ? `.${/^[\w$-]+$/.test(segment) ? segment : JSON.stringify(segment)}`
      : `[${Object.entries(segment)
          .map(([name, value]) => `${name}=${value}`)
          .join(',')}]`,
  );
  return parts.join('').replace(/^\./, '');
}

export const isRecord = (value: Json | undefined): value is { readonly [member: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** Whether an item of a list is the one that a segment names. */
export function matches(item: Json | undefined, segment: Readonly<Record<string, string>>): boolean {
  return isRecord(item) && Object.entries(segment).every(([name, value]) => item[name] === value);
}

function step(value: Json | undefined, segment: Segment): Json | undefined {
  if (typeof segment !== 'string')
    return isList(value) ? value.find((item) => matches(item, segment)) : undefined;
  return isRecord(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce(step, value);
}

/** How many segments of the path lead to a value. */
export function depthOf(value: Json | undefined, path: Path): number {
  const missing = path.findIndex((_, at) => valueAt(value, path.slice(0, at + 1)) === undefined);
  return missing < 0 ? path.length : missing;
}

/** The value with containers around it for the segments. */
export function nested(path: Path, value: Json): Json {
  return path.reduceRight<Json>(
    (inner, segment) => (typeof segment === 'string' ? { [segment]: inner } : [inner]),
    value,
  );
}

export const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** A replacement in a text. */
export interface Splice {
  from: number;
  to: number;
  text: string;
}

/** Line breaks of the new pieces become those of the text. */
export function spliced(text: string, splices: readonly Splice[]): string {
  const ordered = [...splices].sort((one, other) => other.from - one.from || other.to - one.to);
  return ordered.reduce(
    (result, { from, to, text: piece }) => result.slice(0, from) + withBreaks(piece, text) + result.slice(to),
    text,
  );
}

const withBreaks = (piece: string, text: string): string =>
  /^[^\n]*\r\n/.test(text) ? piece.replace(/\r?\n/g, '\r\n') : piece;

/** The offset of the line's first character. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** The offset of the line's break, before its carriage return; the end of the text in its last line. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  if (end < 0) return text.length;
  return text[end - 1] === '\r' && end > at ? end - 1 : end;
}

/** A copy of the value with another one at the path. */
export function assigned(value: Json | undefined, path: Path, inner: Json): Json {
  const [segment, ...rest] = path;
  if (segment === undefined) return inner;
  if (typeof segment === 'string') {
    const members = isRecord(value) ? value : {};
    return { ...members, [segment]: assigned(step(members, segment), rest, inner) };
  }
  const items = isList(value) ? value : [];
  const at = items.findIndex((item) => matches(item, segment));
  if (at < 0) return [...items, assigned(undefined, rest, inner)];
  return items.map((item, index) => (index === at ? assigned(item, rest, inner) : item));
}

/** Whatever the order of members. */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  const member = (value: object, name: string): unknown => (value as Record<string, unknown>)[name];
  if (one instanceof Date || other instanceof Date) return JSON.stringify(one) === JSON.stringify(other);
  return (
    names.length === others.length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(member(one, name), member(other, name)))
  );
}

/** Parses a text once, however often an edit reads it one after the other. */
export function parsedOnce<Parsed>(parse: (text: string) => Parsed): (text: string) => Parsed {
  let latest: { text: string; parsed: Parsed } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, parsed: parse(text) };
    return latest.parsed;
  };
}
