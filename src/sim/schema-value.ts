// A value that fits a JSON schema: the arguments of a tool call, or a structured answer. The same schema always gives the
// same value. Schemas come from clients: work and depth are bounded, and what can't be satisfied is left out.
import { isObject } from '../canonical/json.ts';
import type { JsonObject, JsonValue } from '../canonical/json.ts';
import { count, numberFor, stringFor } from './scalars.ts';
import { flatten, merge } from './schema-flat.ts';
import type { Budget } from './schema-flat.ts';

const MAX_NODES = 10_000;
const MAX_DEPTH = 24;
/** From here on the value ends as soon as the schema lets it. */
const SHALLOW = 4;
const MAX_ITEMS = 1000;

interface Place {
  root: JsonObject;
  budget: Budget;
  depth: number;
  /** The property's name: what a free text says. */
  name: string;
  /** Which one, among the items of an array. */
  nth: number;
}

/** undefined: nothing fits, or nothing was found within the bounds. */
export function valueFor(schema: JsonObject, name = 'text'): JsonValue | undefined {
  return make(schema, { root: schema, budget: { left: MAX_NODES }, depth: 0, name, nth: 0 });
}

function make(schema: JsonValue | undefined, place: Place): JsonValue | undefined {
  if (schema === false) return undefined;
  if (place.depth > MAX_DEPTH || (place.budget.left -= 1) < 0) return undefined;
  const flat = flatten(isObject(schema) ? schema : {}, place.root, place.budget);
  if (flat.const !== undefined) return flat.const;
  if (Array.isArray(flat.enum)) return member(flat.enum, flat.type, place.nth);
  const choices = flat.anyOf ?? flat.oneOf;
  if (Array.isArray(choices) && choices.length > 0) return choose(flat, choices, place);
  for (const type of typesOf(flat, place.depth)) {
    const value = Object.hasOwn(MAKERS, type) ? MAKERS[type]?.(flat, place) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

const MAKERS: Record<string, (schema: JsonObject, place: Place) => JsonValue | undefined> = {
  string: (schema, { name, nth }) => stringFor(schema, name, nth),
  integer: (schema, { nth }) => numberFor(schema, true, nth),
  number: (schema, { nth }) => numberFor(schema, false, nth),
  boolean: (_, { nth }) => nth % 2 === 0,
  null: () => null,
  array: makeArray,
  object: makeObject,
};

function member(values: JsonValue[], type: JsonValue | undefined, nth: number): JsonValue | undefined {
  const types = type === undefined ? undefined : Array.isArray(type) ? type : [type];
  const fitting = values.filter(
    (value) => types === undefined || types.some((name) => isOfType(value, name)),
  );
  return fitting[nth % Math.max(1, fitting.length)];
}

function isOfType(value: JsonValue, type: JsonValue): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function choose(flat: JsonObject, choices: JsonValue[], place: Place): JsonValue | undefined {
  // `anyOf` and `oneOf` side by side: the second becomes part of every branch of the first.
  const { anyOf, oneOf, ...rest } = flat;
  const common = anyOf !== undefined && oneOf !== undefined ? { ...rest, oneOf } : rest;
  const inOrder = choices
    .filter(isObject)
    .map((branch) => merge(common, flatten(branch, place.root, place.budget)));
  const ordered = place.depth < SHALLOW ? inOrder : [...inOrder].sort((a, b) => weight(a) - weight(b));
  for (const branch of ordered) {
    const value = make(branch, { ...place, depth: place.depth + 1 });
    if (value !== undefined) return value;
  }
  return undefined;
}

function weight(schema: JsonObject): number {
  if (schema.const !== undefined || schema.enum !== undefined) return 0;
  return schema.type === 'object' || schema.type === 'array' || schema.type === undefined ? 1 : 0;
}

function typesOf(schema: JsonObject, depth: number): string[] {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter(
    (type) => typeof type === 'string',
  );
  if (types.length === 0) return schema.type === undefined ? [impliedType(schema)] : [];
  const rest = types.filter((type) => type !== 'null');
  if (rest.length === types.length) return types;
  return depth < SHALLOW ? [...rest, 'null'] : ['null'];
}

const IMPLIED: Record<string, string> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  minProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
};

function impliedType(schema: JsonObject): string {
  for (const [keyword, type] of Object.entries(IMPLIED)) if (schema[keyword] !== undefined) return type;
  return 'string';
}

function makeArray(schema: JsonObject, place: Place): JsonValue | undefined {
  const fixed = Array.isArray(schema.prefixItems)
    ? schema.prefixItems
    : Array.isArray(schema.items)
      ? schema.items
      : [];
  const further = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  const least = Math.max(count(schema.minItems) ?? 0, schema.contains === undefined ? 0 : 1);
  const wished = place.depth < SHALLOW ? Math.max(least, fixed.length, 1) : least;
  const most = Math.min(count(schema.maxItems) ?? MAX_ITEMS, MAX_ITEMS);
  const items: JsonValue[] = [];
  for (let nth = 0; nth < Math.min(wished, most); nth += 1) {
    const item = make(itemSchema(schema, fixed, further, nth), { ...place, depth: place.depth + 1, nth });
    if (item === undefined) break;
    items.push(item);
  }
  return items.length < least ? undefined : items;
}

function itemSchema(
  schema: JsonObject,
  fixed: JsonValue[],
  further: JsonValue | undefined,
  nth: number,
): JsonValue | undefined {
  const item = nth < fixed.length ? fixed[nth] : further;
  if (nth > 0 || !isObject(schema.contains)) return item;
  return isObject(item) ? { allOf: [item, schema.contains] } : schema.contains;
}

function makeObject(schema: JsonObject, place: Place): JsonValue | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = (Array.isArray(schema.required) ? schema.required : []).filter(
    (name) => typeof name === 'string',
  );
  const least = count(schema.minProperties) ?? 0;
  const most = count(schema.maxProperties) ?? Infinity;
  const made = new Map<string, JsonValue>();
  const add = (name: string, member: JsonValue | undefined): boolean => {
    const value = make(member, { ...place, depth: place.depth + 1, name, nth: 0 });
    if (value !== undefined) made.set(name, value);
    return value !== undefined;
  };
  for (const name of required) {
    const known = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (!add(name, known)) return undefined;
  }
  // A schema that requires nothing would give `{}` alone: then everything that it offers is filled in.
  const offered = required.length === 0 && place.depth < SHALLOW ? Infinity : least;
  for (const [name, member] of Object.entries(properties)) {
    if (made.size >= Math.min(offered, most)) break;
    if (!made.has(name)) add(name, member);
  }
  for (
    let nth = 1;
    made.size < least && schema.additionalProperties !== false && nth <= MAX_ITEMS;
    nth += 1
  ) {
    add(`property${nth}`, schema.additionalProperties);
  }
  // `fromEntries` defines: a property called `__proto__` is a property like any other.
  return made.size < least ? undefined : Object.fromEntries(made);
}
