// A value that fits a JSON schema: the arguments of a tool call, or a structured output. The same schema always gives the
// same value. It covers the keywords that client programs and the SDKs' schema helpers write, not all of JSON Schema.
import { isObject } from '../canonical/json.ts';
import type { JsonObject, JsonValue } from '../canonical/json.ts';

/** Tried in turn: the lowest limit that yields a value keeps the value of a recursive schema small. */
const DEPTH_LIMITS = [6, 12, 24];
/** Properties and items that the schema does not require are left out from this depth on. */
const OPTIONAL_DEPTH = 4;
/** Schemas come from clients: a few references can stand for very many parts. */
const MAX_PARTS = 2000;
const MAX_REFERENCES = 16;
const MAX_TEXT = 10_000;

interface Context {
  root: JsonObject;
  depthLimit: number;
  partsLeft: number;
}

/** `undefined`: nothing fits, or nothing was found within the limits. */
type Value = JsonValue | undefined;
type Make = (schema: JsonObject, name: string, depth: number, context: Context) => Value;

/** `name` is the text of a plain string at the root; a string in an object says its property's name. */
export function valueFor(schema: JsonObject, name = 'text'): Value {
  return firstOf(DEPTH_LIMITS, (depthLimit) =>
    make(schema, name, 0, { root: schema, depthLimit, partsLeft: MAX_PARTS }),
  );
}

function make(part: Value, name: string, depth: number, context: Context): Value {
  context.partsLeft -= 1;
  if (part === false || depth > context.depthLimit || context.partsLeft < 0) return undefined;
  const schema = flatten(isObject(part) ? part : {}, context);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const choice = Array.isArray(schema.anyOf) ? 'anyOf' : 'oneOf';
  const { [choice]: branches, ...rest } = schema;
  if (Array.isArray(branches)) {
    const possible = branches.filter((branch) => branch !== false);
    return firstOf(possible, (branch) => make({ allOf: [rest, branch] }, name, depth + 1, context));
  }
  return firstOf(typesOf(schema), (type) => MAKERS.get(type)?.(schema, name, depth, context));
}

function firstOf<T>(items: T[], valueOf: (item: T) => Value): Value {
  for (const item of items) {
    const value = valueOf(item);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** One schema without `$ref` and `allOf`; where two parts set the same keyword, the later one holds. */
function flatten(schema: JsonObject, context: Context): JsonObject {
  const parts = partsOf(schema, context);
  const flat = Object.fromEntries(parts.flatMap(Object.entries<Value>));
  const properties = parts.map((part) => part.properties).filter(isObject);
  if (properties.length > 1) flat.properties = Object.fromEntries(properties.flatMap(Object.entries<Value>));
  const required = parts.map((part) => part.required).filter((names) => Array.isArray(names));
  if (required.length > 1) flat.required = [...new Set(required.flat())];
  return flat;
}

function partsOf(schema: JsonObject, context: Context, references = 0): JsonObject[] {
  const { $ref: reference, allOf, ...own } = schema;
  context.partsLeft -= 1;
  if (references > MAX_REFERENCES || context.partsLeft < 0) return [own];
  const others = [lookUp(reference, context.root), ...(Array.isArray(allOf) ? allOf : [])];
  return [own, ...others.filter(isObject).flatMap((part) => partsOf(part, context, references + 1))];
}

/** `#` or `#/$defs/name`. */
function lookUp(reference: Value, root: JsonObject): Value {
  const [start, ...steps] = typeof reference === 'string' ? reference.split('/') : [];
  let found: Value = start === '#' ? root : undefined;
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}

function typesOf({ type, properties, required, items }: JsonObject): string[] {
  if (typeof type === 'string') return [type];
  if (Array.isArray(type))
    return type.filter(isString).sort((a, b) => Number(a === 'null') - Number(b === 'null'));
  if (properties !== undefined || required !== undefined) return ['object'];
  return [items === undefined ? 'string' : 'array'];
}

const MAKERS: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['object', makeObject],
  ['array', makeArray],
  ['string', makeString],
  ['integer', (schema) => makeNumber(schema, true)],
  ['number', (schema) => makeNumber(schema, false)],
  ['boolean', () => true],
  ['null', () => null],
]);

function makeObject(schema: JsonObject, _: string, depth: number, context: Context): Value {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  // A schema that requires nothing gets every property: `{}` alone would show nothing.
  const fillAll = required.length === 0 && depth < OPTIONAL_DEPTH;
  const members = new Map<string, JsonValue>();
  for (const name of fillAll ? Object.keys(properties) : required.filter(isString)) {
    const part = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    const value = make(part, name, depth + 1, context);
    if (value !== undefined) members.set(name, value);
    else if (!fillAll) return undefined;
  }
  // Unlike an assignment, `fromEntries` makes an ordinary property of `__proto__`.
  return Object.fromEntries(members);
}

function makeArray(schema: JsonObject, name: string, depth: number, context: Context): Value {
  const minItems = numberOr(0, schema.minItems);
  const wanted = Math.max(minItems, depth < OPTIONAL_DEPTH ? 1 : 0);
  const length = Math.min(wanted, numberOr(Infinity, schema.maxItems));
  const items: JsonValue[] = [];
  while (items.length < length) {
    const item = make(schema.items, name, depth + 1, context);
    if (item === undefined) break;
    items.push(item);
  }
  return items.length < minItems ? undefined : items;
}

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date-time', '2026-01-01T12:00:00Z'],
  ['date', '2026-01-01'],
  ['time', '12:00:00Z'],
  ['duration', 'PT1H'],
  ['email', 'user@example.com'],
  ['hostname', 'host.example.com'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['uri', 'https://example.com/'],
  ['uuid', '00000000-0000-4000-8000-000000000001'],
]);

/** Frequent patterns that names do not match. A client's pattern is never run: some take forever. */
const PATTERNS: ReadonlyMap<unknown, string> = new Map([
  ['^\\d+$', '1'],
  ['^[0-9]+$', '1'],
  ['^\\d{4}-\\d{2}-\\d{2}$', '2026-01-01'],
  ['^\\d{2}:\\d{2}$', '12:00'],
  ['^\\d+\\.\\d+\\.\\d+$', '1.0.0'],
  ['^#[0-9a-fA-F]{6}$', '#000000'],
  ['^https?://', 'https://example.com/'],
]);

function makeString(schema: JsonObject, name: string): string | undefined {
  const minLength = numberOr(0, schema.minLength);
  if (minLength > MAX_TEXT) return undefined;
  const fixed = FORMATS.get(schema.format) ?? PATTERNS.get(schema.pattern);
  if (fixed !== undefined) return fixed;
  const characters = [...name].slice(0, numberOr(Infinity, schema.maxLength));
  return characters.join('') + '.'.repeat(Math.max(0, minLength - characters.length));
}

function makeNumber(schema: JsonObject, isInteger: boolean): number | undefined {
  const above = numberOr(-Infinity, schema.exclusiveMinimum);
  const below = numberOr(Infinity, schema.exclusiveMaximum);
  const low = Math.max(numberOr(-Infinity, schema.minimum), above);
  const high = Math.min(numberOr(Infinity, schema.maximum), below);
  const candidates = [1, Math.ceil(low), Math.floor(low) + 1, Math.floor(high), Math.ceil(high) - 1];
  if (!isInteger) candidates.push((low + high) / 2);
  const fits = (value: number) => value >= low && value <= high && value !== above && value !== below;
  return candidates.filter(Number.isFinite).find(fits);
}

function numberOr(fallback: number, value: Value): number {
  return typeof value === 'number' ? value : fallback;
}

function isString(value: JsonValue): value is string {
  return typeof value === 'string';
}
