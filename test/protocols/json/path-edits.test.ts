import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editPaths, type PathEdit } from '../../../src/protocols/json/path-edits.ts';

function edited(text: string, ...edits: PathEdit[]): string {
  return editPaths(Buffer.from(text), edits).toString('utf8');
}

describe('edits by path', () => {
  it('removes, sets, adds and renames, and leaves all other bytes', () => {
    const text =
      ' { "model" : "a" ,\n "store":true, "list": [ {"name":"x", "role":"user"}, {"role":"tool"} ], "max": 5 } ';
    expect(
      edited(
        text,
        { path: ['store'], does: 'remove' },
        { path: ['list', 0, 'name'], does: 'remove' },
        { path: ['list', 1, 'id'], does: 'set', text: '"1"' },
        { path: ['max'], does: 'rename', to: 'most' },
        { path: ['new'], does: 'set', text: '[1]' },
      ),
    ).toBe(' { "model" : "a", "list": [ {"role":"user"}, {"role":"tool","id":"1"} ], "most":5,"new":[1] } ');
  });

  it('takes all members away, and adds to what is empty', () => {
    expect(edited('{"a":1}', { path: ['a'], does: 'remove' })).toBe('{}');
    expect(edited('{"a":1}', { path: ['a'], does: 'remove' }, { path: ['b'], does: 'set', text: '2' })).toBe(
      '{"b":2}',
    );
    expect(edited('{}', { path: ['b'], does: 'set', text: '2' })).toBe('{"b":2}');
    expect(edited('{"l":[1]}', { path: ['l', 0], does: 'remove' })).toBe('{"l":[]}');
  });

  it('of a member that is there twice, takes both', () => {
    expect(edited('{"a":1,"b":2,"a":3}', { path: ['a'], does: 'remove' })).toBe('{"b":2}');
  });

  it('nothing is there, nothing changes', () => {
    expect(
      edited('{"a":"b"}', { path: ['a', 'b'], does: 'remove' }, { path: ['c', 0, 'd'], does: 'remove' }),
    ).toBe('{"a":"b"}');
  });

  it('does to the bytes what it does to the value', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'é"\\'), fc.jsonValue({ maxDepth: 2 })),
        fc.subarray(['a', 'b', 'c', 'd', 'é"\\']),
        fc.subarray(['b', 'd', 'e']),
        fc.constantFrom(undefined, 1, '\t'),
        (value, removed, set, space) => {
          const expected = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
          const edits: PathEdit[] = [];
          for (const name of removed) {
            edits.push({ path: [name], does: 'remove' });
            Reflect.deleteProperty(expected, name);
          }
          for (const name of set.filter((other) => !removed.includes(other))) {
            edits.push({ path: [name], does: 'set', text: '{"x":[]}' });
            expected[name] = { x: [] };
          }
          expect(JSON.parse(edited(JSON.stringify(value, null, space), ...edits))).toEqual(expected);
        },
      ),
    );
  });
});
