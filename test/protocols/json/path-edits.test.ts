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

  it('sets below what is missing or null, and edits what is set', () => {
    const set = (...path: string[]): PathEdit => ({ path, does: 'set', text: '1' });
    expect(edited('{}', set('a', 'b', 'c'))).toBe('{"a":{"b":{"c":1}}}');
    expect(edited('{"a":null}', set('a', 'b'))).toBe('{"a":{"b":1}}');
    expect(edited('{"a":"x"}', set('a', 'b'))).toBe('{"a":"x"}');
    const whole: PathEdit = { path: ['a'], does: 'set', text: '{"b":2,"c":3}' };
    for (const edits of [
      [whole, { path: ['a', 'c'], does: 'remove' }, set('a', 'd')],
      [set('a', 'd'), { path: ['a', 'c'], does: 'remove' }, whole],
    ] satisfies PathEdit[][]) {
      expect(edited('{"a":{"c":5}}', ...edits)).toBe('{"a":{"b":2,"d":1}}');
      expect(edited('{}', ...edits)).toBe('{"a":{"b":2,"d":1}}');
    }
  });

  it('adds before an element, and at the end of a list that loses some', () => {
    const list: PathEdit[] = [
      { path: ['l', 1], does: 'before', text: '"b"' },
      { path: ['l', 2], does: 'remove' },
      { path: ['l'], does: 'append', text: '"d"' },
    ];
    expect(edited('{"l": [ "a", "c", "x" ] }', ...list)).toBe('{"l": [ "a", "b","c","d" ] }');
    expect(edited('{"l":[]}', { path: ['l'], does: 'append', text: '1' })).toBe('{"l":[1]}');
  });

  it('finds every place of a long body', () => {
    const list = Array.from({ length: 400 }, (_, at) => ({
      name: `n${at}`,
      parts: [{ text: 'x"'.repeat(at % 7 === 0 ? 40_000 : at), id: at, y: { z: 'q' } }, { text: 'é' }],
      role: 'user',
    }));
    const edits = list.flatMap((_, at): PathEdit[] => [
      { path: ['list', at, 'name'], does: 'remove' },
      { path: ['list', at, 'parts', 0, 'id'], does: 'set', text: '"i"' },
      { path: ['list', at, 'parts', 0, 'y', 'z'], does: 'rename', to: 'zz' },
      { path: ['list', at, 'role'], does: 'set', text: '"tool"' },
    ]);
    const expected = list.map(({ parts: [first, second] }) => ({
      parts: [{ ...first, id: 'i', y: { zz: 'q' } }, second],
      role: 'tool',
    }));
    expect(edited(JSON.stringify({ list }), ...edits)).toBe(JSON.stringify({ list: expected }));
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
