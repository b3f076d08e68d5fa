// JSON Schemas as this protocol's constrained decoding takes them: closed objects, and of the keywords only those that it
// enforces; what the other keywords demand goes into the description, where the model still reads it.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';

const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));

/** Keywords that stay unchanged. */
const PLAIN = new Set(['type', 'title', 'description', 'enum', 'const', 'default', '$ref', 'required']);
/** Members that hold schemas by name, and lists of schemas. */
const MAPS = new Set(['properties', '$defs', 'definitions']);
const LISTS = new Set(['anyOf', 'allOf', 'oneOf']);
/** Say nothing to a model. */
const SILENT = new Set(['$schema', '$id', '$comment']);

function sanitiseAny(value: JsonValue | undefined): JsonValue | undefined {
  return isObject(value) ? sanitise(value) : value;
}

function sanitiseMap(value: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, sanitiseAny(schema)]));
}

/** Undefined: the keyword is not enforced. */
function keep(name: string, value: JsonValue | undefined): JsonValue | undefined {
  if (PLAIN.has(name)) return value;
  if (MAPS.has(name)) return sanitiseMap(value);
  if (name === 'items') return sanitiseAny(value);
  if (LISTS.has(name) && Array.isArray(value)) return value.map((item) => sanitiseAny(item) ?? null);
  if (name === 'format' && typeof value === 'string' && FORMATS.has(value)) return value;
  if (name === 'minItems' && (value === 0 || value === 1)) return value;
  return undefined;
}

function isObjectSchema(schema: JsonObject): boolean {
  const { type } = schema;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(schema.properties);
}

/** A copy; the client's own schema is never touched. The order of its members stays. */
export function sanitise(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  const demands: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (SILENT.has(name) || (name === 'additionalProperties' && !isObject(value))) continue;
    const kept = keep(name, value);
    if (kept === undefined) demands.push(`${name}: ${JSON.stringify(value)}`);
    else result[name === 'oneOf' ? 'anyOf' : name] = kept;
  }
  if (demands.length > 0) {
    const before = typeof result.description === 'string' ? `${result.description}\n\n` : '';
    result.description = `${before}{${demands.join(', ')}}`;
  }
  if (isObjectSchema(schema)) result.additionalProperties = false;
  return result;
}

const NOT_VISITED = new Set(['$defs', 'definitions', 'enum', 'const', 'default']);

/** A schema that refers to itself can't be unfolded into a grammar. Each reference is followed once. */
export function isRecursive(schema: JsonObject): boolean {
  const done = new Set<string>();
  const within = new Set<string>();
  const visit = (value: JsonValue | undefined): boolean => {
    if (Array.isArray(value)) return value.some(visit);
    if (!isObject(value)) return false;
    if (typeof value.$ref === 'string' && follow(value.$ref)) return true;
    return Object.entries(value).some(([name, item]) => {
      if (name === 'properties' && isObject(item)) return Object.values(item).some(visit);
      return !NOT_VISITED.has(name) && visit(item);
    });
  };
  const follow = (ref: string): boolean => {
    if (ref === '#' || within.has(ref)) return true;
    if (done.has(ref)) return false;
    done.add(ref);
    within.add(ref);
    const found = visit(resolve(schema, ref));
    within.delete(ref);
    return found;
  };
  return visit(schema);
}

function resolve(schema: JsonObject, ref: string): JsonValue | undefined {
  if (!ref.startsWith('#/')) return undefined;
  let value: JsonValue | undefined = schema;
  for (const step of ref.slice(2).split('/')) {
    if (!isObject(value)) return undefined;
    value = value[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return value;
}
