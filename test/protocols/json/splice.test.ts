import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureJson, rangesOf, scanMembers, splice } from '../../../src/protocols/json/splice.ts';
import type { Members, Range } from '../../../src/protocols/json/splice.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

function scan(text: string, maxDepth = 512): Members {
  return scanMembers(Buffer.from(text), maxDepth);
}

function valueAt(text: string, range: Range | undefined): unknown {
  if (range === undefined) return undefined;
  return JSON.parse(Buffer.from(text).toString('utf8', range.start, range.end));
}

function withModel(text: string, model: string): string {
  const member = scan(text).get('model');
  if (member === undefined) throw new Error('no model');
  return splice(Buffer.from(text), [{ ...member, text: JSON.stringify(model) }]).toString();
}

describe('scanMembers', () => {
  it('finds values where they stand, without the space around them', () => {
    const text = ' \n{ "a" : [1, {"b":2}] ,\t"c":"x" , "d" : -1.5e3\r\n}';
    const { list, open, close, duplicates, tooDeep } = scan(text);
    expect(list.map(({ name, start, end }) => [name, text.slice(start, end)])).toEqual([
      ['a', '[1, {"b":2}]'],
      ['c', '"x"'],
      ['d', '-1.5e3'],
    ]);
    expect(list.map(({ nameStart }) => text.slice(nameStart, nameStart + 3))).toEqual(['"a"', '"c"', '"d"']);
    expect([text[open], text[close], duplicates, tooDeep]).toEqual(['{', '}', [], false]);
  });

  it('counts in bytes, not in characters', () => {
    const text = '{"grüße":"🎉","model":"m"}';
    expect(valueAt(text, scan(text).get('grüße'))).toBe('🎉');
    expect(withModel(text, 'n')).toBe('{"grüße":"🎉","model":"n"}');
  });

  it.each([
    ['in a string', '{"messages":[{"content":"{\\"model\\":\\"fake\\"}"}],"model":"real"}'],
    ['in an object', '{"metadata":{"model":"fake"},"model":"real"}'],
    ['in an array', '{"x":[{"model":"fake"},"model",":","}"],"model":"real"}'],
    ['behind an escaped quote', '{"x":"\\\\\\",\\"model\\":\\"fake","model":"real"}'],
    ['behind a backslash at the end of a string', '{"x":"\\\\","model":"real","y":"\\"model\\""}'],
    [
      'behind a long string of quotes',
      `{"x":${JSON.stringify('"model":"fake",\\'.repeat(50))},"model":"real"}`,
    ],
  ])('is not fooled by a model name hidden %s', (_, text) => {
    expect(valueAt(text, scan(text).get('model'))).toBe('real');
    expect(JSON.parse(withModel(text, 'other'))).toEqual({ ...(JSON.parse(text) as object), model: 'other' });
  });

  it('reads escaped names', () => {
    expect(withModel('{"mod\\u0065l":"a"}', 'b')).toBe('{"mod\\u0065l":"b"}');
  });

  it.each([
    ['{"a":1,"b":2,"a":3}', ['a']],
    ['{"model":1,"mod\\u0065l":2,"b":{"b":1}}', ['model']],
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"__proto__":1,"constructor":2}', []],
  ])('tells which names %s gives twice', (text, names) => {
    expect(scan(text).duplicates).toEqual(names);
  });

  it('gives the value that JSON.parse would give where a name is there twice', () => {
    const text = '{"a":1,"a":2}';
    expect(valueAt(text, scan(text).get('a'))).toBe(2);
  });

  it.each([
    ['{}', 1, 0],
    ['{"a":1}', 1, 0],
    ['{"a":[]}', 2, 1],
    ['{"a":[{"b":[]}],"c":[[[]]]}', 4, 3],
    ['{"a":"[[[[[["}', 1, 0],
  ])('counts the levels of %s', (text, enough, tooFew) => {
    expect(scan(text, enough).tooDeep).toBe(false);
    expect(scan(text, tooFew).tooDeep).toBe(true);
  });

  it('stops at the depth that is allowed, however deep the body goes on', () => {
    expect(scan(`{"a":${'['.repeat(1_000_000)}`).tooDeep).toBe(true);
    expect(scan(`{"a":${'{"a":'.repeat(200_000)}`).tooDeep).toBe(true);
    expect(scan('['.repeat(1_000_000)).tooDeep).toBe(true);
    expect(scan(` ${'['.repeat(513)}${']'.repeat(513)}`).tooDeep).toBe(true);
    expect(scan(`${'['.repeat(512)}${']'.repeat(512)}`).tooDeep).toBe(false);
  });

  it.each([
    '',
    ' ',
    '[]',
    '"{}"',
    'null',
    '{',
    '{"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{a:1}',
    '{"a" 1}',
    '{"a":"\\',
  ])('leaves %j to JSON.parse', (text) => {
    expect(scan(text).close).toBe(-1);
  });
});

describe('rangesOf', () => {
  it('gives the elements of an array', () => {
    const text = '{"messages": [ {"a":[1,2]}, "x,]" ,3 ]}';
    const messages = scan(text).get('messages') ?? { start: 0, end: 0 };
    const elements = rangesOf(Buffer.from(text), messages.start, messages.end);
    expect(elements.map(({ name, start, end }) => [name, text.slice(start, end)])).toEqual([
      ['0', '{"a":[1,2]}'],
      ['1', '"x,]"'],
      ['2', '3'],
    ]);
  });

  it('gives the members of a nested object', () => {
    const text = '{"options": {"a":true, "b":null}}';
    const options = scan(text).get('options') ?? { start: 0, end: 0 };
    expect(rangesOf(Buffer.from(text), options.start, options.end).map(({ name }) => name)).toEqual([
      'a',
      'b',
    ]);
  });

  it('gives nothing for other values', () => {
    expect(rangesOf(Buffer.from('"[1]"'), 0, 5)).toEqual([]);
    expect(rangesOf(Buffer.from('[]'), 0, 2)).toEqual([]);
  });
});

describe('splice', () => {
  const bytes = Buffer.from('0123456789');

  it('replaces, inserts and deletes, in any order of the edits', () => {
    const edits = [
      { start: 9, end: 9, text: '<' },
      { start: 0, end: 2, text: Buffer.from('ü') },
      { start: 4, end: 6, text: '' },
    ];
    expect(splice(bytes, edits).toString()).toBe('ü23678<9');
    expect(bytes.toString()).toBe('0123456789');
  });

  it('refuses edits that overlap or leave the bytes', () => {
    expect(() =>
      splice(bytes, [
        { start: 0, end: 3, text: '' },
        { start: 2, end: 4, text: '' },
      ]),
    ).toThrow(RangeError);
    expect(() => splice(bytes, [{ start: 8, end: 11, text: '' }])).toThrow(RangeError);
  });
});

describe('laws', () => {
  const space = fc.constantFrom('', '', ' ', '\n', '\t\r\n');

  const key = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 5 }),
    fc.constantFrom('model', 'a', '"', '\\', '__proto__'),
  );
  const json = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });

  // Not held to JSON.parse: Node 24 gives names of one escaped character wrongly once it has seen another one there.
  it('finds the members that JSON.stringify wrote', () => {
    fc.assert(
      fc.property(json, space, (value, gap) => {
        const text = gap + JSON.stringify(value, null, gap) + gap;
        const bytes = Buffer.from(text);
        const { list, duplicates, tooDeep } = scan(text);
        expect(tooDeep).toBe(false);
        expect(duplicates).toEqual([]);
        expect(list.map(({ name }) => name)).toEqual(Object.keys(value));
        for (const { name, start, end } of list) {
          const alone = JSON.stringify({ [name]: value[name] }, null, gap);
          const found = bytes.toString('utf8', start, end);
          const line = gap === '' ? ['', ''] : [`\n${gap}`, '\n'];
          const colon = gap === '' ? ':' : ': ';
          expect(`{${line[0]}${JSON.stringify(name)}${colon}${found}${line[1]}}`).toBe(alone);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('finds the same however the bytes lie in the stretches that are looked at as text', () => {
    const long = fc
      .tuple(fc.constantFrom('x', '"', '\\', '\\"', 'é', '{['), fc.integer({ min: 1, max: 70_000 }))
      .map(([piece, times]) => piece.repeat(times).slice(0, 140_000));
    const items = fc.array(fc.oneof(long, json), { maxLength: 4 });
    fc.assert(
      fc.property(items, fc.nat({ max: 200 }), (values, shift) => {
        const text = JSON.stringify({
          [`n${'"'.repeat(shift)}`]: 0,
          a: values,
          'long name of it': 1,
          z: '"',
        });
        const { list, close } = scan(text);
        const alone = list.map(({ start, end }) => Buffer.from(text).toString('utf8', start, end));
        expect(alone).toEqual(['0', JSON.stringify(values), '1', '"\\""']);
        expect(close).toBe(Buffer.byteLength(text) - 1);
        const ascii = text.replaceAll(/[^\0-~]/gu, 'e');
        const bytes = Buffer.from(ascii);
        expect({ ...scanMembers(bytes, 512, ascii) }).toEqual({ ...scanMembers(bytes, 512) });
      }),
      { numRuns: 60 },
    );
  });

  it('finds what is given twice among few names and among many', () => {
    const names = fc.array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzäöü"'), { maxLength: 60 });
    fc.assert(
      fc.property(names, (given) => {
        const text = `{${given.map((name, at) => `${JSON.stringify(name)}:${at}`).join(',')}}`;
        const twice = given.filter((name, at) => given.indexOf(name) !== at);
        expect([...scan(text).duplicates].sort()).toEqual([...new Set(twice)].sort());
        for (const name of given) expect(valueAt(text, scan(text).get(name))).toBe(given.lastIndexOf(name));
      }),
    );
  });

  it('counts the levels as a walk through the value does', () => {
    const depth = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify(value);
        const levels = depth(value);
        expect(scan(text, levels).tooDeep).toBe(false);
        expect(scan(text, levels - 1).tooDeep).toBe(true);
      }),
    );
  });

  it('counts the values as a walk through the value does', () => {
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce<number>((sum, inner) => sum + count(inner), 1)
        : 1;
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        // Not of the text as it is parsed: JSON.parse of Node 24.21 can drop a member whose name is one escape.
        const values = count(value);
        expect(scan(text).values).toBe(values);
        expect(measureJson(Buffer.from(text), 512).values).toBe(values);
        expect(scan(`[${text}, [ ], {}]`).values).toBe(values + 3);
      }),
    );
  });

  it('never throws at bytes that are not JSON, and never calls a broken object whole', () => {
    const broken = fc.tuple(
      json,
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '\u00ff'),
    );
    fc.assert(
      fc.property(broken, ([value, place, extra]) => {
        const whole = JSON.stringify(value);
        const at = place % whole.length;
        const cut = whole.slice(0, at);
        expect(scan(cut).close).toBe(-1);
        scan(cut + extra + whole.slice(at + 1));
        scan(cut + extra + whole.slice(at));
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void scanMembers(Buffer.from(bytes), 4)),
    );
  });
});
