// One schema without `$ref` and `allOf`: what its parts ask for together.
import { isObject } from '../canonical/json.ts';
import type { JsonObject, JsonValue } from '../canonical/json.ts';

/** How much may still be looked at: parts that refer to parts can be many more than their text is long. */
export interface Budget {
  left: number;
}

/** Own properties only; a reference that leads nowhere or back to itself asks for nothing. */
export function flatten(
  schema: JsonObject,
  root: JsonObject,
  budget: Budget,
  seen: readonly string[] = [],
): JsonObject {
  const { $ref: reference, allOf, ...rest } = schema;
  if ((budget.left -= 1) < 0) return rest;
  let flat: JsonObject = rest;
  if (typeof reference === 'string' && !seen.includes(reference)) {
    const target = lookUp(reference, root);
    if (target !== undefined) flat = merge(flat, flatten(target, root, budget, [...seen, reference]));
  }
  if (Array.isArray(allOf)) {
    for (const part of allOf) if (isObject(part)) flat = merge(flat, flatten(part, root, budget, seen));
  }
  return flat;
}

/** `#`, `#/$defs/name`, or `#name` for an anchor among the definitions. */
function lookUp(reference: string, root: JsonObject): JsonObject | undefined {
  if (!reference.startsWith('#')) return undefined;
  const path = decode(reference.slice(1));
  if (path === '') return root;
  if (!path.startsWith('/')) return anchored(path, root);
  let at: JsonValue | undefined = root;
  for (const step of path.slice(1).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isObject(at) ? at : undefined;
}

function anchored(name: string, root: JsonObject): JsonObject | undefined {
  for (const definitions of [root.$defs, root.definitions]) {
    if (!isObject(definitions)) continue;
    for (const schema of Object.values(definitions))
      if (isObject(schema) && schema.$anchor === name) return schema;
  }
  return undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Join = (a: JsonValue, b: JsonValue) => JsonValue;

const larger: Join = (a, b) => (typeof a === 'number' && typeof b === 'number' ? Math.max(a, b) : b);
const smaller: Join = (a, b) => (typeof a === 'number' && typeof b === 'number' ? Math.min(a, b) : b);
const list = (value: JsonValue): JsonValue[] => (Array.isArray(value) ? value : [value]);

const JOINS: Record<string, Join> = {
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  required: (a, b) => [...new Set([...list(a), ...list(b)])],
  enum: (a, b) => list(a).filter((value) => list(b).some((other) => same(value, other))),
  type: (a, b) => list(a).flatMap((type) => narrower(type, list(b))),
  properties: joinProperties,
  items: (a, b) => (isObject(a) && isObject(b) ? { allOf: [a, b] } : b),
  anyOf: joinChoices,
  oneOf: joinChoices,
};

export function merge(a: JsonObject, b: JsonObject): JsonObject {
  const merged: JsonObject = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = Object.hasOwn(a, name) ? a[name] : undefined;
    const join = Object.hasOwn(JOINS, name) ? JOINS[name] : undefined;
    merged[name] =
      before === undefined || value === undefined || join === undefined ? value : join(before, value);
  }
  return merged;
}

function joinProperties(a: JsonValue, b: JsonValue): JsonValue {
  if (!isObject(a) || !isObject(b)) return b;
  const joined: JsonObject = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = Object.hasOwn(a, name) ? a[name] : undefined;
    joined[name] = isObject(before) && isObject(value) ? { allOf: [before, value] } : value;
  }
  return joined;
}

/** One of `a` and one of `b`: every branch of `a` with the whole choice of `b`. */
function joinChoices(a: JsonValue, b: JsonValue): JsonValue {
  return list(a).map((branch) => (isObject(branch) ? { allOf: [branch, { anyOf: b }] } : branch));
}

function narrower(type: JsonValue, others: JsonValue[]): JsonValue[] {
  if (others.includes(type)) return [type];
  const whole =
    (type === 'integer' && others.includes('number')) || (type === 'number' && others.includes('integer'));
  return whole ? ['integer'] : [];
}

function same(a: JsonValue, b: JsonValue): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
