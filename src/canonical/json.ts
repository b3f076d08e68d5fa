// JSON values as types, for everything that crosses a boundary before it is read; and text without halves of surrogate pairs, which
// JSON can express and strict parsers of providers refuse.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [member: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** '' for everything that is not text. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Text with something in it. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Undefined if `value` is no count: counts are whole, and the store of usage takes no others. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The objects of a list, each with its place; of what is no list none. */
export function listed(value: JsonValue | undefined): [number, JsonObject][] {
  if (!Array.isArray(value)) return [];
  return [...value.entries()].filter((entry): entry is [number, JsonObject] => isObject(entry[1]));
}

/** As `list.push(...more)`, which throws for more items than a call takes arguments. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const item of more) list.push(item);
}

/** Part of every Node that is supported; the language's library of this compiler target does not declare it. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

export function wellFormed(text: string): string {
  const own = text as unknown as WellFormed;
  return own.isWellFormed() ? text : own.toWellFormed();
}

const ESCAPES = /\\(?:ud[0-9a-f]{3}|.)/g;

/** What JSON.stringify wrote: it escapes halves of surrogate pairs by `\ud`, and nothing else so. */
export function wellFormedJson(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPES, (escape) => (escape.startsWith('\\ud') ? '\ufffd' : escape));
}

/** A JSON value with every string and name in it well-formed. */
export function wellFormedValue<T extends JsonValue>(value: T): T {
  return JSON.parse(wellFormedJson(JSON.stringify(value))) as T;
}

/** JSON with its members in the order of their names. */
export function stableJson(value: JsonValue): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
