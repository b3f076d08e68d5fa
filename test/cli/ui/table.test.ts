import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { displayWidth, truncate } from '../../../src/display-width.ts';
import { table, wrapWords } from '../../../src/cli/ui/table.ts';

const rows = [
  { id: 'key_1', name: 'laptop' },
  { id: 'key_22', name: 'a long label for the build server' },
];
const columns = [
  { title: 'ID', value: (row: { id: string }) => row.id },
  { title: 'NAME', value: (row: { name: string }) => row.name, shrinks: true },
];

describe('table', () => {
  it('aligns its columns', () => {
    expect(table(rows, columns)).toEqual([
      'ID      NAME',
      'key_1   laptop',
      'key_22  a long label for the build server',
    ]);
  });

  it('aligns numbers to the right', () => {
    const numbers = [{ title: 'N', value: (n: number) => String(n), align: 'right' as const }];
    expect(table([5, 1234], numbers)).toEqual(['   N', '   5', '1234']);
  });

  it('cuts what may be cut, and never an id', () => {
    expect(table(rows, columns, { width: 22 })).toEqual([
      'ID      NAME',
      'key_1   laptop',
      'key_22  a long label …',
    ]);
  });

  it('turns into records where it cannot fit', () => {
    expect(table(rows, columns, { width: 12 })).toEqual([
      'ID    key_1',
      'NAME  laptop',
      '',
      'ID    key_22',
      'NAME  a long label for the',
      '      build server',
    ]);
  });

  it('aligns what it cut where wide and empty characters make a cell as wide as it has characters', () => {
    const columns = [
      { title: 'NAME', value: (name: string) => name, shrinks: true },
      { title: 'END', value: () => '|' },
    ];
    const lines = table([`${'\u4e16'.repeat(10)}${'\u0301'.repeat(10)}`, 'a'], columns, { width: 16 });
    expect(new Set(lines.slice(1).map((line) => displayWidth(line.slice(0, line.indexOf('|')))))).toEqual(
      new Set([displayWidth(lines[0]?.slice(0, lines[0].indexOf('END')) ?? '')]),
    );
  });

  it('cuts a list between two items', () => {
    const lists = [{ title: 'TARGETS', value: (text: string) => text, shrinks: true }];
    const cut = (text: string, width: number) => table([text], lists, { width })[1];
    expect(cut('a/one, b/two, c/three', 21)).toBe('a/one, b/two, c/three');
    expect(cut('a/one, b/two, c/three', 18)).toBe('a/one, b/two, …');
    expect(cut('a/one, b/two, c/three', 14)).toBe('a/one, …');
    expect(cut('a-single-long-name', 10)).toBe('a-single-…');
  });

  it('aligns wide and combining characters by what a terminal shows', () => {
    const names = [{ name: '日本' }, { name: 'e\u0301te\u0301' }, { name: '🚀' }];
    const lines = table(names, [
      { title: 'NAME', value: ({ name }) => name },
      { title: 'X', value: () => 'x' },
    ]);
    expect(lines).toEqual(['NAME  X', '日本  x', 'e\u0301te\u0301   x', '🚀    x']);
  });

  it('never exceeds the width unless it gave up its columns', () => {
    const texts = fc.array(
      fc.record({ id: fc.string({ maxLength: 8 }), name: fc.string({ maxLength: 40 }) }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 22, max: 60 }), (generated, width) => {
        for (const line of table(generated, columns, { width }))
          expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});

test.each([
  ['', 0],
  ['abc', 3],
  ['日本語', 6],
  ['한국', 4],
  ['👩‍👩‍👧', 2],
  ['❤️', 2],
  ['ﬀ', 1],
  ['\u{17000}', 2],
  ['\u{1b000}', 2],
  ['ｶﾞ', 2],
  ['1\u20e3', 2],
  ['🇩🇪', 2],
  ['👨🏽‍🚀', 2],
  ['a → b', 5],
  ['\u00ad', 0],
])('%j takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('plain ASCII takes as many columns as counted one by one', () => {
  const plain = fc.stringMatching(/^[ -~]*$/);
  fc.assert(fc.property(plain, (text) => displayWidth(text) === displayWidth(`${text}日`) - 2));
});

test('a cut text keeps whole characters', () => {
  expect(truncate('日本語', 4)).toBe('日…');
  expect(truncate('abc', 3)).toBe('abc');
});

test('words wrap at the separator, a longer word has its own line', () => {
  expect(wrapWords(['one', 'two', 'threeandmore', 'x'], ', ', 9)).toEqual([
    'one, two,',
    'threeandmore,',
    'x',
  ]);
  expect(wrapWords(['one', 'two'], ', ', undefined)).toEqual(['one, two']);
  expect(wrapWords([], ', ', 9)).toEqual([]);
});
