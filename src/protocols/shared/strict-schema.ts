// OpenAI's subset of JSON Schema for strict tools and structured output.
import { isObject, type JsonValue } from '../../canonical/json.ts';

/** Keywords that OpenAI's strict mode refuses. */
const NOT_STRICT = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'prefixItems',
  'uniqueItems',
  'contains',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependentRequired',
  'dependentSchemas',
];

/** OpenAI's subset for strict schemas: a closed object, and every object within closed, with all of its members required. */
export function isStrictSchema(schema: JsonValue | undefined): boolean {
  return isObject(schema) && schema.type === 'object' && schema.anyOf === undefined && isStrictPart(schema);
}

function isStrictPart(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictPart);
  if (!isObject(schema)) return true;
  const { properties, required } = schema;
  if (NOT_STRICT.some((keyword) => schema[keyword] !== undefined)) return false;
  if (schema.type === 'object' || isObject(properties)) {
    const names = isObject(properties) ? Object.keys(properties) : [];
    const listed = Array.isArray(required) ? required : [];
    if (schema.additionalProperties !== false || !names.every((name) => listed.includes(name))) return false;
  }
  const inner = [properties, schema.$defs, schema.definitions]
    .filter(isObject)
    .flatMap((group) => Object.values(group));
  return [...inner, schema.items, schema.anyOf].every(isStrictPart);
}
