// The arguments of a call, made the object that the tool's schema asks for.
import { isObject, type JsonObject, type JsonValue } from '../canonical/json.ts';
import { readTolerant } from './tolerant-json.ts';

/** An object that stands in a text, in a text, in a text. */
const MOST_ENCODINGS = 3;
const MAX_DEPTH = 16;

/**
 * The arguments as an object; undefined if the text is not one. `isWhole`: the answer ended by itself, so that what is missing at the
 * end was forgotten and not cut off.
 */
export function readArguments(text: string, isWhole: boolean): JsonObject | undefined {
  let value: JsonValue = text;
  for (let level = 0; level < MOST_ENCODINGS && typeof value === 'string'; level++) {
    const inner = parsed(value, isWhole);
    if (inner === undefined) return undefined;
    value = inner;
  }
  return isObject(value) ? value : undefined;
}

function parsed(text: string, isWhole: boolean): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    const read = readTolerant(text);
    return read === undefined || (read.cut !== undefined && !isWhole) ? undefined : read.value;
  }
}

/** The value in the type that the schema names, if it can be converted; otherwise the same value. */
export function fitted(value: JsonValue, schema: unknown, depth = 0): JsonValue {
  if (!isObject(schema) || depth > MAX_DEPTH) return value;
  const types = typesOf(schema.type);
  if (typeof value === 'string')
    return types.includes('string') ? value : fromText(value, schema, types, depth);
  if (
    types.length === 1 &&
    types[0] === 'string' &&
    (typeof value === 'number' || typeof value === 'boolean')
  ) {
    return String(value);
  }
  if (Array.isArray(value)) return fittedList(value, schema.items, depth);
  return isObject(value) ? fittedObject(value, schema.properties, depth) : value;
}

function typesOf(type: JsonValue | undefined): readonly JsonValue[] {
  if (type === undefined) return [];
  return Array.isArray(type) ? type : [type];
}

/** A text where the schema knows no text: a number in quotes, an object that was encoded once more. */
function fromText(text: string, schema: JsonObject, types: readonly JsonValue[], depth: number): JsonValue {
  const trimmed = text.trim();
  if (
    (types.includes('number') || types.includes('integer')) &&
    /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(trimmed)
  ) {
    const number = Number(trimmed);
    if (Number.isFinite(number) && (types.includes('number') || Number.isInteger(number))) return number;
  }
  if (types.includes('boolean') && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true';
  if (types.includes('null') && /^(?:null|none)$/i.test(trimmed)) return null;
  if (!types.includes('object') && !types.includes('array')) return text;
  const inner = /^[[{]/.test(trimmed) ? parsed(trimmed, false) : undefined;
  if (inner === undefined) return text;
  const isFit = Array.isArray(inner) ? types.includes('array') : isObject(inner) && types.includes('object');
  return isFit ? fitted(inner, schema, depth + 1) : text;
}

function fittedList(list: JsonValue[], items: JsonValue | undefined, depth: number): JsonValue[] {
  const changed = list.map((item) => fitted(item, items, depth + 1));
  return changed.some((item, index) => item !== list[index]) ? changed : list;
}

function fittedObject(object: JsonObject, properties: JsonValue | undefined, depth: number): JsonObject {
  if (!isObject(properties)) return object;
  let isChanged = false;
  const entries = Object.entries(object).map(([name, value]) => {
    if (value === undefined || !Object.hasOwn(properties, name)) return [name, value] as const;
    const fit = fitted(value, properties[name], depth + 1);
    isChanged ||= fit !== value;
    return [name, fit] as const;
  });
  return isChanged ? Object.fromEntries(entries) : object;
}
