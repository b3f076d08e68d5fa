// Edits of JSON with comments, YAML and TOML leave every other byte: comments, line breaks, styles.
import fc from 'fast-check';
import { stringify } from 'yaml';
import { describe, expect, it } from 'vitest';
import { valueAt, type Editor, type Json, type Path } from '../../src/tools/texts/document.ts';
import { jsonText } from '../../src/tools/texts/json-text.ts';
import { tomlText } from '../../src/tools/texts/toml-text.ts';
import { yamlText } from '../../src/tools/texts/yaml-text.ts';

interface Case {
  what: string;
  before: string;
  path: Path;
  value: Json;
  after: string;
}

function holds(editor: Editor, cases: readonly Case[]): void {
  it.each(cases)('$what', ({ before, path, value, after }) => {
    const written = editor.set(before, path, value);
    expect(written).toBe(after);
    expect(valueAt(editor.read(written), path)).toEqual(value);
  });
}

const ENTRY: Path = ['models', { name: 'Gateway' }];

describe('JSON', () => {
  holds(jsonText, [
    {
      what: 'an empty text',
      before: '',
      path: ['a', 'b'],
      value: 1,
      after: '{\n  "a": {\n    "b": 1\n  }\n}\n',
    },
    { what: 'comments alone', before: '// mine', path: ['a'], value: 1, after: '// mine\n{\n  "a": 1\n}\n' },
    { what: 'an empty object', before: '{}\n', path: ['a'], value: 1, after: '{\n  "a": 1\n}\n' },
    {
      what: 'a comment behind the last member',
      before: '{\n\t"a": 1 // one\n\t// two\n}',
      path: ['b'],
      value: [2],
      after: '{\n\t"a": 1, // one\n\t"b": [\n\t\t2\n\t]\n\t// two\n}',
    },
    {
      what: 'a trailing comma, and line breaks of Windows',
      before: '{\r\n    "a": 1, // one\r\n}\r\n',
      path: ['b', 'c'],
      value: true,
      after: '{\r\n    "a": 1, // one\r\n    "b": {\r\n        "c": true\r\n    },\r\n}\r\n',
    },
    { what: 'one line', before: '{"a": [1, 2]}', path: ['b'], value: 'x', after: '{"a": [1, 2], "b": "x"}' },
    {
      what: 'one line with a trailing comma',
      before: '{"a": 1,}',
      path: ['b'],
      value: 'x',
      after: '{"a": 1, "b": "x",}',
    },
    {
      what: 'a list with another item',
      before: '{\n  "models": [\n    { "name": "other" }\n  ]\n}\n',
      path: ENTRY,
      value: { name: 'Gateway' },
      after: '{\n  "models": [\n    { "name": "other" },\n    {\n      "name": "Gateway"\n    }\n  ]\n}\n',
    },
    {
      what: 'a value that exists',
      before: '{\n  "a": { "b": "old" /* why */ }\n}\n',
      path: ['a', 'b'],
      value: 'new',
      after: '{\n  "a": { "b": "new" /* why */ }\n}\n',
    },
    {
      what: 'an object with a comment alone',
      before: '{\n  "env": {\n    // none yet\n  }\n}',
      path: ['env', 'A'],
      value: '1',
      after: '{\n  "env": {\n    // none yet\n    "A": "1"\n  }\n}',
    },
  ]);

  it.each([
    ['the last member', '{\n  "a": 1,\n  "x": 2\n}\n', '{\n  "a": 1\n}\n'],
    [
      'the first member, and leaves its comment',
      '{\n  "x": 2, // mine\n  "a": 1\n}\n',
      '{\n  // mine\n  "a": 1\n}\n',
    ],
    ['the last member before a comment', '{\n  "a": 1, // one\n  "x": 2 }\n', '{\n  "a": 1 // one\n   }\n'],
    ['the last member of one line', '{"a": 1, "x": 2}', '{"a": 1}'],
    ['the first member of one line', '{"x": 2, "a": 1}', '{"a": 1}'],
    ['the only member', '{\n  "x": 2\n}\n', '{}\n'],
    [
      'a member before a trailing comma and CRLF',
      '{\r\n  "a": 1,\r\n  "x": 2,\r\n}\r\n',
      '{\r\n  "a": 1,\r\n}\r\n',
    ],
    [
      'a member between comments',
      '{\n  // c\n  "x": 1 /* d */ , "y": 2\n}',
      '{\n  // c\n   /* d */  "y": 2\n}',
    ],
  ])('removes %s', (_, before, after) => {
    expect(jsonText.remove(before, ['x'])).toBe(after);
  });

  it.each([
    ['{"a": }', ['a'], 'not valid JSON: value expected', 6],
    ['{"a": [1]}', ['a', 'b'], 'a is an array, not an object', 6],
    ['{"a": null}', ['a', 'b'], 'a is null, not an object', 6],
    ['{"a": {}}', ['a', { name: 'x' }], 'a is an object, not an array', 6],
    ['[]', ['a'], 'the whole is an array, not an object', 0],
  ] as const)('refuses %s', (text, path, message, at) => {
    expect(() => jsonText.set(text, path, 1)).toThrow(expect.objectContaining({ message, at }));
  });
});

describe('YAML', () => {
  holds(yamlText, [
    { what: 'an empty text', before: '', path: ['a'], value: 'x', after: 'a: x\n' },
    { what: 'comments alone', before: '# mine', path: ['a'], value: 'x', after: '# mine\na: x\n' },
    {
      what: 'a comment behind the last line, which has no line break',
      before: 'b: 1 # one\n# two\nc: 2 # end',
      path: ['a'],
      value: 'x: y',
      after: 'b: 1 # one\n# two\nc: 2 # end\na: "x: y"',
    },
    {
      what: 'a name without a value',
      before: 'a:\nb: 1\n',
      path: ['a'],
      value: 'x',
      after: 'a: "x"\nb: 1\n',
    },
    {
      what: 'a value that exists, with a comment',
      before: "model:   'old'  # mine\nb: 1\n",
      path: ['model'],
      value: 'new',
      after: 'model:   new  # mine\nb: 1\n',
    },
    {
      what: 'an item of a list, with line breaks of Windows',
      before: 'name: x\r\nmodels:\r\n  - name: a # one\r\n    roles:\r\n      - chat\r\nb: 1\r\n',
      path: ENTRY,
      value: { name: 'Gateway', roles: ['chat', 'edit'] },
      after:
        'name: x\r\nmodels:\r\n  - name: a # one\r\n    roles:\r\n      - chat\r\n' +
        '  - name: Gateway\r\n    roles:\r\n      - chat\r\n      - edit\r\nb: 1\r\n',
    },
    {
      what: 'an item of a list without indentation',
      before: 'models:\n- name: a\nb: 1\n',
      path: ENTRY,
      value: { name: 'Gateway', m: 1 },
      after: 'models:\n- name: a\n- name: Gateway\n  m: 1\nb: 1\n',
    },
    {
      what: 'an empty list in brackets',
      before: 'models: [] # none\n',
      path: ENTRY,
      value: { name: 'Gateway' },
      after: 'models: [{"name":"Gateway"}] # none\n',
    },
    {
      what: 'a name with a comment and no value',
      before: 'models: # all\n# c\nb: 1\n',
      path: ENTRY,
      value: { name: 'Gateway' },
      after: 'models: [{"name":"Gateway"}] # all\n# c\nb: 1\n',
    },
    {
      what: 'a name without a value in the last line',
      before: 'b: 1\na: # c',
      path: ['c'],
      value: 'x',
      after: 'b: 1\na: # c\nc: x',
    },
    {
      what: 'a literal text at the end',
      before: 'a: |\n  one\n\n  two\n',
      path: ['b'],
      value: 1,
      after: 'a: |\n  one\n\n  two\nb: 1\n',
    },
    { what: 'JSON', before: '{"a": 1}', path: ['b'], value: [1], after: '{"a": 1, "b": [1]}' },
    {
      what: 'a document with marks',
      before: '---\na: 1\n...\n',
      path: ['b'],
      value: 2,
      after: '---\na: 1\nb: 2\n...\n',
    },
  ]);

  it.each([
    ['a member with its comment', 'a: 1\nx: 2 # mine\nb: 3\n', 'a: 1\nb: 3\n'],
    ['the last member without a line end', 'a: 1\nx: 2', 'a: 1'],
    ['a member of several lines', 'a: 1\nx:\n  - 1\n  - b: 2\n# end\n', 'a: 1\n# end\n'],
    ['a member of a JSON object', '{"a": 1, "x": 2}', '{"a": 1}'],
    ['a member of an object in one line', '{x: 2, a: 1}', '{a: 1}'],
  ])('removes %s', (_, before, after) => {
    expect(yamlText.remove(before, ['x'])).toBe(after);
  });

  it.each([
    ['a: [1', ['a'], 'not valid YAML: '],
    ['a: 1\na: 2\n', ['a'], 'not valid YAML: Map keys must be unique'],
    ['a: 1\n---\nb: 2\n', ['a'], 'more than one YAML document'],
    ['a: [1]\n', ['a', 'b'], 'a is not an object'],
    ['- a\n', ['a'], 'the whole is not an object'],
  ] as const)('refuses %j', (text, path, message) => {
    expect(() => yamlText.set(text, path, 1)).toThrow(message);
  });
});

describe('TOML', () => {
  holds(tomlText, [
    { what: 'an empty text', before: '', path: ['a'], value: 'x', after: 'a = "x"\n' },
    {
      what: 'a name before the tables',
      before: '# mine\nb = 1 # one\n\n# of t\n[t]\nc = 2\n',
      path: ['a'],
      value: 'x',
      after: '# mine\nb = 1 # one\na = "x"\n\n# of t\n[t]\nc = 2\n',
    },
    {
      what: 'a value that exists',
      before: "a = 'old' # mine\n",
      path: ['a'],
      value: 1,
      after: 'a = 1 # mine\n',
    },
    {
      what: 'a table, with line breaks of Windows and no last one',
      before: '[t]\r\nc = 2',
      path: ['p', 'gateway'],
      value: { name: 'G', list: ['a'], on: true },
      after: '[t]\r\nc = 2\r\n\r\n[p.gateway]\r\nname = "G"\r\nlist = ["a"]\r\non = true\r\n',
    },
    {
      what: 'a table that exists',
      before: '[p.gateway]\nname = "old"\n\n[t]\nc = 2\n',
      path: ['p', 'gateway'],
      value: { name: 'G' },
      after: '[p.gateway]\nname = "G"\n\n[t]\nc = 2\n',
    },
  ]);

  it.each([
    ['a value with its comment', 'a = 1\nx = 2 # mine\nb = 3\n', 'a = 1\nb = 3\n'],
    ['a table', 'a = 1\n\n[x]\nc = 1\nd = 2\n\n[t]\ne = 1\n', 'a = 1\n\n[t]\ne = 1\n'],
    ['the last value without a line end', 'a = 1\nx = 2', 'a = 1\n'],
  ])('removes %s', (_, before, after) => {
    expect(tomlText.remove(before, ['x'])).toBe(after);
  });

  it('refuses a text that is not valid, and names the place', () => {
    expect(() => tomlText.set('a = \nb = 1', ['a'], 1)).toThrow(expect.objectContaining({ at: 5 }));
  });
});

/** A document of one format, as a person may write it. */
type Written = fc.Arbitrary<string>;

const word = fc.stringMatching(/^[a-z]{1,6}$/);
const scalar = fc.oneof(word, fc.integer({ min: -9, max: 99 }), fc.boolean());
const tree = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(word, tie('node'), { maxKeys: 3 }),
  ),
})).node;
const object = fc.dictionary(word, tree, { maxKeys: 4 }).map((value) => ({ ...value }));

/** Comments that a writer may put between two tokens; all of one document differ. */
function printJson(value: Json, next: () => number, eol: string, depth = 0): string {
  const gap = (): string => {
    const choice = next() % 9;
    if (choice === 0) return ` /* c${next()}, */ `;
    if (choice === 1) return ` // c${next()} }${eol}`;
    if (choice < 5) return eol + '  '.repeat(depth);
    return choice < 7 ? ' ' : '';
  };
  const list = (items: readonly string[], open: string, close: string): string => {
    const inside = items.map((item) => `${gap()}${item}${gap()}`).join(',');
    return `${open}${inside}${items.length > 0 && next() % 4 === 0 ? ',' : ''}${gap()}${close}`;
  };
  if (Array.isArray(value))
    return list(
      value.map((item: Json) => printJson(item, next, eol, depth + 1)),
      '[',
      ']',
    );
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}:${gap()}${printJson(item, next, eol, depth + 1)}`,
  );
  return list(members, '{', '}');
}

const numbers = fc.infiniteStream(fc.nat(1000));
const eols = fc.constantFrom('\n', '\r\n');

const writtenJson: Written = fc.tuple(object, numbers, eols).map(([value, stream, eol]) => {
  const iterator = stream[Symbol.iterator]();
  return printJson(value, () => Number(iterator.next().value), eol);
});

const writtenYaml: Written = fc
  .tuple(object, eols, fc.boolean(), fc.boolean(), fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }))
  .map(([value, eol, indentSeq, last, marks]) => {
    const lines = Object.entries(value).map(([name, item], at) => {
      const text =
        (marks[at] ?? 0) < 4
          ? `${name}: ${JSON.stringify(item)} # c${at}, }\n`
          : stringify({ [name]: item }, { indentSeq });
      return (marks[at] ?? 0) % 2 === 0 ? `# c${at}\n${text}` : text;
    });
    const text = lines.join('').replaceAll('\n', eol);
    return last ? text : text.trimEnd();
  });

const writtenToml: Written = fc
  .tuple(
    fc.dictionary(word, scalar, { maxKeys: 3 }),
    fc.dictionary(word, fc.dictionary(word, scalar, { maxKeys: 3 }), { maxKeys: 3 }),
    eols,
    fc.boolean(),
  )
  .map(([root, tables, eol, last]) => {
    const pairs = (of: Record<string, unknown>): string[] =>
      Object.entries(of).map(
        ([name, value], at) => `${name} = ${JSON.stringify(value)}${at % 2 === 0 ? ` # c${name}` : ''}`,
      );
    const lines = [
      ...pairs(root),
      ...Object.entries(tables).flatMap(([name, of]) => ['', `# of ${name}`, `[T.${name}]`, ...pairs(of)]),
    ];
    return lines.join(eol) + (last ? eol : '');
  });

const commentsOf = (text: string): string[] => (text.match(/(?:\/\*|\/\/|#) ?c\w*/g) ?? []).sort();

describe.each([
  ['JSON', jsonText, writtenJson, [['GW', 'one'], ['LIST', { name: 'Gateway' }], ['Top']]],
  ['YAML', yamlText, writtenYaml, [['LIST', { name: 'Gateway' }], ['Top'], ['Other']]],
  ['TOML', tomlText, writtenToml, [['Top'], ['P', 'gateway'], ['Other']]],
] as const)('any document of %s', (_, editor, written, paths) => {
  it('keeps its values and comments when ours come and go', () => {
    fc.assert(
      fc.property(written, (text) => {
        const value = editor.read(text);
        let edited = text;
        const valueFor = (path: Path): Json => {
          const last = path.at(-1);
          return typeof last === 'string' && last !== 'gateway' ? 'ours' : { name: 'Gateway', more: 1 };
        };
        for (const path of paths) edited = editor.set(edited, path, valueFor(path));
        for (const path of paths) expect(valueAt(editor.read(edited), path)).toEqual(valueFor(path));
        expect(commentsOf(edited)).toEqual(commentsOf(text));
        for (const path of paths) edited = editor.remove(edited, path);
        for (const container of ['GW', 'LIST']) {
          if (valueAt(editor.read(edited), [container]) !== undefined)
            edited = editor.remove(edited, [container]);
        }
        const left = editor.read(edited) ?? {};
        const { P: _tables, ...rest } = left as Record<string, Json>;
        expect(rest).toEqual(value ?? {});
        expect(commentsOf(edited)).toEqual(commentsOf(text));
      }),
      { numRuns: 100 },
    );
  });
});
