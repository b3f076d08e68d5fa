import { describe, expect, it } from 'vitest';
import { isObjectRoot, objectRoot } from '../../src/protocols/shared/tools/schema-root.ts';
import type { JsonObject } from '../../src/canonical/json.ts';

const A = { type: 'object', properties: { kind: { const: 'a' }, x: {} }, required: ['kind', 'x'] };
const B = { type: 'object', properties: { kind: { const: 'b' }, y: {} }, required: ['kind'] };

describe('the root of a schema', () => {
  it.each<[string, JsonObject | undefined, JsonObject]>([
    ['nothing', undefined, { type: 'object', properties: {} }],
    ['no type', { properties: { x: {} } }, { type: 'object', properties: { x: {} } }],
    ['no properties', { type: 'object' }, { type: 'object', properties: {} }],
    [
      'anyOf: what every branch requires',
      { anyOf: [A, B] },
      {
        type: 'object',
        properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, x: {}, y: {} },
        required: ['kind'],
      },
    ],
    [
      'allOf: what any branch requires, beside its own',
      { type: 'object', properties: { z: {} }, required: ['z'], allOf: [A] },
      { type: 'object', properties: { z: {}, kind: { const: 'a' }, x: {} }, required: ['z', 'kind', 'x'] },
    ],
    [
      'branches by reference',
      { $defs: { a: A }, oneOf: [{ $ref: '#/$defs/a' }] },
      { $defs: { a: A }, type: 'object', properties: A.properties, required: ['kind', 'x'] },
    ],
    ['null beside an object', { anyOf: [B, { type: 'null' }] }, { ...B, required: ['kind'] }],
  ])('%s', (_, schema, expected) => {
    const root = objectRoot(schema);
    expect(root).toEqual(expected);
    expect(isObjectRoot(root)).toBe(true);
  });

  it('stays the same object where it is one already', () => {
    expect(objectRoot(A)).toBe(A);
  });

  it('of a reference is what it refers to', () => {
    expect(objectRoot({ $defs: { a: A }, $ref: '#/$defs/a' })).toEqual({
      $defs: { a: A },
      type: 'object',
      properties: A.properties,
      required: ['kind', 'x'],
    });
  });

  it('changes nothing of the schema that it is given', () => {
    const schema = {
      anyOf: [{ properties: { x: { anyOf: [{ type: 'string' }] } } }, { properties: { x: {} } }],
    };
    const before = structuredClone(schema);
    objectRoot(schema);
    expect(schema).toEqual(before);
  });

  it('takes time linear in a hostile schema', () => {
    const many = 20_000;
    const refs = Array.from({ length: many }, () => ({ $ref: '#/$defs/a' }));
    const names = Array.from({ length: many }, (_, at) => `n${at}`);
    const chain = (levels: number): JsonObject => (levels === 0 ? A : { anyOf: [chain(levels - 1), B] });
    const hostile: JsonObject[] = [
      { $defs: { a: { ...A, anyOf: refs } }, anyOf: refs },
      { $defs: { a: { type: 'object', properties: {}, required: names } }, anyOf: refs },
      { anyOf: names.map((name) => ({ properties: { [name]: {}, x: { title: name } }, required: [name] })) },
      { anyOf: names.map(() => ({ properties: { x: { anyOf: [{}] } }, required: ['x'] })) },
      chain(400),
    ];
    for (const schema of hostile) {
      const startedAt = performance.now();
      expect(isObjectRoot(objectRoot(schema))).toBe(true);
      expect(performance.now() - startedAt).toBeLessThan(1000);
    }
  });

  it('of a schema that refers to itself has an end', () => {
    const schema = { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } }, anyOf: [{ $ref: '#/$defs/a' }] };
    expect(isObjectRoot(objectRoot(schema))).toBe(true);
  });
});
