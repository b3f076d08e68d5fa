// JSON values as types, for everything that crosses a boundary before it is read, and lists of any length.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [member: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As `list.push(...more)`, which throws for more items than a call takes arguments. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const item of more) list.push(item);
}
