import { describe, expect, it } from 'vitest';
import { compareCalls } from '../../src/repair/same-calls.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    limit: { type: 'integer', default: 100 },
    deep: { type: 'boolean' },
    edits: { type: 'array', items: { type: 'object', properties: { all: { default: false } } } },
    mark: { type: ['string', 'null'] },
  },
  required: ['path'],
};
const schemaOf = (tool: string): unknown => (tool === 'read' ? SCHEMA : undefined);
const read = (args: unknown) => ({
  name: 'read',
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});
const compare = (want: unknown[], got: unknown[]) =>
  compareCalls(want as ReturnType<typeof read>[], got as ReturnType<typeof read>[], schemaOf);

describe('calls of two answers', () => {
  it.each([
    ['none', [], []],
    ['the same', [read({ path: 'a' })], [read({ path: 'a' })]],
    ['white space in JSON', [read('{"path":"a"}')], [read('{ "path" : "a" }')]],
    ['free text', [{ name: 'patch', arguments: '*** Begin' }], [{ name: 'patch', arguments: '*** Begin' }]],
  ])('are equal: %s', (_, want, got) => {
    expect(compare(want, got)).toEqual({ same: 'equal' });
  });

  it.each([
    ['a default that is written', [read({ path: 'a' })], [read({ path: 'a', limit: 100 })]],
    ['a number in quotes', [read({ path: 'a', limit: 5 })], [read({ path: 'a', limit: '5' })]],
    ['a boolean in quotes', [read({ path: 'a', deep: true })], [read({ path: 'a', deep: 'true' })]],
    ['the order of members', [read('{"path":"a","limit":5}')], [read('{"limit":5,"path":"a"}')]],
    ['null for what is not given', [read({ path: 'a' })], [read({ path: 'a', deep: null })]],
    [
      'a default within a list',
      [read({ path: 'a', edits: [{}] })],
      [read({ path: 'a', edits: [{ all: false }] })],
    ],
    [
      'the order of calls',
      [read({ path: 'a' }), read({ path: 'b' })],
      [read({ path: 'b' }), read({ path: 'a' })],
    ],
  ])('are equal after schema: %s', (_, want, got) => {
    expect(compare(want, got)).toEqual({ same: 'after_schema' });
  });

  it.each([
    ['another value', [read({ path: 'a' })], [read({ path: 'b' })], 'read: path'],
    ['another limit than the default', [read({ path: 'a' })], [read({ path: 'a', limit: 5 })], 'read: limit'],
    ['null where it is a value', [read({ path: 'a' })], [read({ path: 'a', mark: null })], 'read: mark'],
    ['another tool', [read({ path: 'a' })], [{ name: 'ls', arguments: '{}' }], 'ls instead of read'],
    ['no call', [read({ path: 'a' })], [], 'read is not called'],
    ['one more', [], [read({ path: 'a' })], 'read is called, too'],
    [
      'twice in place of once',
      [read({ path: 'a' })],
      [read({ path: 'a' }), read({ path: 'a' })],
      'read is called, too',
    ],
    ['broken JSON', [read({ path: 'a' })], [read('{"path":')], 'read'],
    [
      'a number in quotes without a schema',
      [{ name: 'x', arguments: '{"n":1}' }],
      [{ name: 'x', arguments: '{"n":"1"}' }],
      'x: n',
    ],
  ])('are different: %s', (_, want, got, difference) => {
    expect(compare(want, got)).toEqual({ same: 'different', difference });
  });

  it('are compared as they stand where they are nested too deep', () => {
    const deep = `${'[['.repeat(50_000)}${']]'.repeat(50_000)}`;
    expect(compare([read(deep)], [read(deep)])).toEqual({ same: 'equal' });
    expect(compare([read(deep)], [read('{}')])).toMatchObject({ same: 'different' });
  });
});
