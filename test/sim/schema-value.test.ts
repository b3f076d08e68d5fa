// Arguments are checked by a validator that is not ours: zod reads the same JSON schema.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';
import { valueFor } from '../../src/sim/schema-value.ts';
import { processorTime } from '../helpers/growth.ts';

/** The formats that the official SDKs let through to the provider. */
const FORMATS = ['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'];

function expectFits(schema: JsonObject): void {
  const value = valueFor(schema);
  const parsed = z.fromJSONSchema(schema).safeParse(value);
  expect(parsed.error?.issues ?? [], JSON.stringify({ schema, value })).toEqual([]);
}

describe('a value fits its schema', () => {
  const schemas: Record<string, JsonObject> = {
    string: { type: 'string' },
    'long string': { type: 'string', minLength: 40 },
    'short string': { type: 'string', maxLength: 2 },
    integer: { type: 'integer' },
    'integer above': { type: 'integer', minimum: 5 },
    'integer strictly above': { type: 'integer', exclusiveMinimum: 5 },
    'integer below zero': { type: 'integer', maximum: -3 },
    'number strictly between': { type: 'number', exclusiveMinimum: 0.1, exclusiveMaximum: 0.2 },
    'null only': { type: 'null' },
    'nullable type list': { type: ['null', 'number'] },
    enum: { enum: ['c', 'd'] },
    'enum of numbers': { type: 'integer', enum: [3, 4] },
    const: { const: 'only' },
    'minimum of items': { type: 'array', minItems: 3, items: { type: 'string' } },
    'empty array': { type: 'array', maxItems: 0, items: { type: 'string' } },
    'closed object': {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      required: ['b'],
      additionalProperties: false,
    },
    'required but not described': { type: 'object', required: ['anything'] },
    'nested objects': {
      type: 'object',
      properties: {
        outer: {
          type: 'object',
          properties: { inner: { type: 'array', items: { type: 'boolean' }, minItems: 1 } },
          required: ['inner'],
        },
      },
      required: ['outer'],
    },
    'any of': {
      anyOf: [{ type: 'object', properties: { a: { const: 1 } }, required: ['a'] }, { type: 'string' }],
    },
    'one of': {
      type: 'object',
      properties: { v: { oneOf: [{ type: 'string', maxLength: 5 }, { type: 'number' }] } },
      required: ['v'],
    },
    'any of with an impossible branch': {
      anyOf: [{ type: 'integer', minimum: 3, maximum: 2 }, { type: 'boolean' }],
    },
    'all of': {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
      ],
    },
    'all of beside own properties': {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      allOf: [{ properties: { b: { type: 'number' } }, required: ['b'] }],
    },
    'any of beside own properties': {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      required: ['a'],
      anyOf: [{ required: ['b'] }, { required: ['c'] }],
    },
    'record of named members': {
      type: 'object',
      propertyNames: { enum: ['x', 'y'] },
      additionalProperties: { type: 'integer' },
      required: ['x', 'y'],
    },
    'patterns from the table': {
      type: 'object',
      properties: {
        count: { type: 'string', pattern: '^\\d+$' },
        day: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
        version: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+$' },
        color: { type: 'string', pattern: '^#[0-9a-fA-F]{6}$' },
        link: { type: 'string', pattern: '^https?://' },
      },
      required: ['count', 'day', 'version', 'color', 'link'],
    },
    'sixteen required levels': Array.from({ length: 16 }).reduce<JsonObject>(
      (inner) => ({ type: 'object', properties: { inner }, required: ['inner'] }),
      { type: 'boolean' },
    ),
    definitions: {
      type: 'object',
      properties: { p: { $ref: '#/$defs/point' } },
      required: ['p'],
      $defs: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
    },
    'recursive tree': {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            children: { type: 'array', items: { $ref: '#/$defs/node' } },
          },
          required: ['name', 'children'],
        },
      },
    },
    'recursive binary tree': {
      $ref: '#/$defs/expression',
      $defs: {
        expression: {
          anyOf: [
            {
              type: 'object',
              properties: {
                left: { $ref: '#/$defs/expression' },
                right: { $ref: '#/$defs/expression' },
              },
              required: ['left', 'right'],
            },
            { type: 'number' },
          ],
        },
      },
    },
    'recursive list with null': {
      $ref: '#/$defs/n',
      $defs: {
        n: {
          anyOf: [
            { type: 'object', properties: { next: { $ref: '#/$defs/n' } }, required: ['next'] },
            { type: 'null' },
          ],
        },
      },
    },
    ...Object.fromEntries(FORMATS.map((format) => [`format ${format}`, { type: 'string', format }])),
  };

  test.each(Object.keys(schemas))('%s', (name) => {
    expectFits(schemas[name] ?? {});
  });

  it('is the same every time', () => {
    for (const schema of Object.values(schemas)) expect(valueFor(schema)).toEqual(valueFor(schema));
  });

  it('fits any object of scalars with bounds', () => {
    const integers = fc
      .tuple(fc.integer({ min: -1000, max: 1000 }), fc.nat(50))
      .map(([minimum, width]): JsonObject => ({ type: 'integer', minimum, maximum: minimum + width }));
    const strings = fc
      .tuple(fc.nat(20), fc.nat(20))
      .map(([minLength, more]): JsonObject => ({ type: 'string', minLength, maxLength: minLength + more }));
    const scalars = fc.oneof(integers, strings, fc.constant<JsonObject>({ type: 'boolean' }));
    const schemas = fc.letrec<{ any: JsonObject }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        scalars,
        tie('any').map((items): JsonObject => ({ type: 'array', items, minItems: 1 })),
        fc
          .dictionary(
            fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
            tie('any'),
            { maxKeys: 4 },
          )
          .map((properties): JsonObject => ({
            type: 'object',
            properties,
            required: Object.keys(properties),
            additionalProperties: false,
          })),
      ),
    })).any;
    fc.assert(fc.property(schemas, expectFits), { numRuns: 200 });
  });
});

describe('arguments fit the tool schemas that real clients send', () => {
  const question = {
    type: 'object',
    properties: {
      header: { type: 'string' },
      options: {
        type: 'array',
        minItems: 2,
        maxItems: 4,
        items: { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] },
      },
      multiSelect: { type: 'boolean', default: false },
    },
    required: ['header', 'options', 'multiSelect'],
    additionalProperties: false,
  };
  const tools: Record<string, JsonObject> = {
    'questions with options': {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        questions: { type: 'array', minItems: 1, maxItems: 4, items: question },
        answers: {
          type: 'object',
          propertyNames: { type: 'string' },
          additionalProperties: { type: 'string' },
        },
      },
      required: ['questions'],
      additionalProperties: false,
    },
    'a command with a time-out': {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1 },
        timeout: { type: 'integer', exclusiveMinimum: 0, maximum: 9007199254740991 },
        mode: { type: 'string', enum: ['foreground', 'background'] },
      },
      required: ['command', 'timeout', 'mode'],
    },
    'files with nullable lines': {
      type: 'object',
      properties: {
        files: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              path: { type: 'string' },
              line: { anyOf: [{ type: 'integer', exclusiveMinimum: 0 }, { type: 'null' }] },
            },
            required: ['path', 'line'],
            additionalProperties: false,
          },
        },
      },
      required: ['files'],
    },
    'edits by kind': {
      type: 'object',
      properties: {
        edit: {
          oneOf: [
            {
              type: 'object',
              properties: { kind: { const: 'insert' }, text: { type: ['string', 'null'] } },
              required: ['kind', 'text'],
            },
            { type: 'object', properties: { kind: { const: 'delete' } }, required: ['kind'] },
          ],
        },
      },
      required: ['edit'],
    },
    'no parameters': { type: 'object', properties: {}, additionalProperties: false },
  };

  test.each(Object.keys(tools))('%s', (name) => {
    expectFits(tools[name] ?? {});
  });
});

describe('a schema that nothing fits, or that never ends', () => {
  const hopeless: Record<string, JsonObject> = {
    'needs itself': { type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] },
    'needs itself eight times': {
      type: 'object',
      properties: Object.fromEntries([...'abcdefgh'].map((name) => [name, { $ref: '#' }])),
      required: [...'abcdefgh'],
    },
    'empty range': { type: 'integer', minimum: 2, maximum: 1 },
    'false member': { type: 'object', properties: { a: false }, required: ['a'] },
  };

  test.each(Object.keys(hopeless))('%s: no value', (name) => {
    expect(valueFor(hopeless[name] ?? {})).toBeUndefined();
  });

  it('a reference to itself asks for nothing', () => {
    expect(valueFor({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a', type: 'integer' } } })).toBe(1);
  });

  it('a reference to nowhere asks for nothing', () => {
    expect(
      valueFor({ type: 'object', properties: { a: { $ref: '#/$defs/gone' } }, required: ['a'] }),
    ).toEqual({ a: 'a' });
  });

  it('parts that double at every step are not followed to their end', () => {
    const names = Array.from({ length: 40 }, (_, at) => `d${at}`);
    const $defs = Object.fromEntries(
      names.map((name, at) => [name, { allOf: Array<JsonObject>(2).fill({ $ref: `#/$defs/d${at + 1}` }) }]),
    );
    expect(valueFor({ $ref: '#/$defs/d0', $defs })).toBe('text');
  });

  it('a format that is no format is a text like any other', () => {
    expect(valueFor({ type: 'string', format: 'constructor' })).toBe('text');
  });

  it('parts that repeat a long list do not repeat the work', () => {
    const required = Array.from({ length: 20_000 }, (_, at) => `p${at}`);
    const allOf = Array.from({ length: 1500 }, () => ({ required: ['p0'] }));
    const time = processorTime(() => {
      expect(valueFor({ required, allOf })).toBeUndefined();
    });
    expect(time).toBeLessThan(4000);
  });

  it('giant lengths do not exhaust the memory', () => {
    expect(valueFor({ type: 'string', minLength: 1e9 })).toBeUndefined();
    expect(valueFor({ type: 'array', minItems: 1e9, items: { type: 'string' } })).toBeUndefined();
  });
});

describe('what is filled in', () => {
  const properties: JsonObject = { city: { type: 'string' }, days: { type: 'integer' } };
  test.each<[string, JsonObject, JsonValue]>([
    ['only what is required', { type: 'object', properties, required: ['city'] }, { city: 'city' }],
    ['everything where nothing is required', { type: 'object', properties }, { city: 'city', days: 1 }],
    [
      'a value, not null',
      { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] },
      { a: 'a' },
    ],
  ])('%s', (_, schema, expected) => {
    expect(valueFor(schema)).toEqual(expected);
  });

  it('a property called __proto__ is a property', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"const":1}},"required":["__proto__"]}',
    ) as JsonObject;
    expect(JSON.stringify(valueFor(schema))).toBe('{"__proto__":1}');
  });

  it('the property name where the pattern is not in the table, and the pattern is never run', () => {
    const name = 'a'.repeat(60);
    expect(valueFor({ type: 'string', pattern: '^(a+)+$b' }, name)).toBe(name);
  });
});
