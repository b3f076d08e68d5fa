// The root of a tool's schema for servers that take an object alone: no union, with `type` and `properties`. A union is joined: all
// properties of all branches, of which those are required that every branch requires. Whoever runs the tool validates its arguments
// anyway. The work is linear in the schema, which is a client's: each part is joined once, however often it is referred to.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';

const UNIONS = ['oneOf', 'anyOf', 'allOf'] as const;
/** Unions inside of unions: those that lie deeper are left out. */
const MOST_LEVELS = 8;

/** The same object if its root is one already. */
export function objectRoot(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} };
  if (isObjectRoot(schema)) return schema;
  const { properties, required } = join(schema, { root: schema, seen: new Set() }, 0);
  const joined: JsonObject = {
    ...withoutUnions(schema),
    type: 'object',
    properties: Object.fromEntries([...properties].map(([name, values]) => [name, either(values)])),
  };
  if (required.size > 0) joined.required = [...required];
  return joined;
}

export function isObjectRoot(schema: JsonObject): boolean {
  return (
    schema.type === 'object' &&
    isObject(schema.properties) &&
    [...UNIONS, 'enum', 'not'].every((name) => schema[name] === undefined)
  );
}

function withoutUnions(schema: JsonObject): JsonObject {
  const { oneOf: _one, anyOf: _any, allOf: _all, enum: _enum, not: _not, $ref: _ref, ...rest } = schema;
  return rest;
}

interface Joining {
  root: JsonObject;
  /** Parts that were joined, so that a schema which refers to itself has an end. */
  seen: Set<JsonObject>;
}

interface Joined {
  /** What the branches say of each property. */
  properties: Map<string, JsonValue[]>;
  required: Set<string>;
}

function join(schema: JsonObject, joining: Joining, level: number): Joined {
  joining.seen.add(schema);
  const own = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const joined: Joined = {
    properties: new Map(own.map(([name, value]) => [name, [value ?? {}]])),
    required: new Set(namesIn(schema.required)),
  };
  if (level === MOST_LEVELS) return joined;
  const meant = definition(schema, joining.root);
  if (meant !== schema && !joining.seen.has(meant)) {
    const part = join(meant, joining, level + 1);
    addProperties(joined, part);
    for (const name of part.required) joined.required.add(name);
  }
  for (const union of UNIONS) addUnion(union, schema[union], joined, joining, level);
  return joined;
}

function addUnion(
  union: (typeof UNIONS)[number],
  list: JsonValue | undefined,
  joined: Joined,
  joining: Joining,
  level: number,
): void {
  if (!Array.isArray(list)) return;
  const branches = list
    .filter(isObject)
    .map((branch) => definition(branch, joining.root))
    .filter(({ type }) => type === undefined || type === 'object');
  const counts = new Map<string, number>();
  for (const branch of branches) {
    // Its requirements are already counted where it is required; here it requires nothing.
    if (joining.seen.has(branch)) continue;
    const part = join(branch, joining, level + 1);
    addProperties(joined, part);
    for (const name of part.required) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [name, count] of counts) {
    if (union === 'allOf' || count === branches.length) joined.required.add(name);
  }
}

function addProperties({ properties }: Joined, more: Joined): void {
  for (const [name, values] of more.properties) {
    const known = properties.get(name);
    if (known === undefined) properties.set(name, values);
    else for (const value of values) known.push(value);
  }
}

/** What a schema refers to, if that stands in the root; else the schema. */
function definition(schema: JsonObject, root: JsonObject): JsonObject {
  const { $ref: reference } = schema;
  const [, list, name] =
    typeof reference === 'string' ? (/^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []) : [];
  const known = list === undefined ? undefined : root[list];
  const found = isObject(known) && name !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
  return isObject(found) ? found : schema;
}

/** A property that the branches describe in several ways may be any of them. */
function either(values: readonly JsonValue[]): JsonValue {
  const [first, ...others] = new Map(values.map((value) => [JSON.stringify(value), value])).values();
  return others.length === 0 ? (first ?? {}) : { anyOf: [first ?? {}, ...others] };
}

function namesIn(list: JsonValue | undefined): string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}
