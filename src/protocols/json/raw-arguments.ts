// Arguments of calls that are objects within a larger body, which was parsed as a whole: if JavaScript may write an object differently,
// its source text is read from the body's bytes.
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import { beginsWithDigit, keepText, likeness } from './raw-json.ts';
import { JsonSource, memberBehind, rangesOf, type Member, type Range } from './splice.ts';

/** An object in a parsed body: the member `name` of `holder`, to which `steps` lead. */
export interface ArgumentsPath {
  holder: JsonObject;
  name: string;
  steps: readonly (string | number)[];
}

/** Whether the object must be looked up in its source. */
export function mayDiffer(value: JsonValue | undefined): value is JsonObject | JsonValue[] {
  return typeof value === 'object' && likeness(value) !== 'same';
}

/**
 * Whether a schema must be looked up in its source: a name that looks like an index stands first in an object, wherever it was
 * written, and a number may be too large to be held. How a small number is spelt means nothing in a schema, and they have many.
 */
export function isReordered(schema: JsonValue | undefined): schema is JsonObject {
  if (typeof schema === 'number') return Math.abs(schema) > Number.MAX_SAFE_INTEGER;
  if (typeof schema !== 'object' || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(isReordered);
  let first = true;
  for (const name in schema) {
    if ((first && beginsWithDigit(name)) || isReordered(schema[name])) return true;
    first = false;
  }
  return false;
}

/** The objects at `places` remember how they stand in `source`, which the body was parsed from. */
export function keepSource(source: Buffer | string, places: readonly ArgumentsPath[]): void {
  if (places.length === 0) return;
  const bytes = typeof source === 'string' ? Buffer.from(source) : source;
  const text = new JsonSource(bytes);
  const known = new Map<string, readonly Member[]>();
  let from = 0;
  for (const place of places) {
    const value = place.holder[place.name];
    const like = likeness(value);
    if (typeof value !== 'object' || value === null || like === 'same') continue;
    const near = from === -1 || like === 'deep' ? undefined : behindId(text, place, from);
    const json = near && jsonIn(bytes, near);
    if (near !== undefined && json !== undefined && says(json, value)) {
      from = near.end;
      keepText(value, json, like);
      continue;
    }
    // Once is enough: what is written in another order is so everywhere.
    from = -1;
    const range = locate(bytes, place, known);
    if (range !== undefined) keepText(value, jsonIn(bytes, range), like);
  }
}

function jsonIn(bytes: Buffer, { start, end }: Range): string {
  return bytes.toString('utf8', start, end);
}

const BACKSLASH = 0x5c;

/**
 * Where the member seems to stand: behind its holder's id, as the members of calls usually do. 1 us a call, where finding the
 * way through 195 KB takes 250. Whether it is the member is seen by its value: another object of the same id and the same
 * value would do as well.
 */
function behindId(source: JsonSource, { holder, name }: ArgumentsPath, from: number): Range | undefined {
  if (typeof holder.id !== 'string') return undefined;
  const sought = `"id":${JSON.stringify(holder.id)}`;
  const at = source.bytes.indexOf(sought, from);
  if (at === -1 || source.bytes[at - 1] === BACKSLASH) return undefined;
  return memberBehind(source, at + Buffer.byteLength(sought), name);
}

function says(json: string, value: JsonValue): boolean {
  const written = JSON.stringify(value);
  if (json === written) return true;
  try {
    return JSON.stringify(JSON.parse(json)) === written;
  } catch {
    return false;
  }
}

function locate(
  bytes: Buffer,
  { steps, name }: ArgumentsPath,
  known: Map<string, readonly Member[]>,
): Range | undefined {
  let range: Range | undefined = { start: bytes.findIndex((byte) => byte > 0x20), end: bytes.length };
  let place = '';
  for (const step of [...steps, name]) {
    let members = known.get(place);
    if (members === undefined) known.set(place, (members = rangesOf(bytes, range.start, range.end)));
    // Of members of one name the last is the one that was parsed.
    range = typeof step === 'number' ? members[step] : members.findLast((member) => member.name === step);
    if (range === undefined) return undefined;
    place += `/${step}`;
  }
  return range;
}
