// The arguments of a call in a conversation's history, where they are not the JSON object that servers parse them as. Nobody runs
// these calls again: the conversation has to go on.
import { isObject, wellFormedValue, type JsonValue } from '../canonical/json.ts';
import { readArguments } from './arguments.ts';
import { readTolerantWithin } from './tolerant-json.ts';

/** Servers and their templates read no deeper. */
const MOST_LEVELS = 512;

/**
 * The JSON of an object that says the same, as far as it can be read; undefined: the text is such JSON. What is no object stands in
 * `value`, what cannot be read in `_raw`.
 */
export function mendArguments(text: string): string | undefined {
  // Encoders write an empty text as an object themselves.
  if (text === '') return undefined;
  if (NOTHING.has(text.trim())) return '{}';
  const strict = parsed(text);
  if (isObject(strict) && !isDeeper(strict, text)) return undefined;
  if (strict !== undefined && typeof strict !== 'string') {
    return isObject(strict) || isDeeper(strict, text) ? raw(text) : `{"value":${text}}`;
  }
  const read = readArguments(text, true) ?? (strict === undefined ? readTolerantWithin(text) : undefined);
  // A text within the text is still to be read.
  if (isObject(read) && !isDeeper(read, text)) return JSON.stringify(wellFormedValue(read));
  return strict === undefined || isObject(read) ? raw(text) : `{"value":${text}}`;
}

const NOTHING: ReadonlySet<string> = new Set(['', 'null', 'None', 'undefined']);

function raw(text: string): string {
  return JSON.stringify({ _raw: text });
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A short text cannot be so deep. */
function isDeeper(value: JsonValue, text: string): boolean {
  return text.length > 2 * MOST_LEVELS && isDeep(value, MOST_LEVELS);
}

function isDeep(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}
