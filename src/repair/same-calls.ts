// Whether two answers call the same tools with the same arguments, and where they first differ. Models write the same call in several
// forms: a default is written or left out, a number stands in quotes, members have another order.
import { isObject, stableJson, type JsonObject, type JsonValue } from '../canonical/json.ts';
import { fitted } from './arguments.ts';

export interface MadeCall {
  name: string;
  /** JSON, or the free text of a custom tool. */
  arguments: string;
}

/** `after_schema`: the same once defaults, the forms of values and the order are those of the tools' schemas. */
export const SAMENESSES = ['equal', 'after_schema', 'different'] as const;
export type Sameness = (typeof SAMENESSES)[number];

export interface ComparedCalls {
  same: Sameness;
  /** The first thing in which `different` ones differ: `Read: limit`, `Bash instead of Read`. */
  difference?: string;
}

/** The schema of a tool's arguments; undefined: it has none. */
type SchemaOf = (tool: string) => unknown;

/** `calls` against those of the measure. */
export function compareCalls(
  measure: readonly MadeCall[],
  calls: readonly MadeCall[],
  schemaOf: SchemaOf,
): ComparedCalls {
  const written = (list: readonly MadeCall[]): string[] => list.map((call) => textOf(call, (value) => value));
  if (isSameList(written(measure), written(calls))) return { same: 'equal' };
  const meant = (list: readonly MadeCall[]): string[] => list.map((call) => meaningOf(call, schemaOf));
  const [want, got] = [meant(measure), meant(calls)];
  if (isSameList([...want].sort(), [...got].sort())) return { same: 'after_schema' };
  const at = want.findIndex((text, index) => text !== got[index]);
  return {
    same: 'different',
    difference: differenceOf(measure[at < 0 ? want.length : at], calls[at < 0 ? want.length : at], schemaOf),
  };
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, at) => text === b[at]);

function textOf({ name, arguments: text }: MadeCall, read: (value: JsonValue) => JsonValue): string {
  return JSON.stringify([name, written(text, read)]);
}

/** What is no JSON, or nested too deep for this process, is compared as it stands. */
function written(text: string, read: (value: JsonValue) => JsonValue): string {
  try {
    return JSON.stringify(read(JSON.parse(text) as JsonValue));
  } catch {
    return text;
  }
}

const meaningOf = (call: MadeCall, schemaOf: SchemaOf): string =>
  textOf(call, (value) => stableJson(completed(fitted(value, schemaOf(call.name)), schemaOf(call.name))));

const MAX_DEPTH = 16;

/** With the schema's defaults, and without a null that only says that a member is not given. */
function completed(value: JsonValue, schema: unknown, depth = 0): JsonValue {
  if (!isObject(schema) || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => completed(item, schema.items, depth + 1));
  const { properties } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const given = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    if (member === undefined) return [];
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (member === null && !required.includes(name) && !takesNull(own)) return [];
    return [[name, completed(member, own, depth + 1)]];
  });
  const names = new Set(given.map(([name]) => name));
  const defaults = Object.entries(properties).flatMap(([name, own]): [string, JsonValue][] =>
    !names.has(name) && isObject(own) && own.default !== undefined ? [[name, own.default]] : [],
  );
  return Object.fromEntries([...given, ...defaults]);
}

/** null where nothing else is said, too: it may be a value. */
function takesNull(schema: JsonValue | undefined): boolean {
  if (!isObject(schema) || schema.type === undefined) return true;
  return schema.type === 'null' || (Array.isArray(schema.type) && schema.type.includes('null'));
}

function differenceOf(want: MadeCall | undefined, got: MadeCall | undefined, schemaOf: SchemaOf): string {
  if (want === undefined) return `${got?.name ?? 'a tool'} is called, too`;
  if (got === undefined) return `${want.name} is not called`;
  if (want.name !== got.name) return `${got.name} instead of ${want.name}`;
  const member = firstMember(objectOf(want, schemaOf), objectOf(got, schemaOf));
  return member === undefined ? want.name : `${want.name}: ${member}`;
}

function objectOf({ name, arguments: text }: MadeCall, schemaOf: SchemaOf): JsonObject | undefined {
  try {
    const value = completed(fitted(JSON.parse(text) as JsonValue, schemaOf(name)), schemaOf(name));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The name of the first member that differs. */
function firstMember(want: JsonObject | undefined, got: JsonObject | undefined): string | undefined {
  if (want === undefined || got === undefined) return undefined;
  const names = [...new Set([...Object.keys(want), ...Object.keys(got)])];
  return names.find((name) => {
    const [a, b] = [want, got].map((object) => (Object.hasOwn(object, name) ? object[name] : undefined));
    return a === undefined || b === undefined ? a !== b : stableJson(a) !== stableJson(b);
  });
}
