// The root of a tool's schema for servers that take an object alone: no union, with `type` and `properties`. A union is joined: all
// properties of all branches, of which those are required that every branch requires. Whoever runs the tool validates its arguments
// anyway.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';

const UNIONS = ['oneOf', 'anyOf', 'allOf'] as const;
/** Branches and levels of unions that are joined. */
const MOST_BRANCHES = 100;
const MOST_LEVELS = 4;

/** The same object if its root is one already. */
export function objectRoot(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: {} };
  if (isObjectRoot(schema)) return schema;
  return { ...withoutUnions(schema), ...join(schema, schema, 0), type: 'object' };
}

export function isObjectRoot(schema: JsonObject): boolean {
  return (
    schema.type === 'object' &&
    isObject(schema.properties) &&
    [...UNIONS, 'enum', 'not'].every((name) => schema[name] === undefined)
  );
}

function withoutUnions({
  oneOf: _one,
  anyOf: _any,
  allOf: _all,
  enum: _enum,
  not: _not,
  ...rest
}: JsonObject): JsonObject {
  return rest;
}

interface Joined extends JsonObject {
  properties: JsonObject;
}

function join(schema: JsonObject, root: JsonObject, level: number): Joined {
  const properties: JsonObject = { ...(isObject(schema.properties) ? schema.properties : {}) };
  const required = new Set(namesIn(schema.required));
  for (const union of UNIONS) {
    const branches = branchesOf(schema[union], root);
    if (branches.length === 0 || level === MOST_LEVELS) continue;
    const joined = branches.map((branch) => join(branch, root, level + 1));
    for (const branch of joined) addAll(properties, branch.properties);
    const lists = joined.map((branch) => namesIn(branch.required));
    const [first = [], ...others] = lists;
    const shared =
      union === 'allOf' ? lists.flat() : first.filter((name) => others.every((list) => list.includes(name)));
    for (const name of shared) required.add(name);
  }
  return required.size === 0 ? { properties } : { properties, required: [...required] };
}

function branchesOf(union: JsonValue | undefined, root: JsonObject): JsonObject[] {
  if (!Array.isArray(union)) return [];
  return union
    .slice(0, MOST_BRANCHES)
    .filter(isObject)
    .map((branch) => definition(branch, root))
    .filter(({ type }) => type === undefined || type === 'object');
}

/** What a branch refers to, if that stands in the schema. */
function definition(branch: JsonObject, root: JsonObject): JsonObject {
  const [, list, name] =
    typeof branch.$ref === 'string' ? (/^#\/(\$defs|definitions)\/([^/]+)$/.exec(branch.$ref) ?? []) : [];
  const known = list === undefined ? undefined : root[list];
  const found = isObject(known) && name !== undefined ? known[name] : undefined;
  return isObject(found) ? found : branch;
}

/** A property that two branches describe otherwise may be either. */
function addAll(properties: JsonObject, more: JsonObject): void {
  for (const [name, value] of Object.entries(more)) {
    const known = properties[name];
    if (known === undefined || JSON.stringify(known) === JSON.stringify(value)) properties[name] = value;
    else if (isObject(known) && Array.isArray(known.anyOf) && Object.keys(known).length === 1) {
      if (known.anyOf.length < MOST_BRANCHES) known.anyOf.push(value ?? {});
    } else properties[name] = { anyOf: [known, value ?? {}] };
  }
}

function namesIn(list: JsonValue | undefined): string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}
