// Edits TOML as text: names of the root, and tables whole.
import { getStaticTOMLValue, ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import {
  DocumentError,
  formatSegments,
  isRecord,
  lineEnd,
  lineStart,
  parsedOnce,
  spliced,
  textOf,
  type Editor,
  type Json,
  type Names,
  type Path,
  type Splice,
  type Token,
} from './document.ts';

export const tomlText: Editor = {
  read: (text) => getStaticTOMLValue(parse(text)) as Json,
  set(text, path, value) {
    const { body } = rootOf(text);
    const names = namesOf(path);
    if (isRecord(value)) return spliced(text, [setTable(text, tableAt(body, names), names, value)]);
    const pair = pairAt(body, names);
    if (pair !== undefined)
      return spliced(text, [{ from: pair.value.range[0], to: pair.value.range[1], text: print(value) }]);
    return spliced(text, [newPair(text, body, `${keyOf(names)} = ${print(value)}`)]);
  },
  remove(text, path) {
    const { body } = rootOf(text);
    const names = namesOf(path);
    const node = tableAt(body, names) ?? pairAt(body, names);
    if (node === undefined) throw new DocumentError(`${formatSegments(path)} is missing`, 0);
    return spliced(text, [removal(text, node)]);
  },
  isBlank: (text) => text.trim() === '',
  tokens: (text) => ({ tokens: rootOf(text).body.flatMap((node) => tokensOf(node, [])), repeated: [] }),
};

const parse = parsedOnce((text): AST.TOMLProgram => {
  try {
    return parseTOML(text);
  } catch (error) {
    if (error instanceof ParseError) throw new DocumentError(`not valid TOML: ${error.message}`, error.index);
    throw error;
  }
});

const rootOf = (text: string): AST.TOMLTopLevelTable => parse(text).body[0];

/** Lists of tables are not edited. */
function namesOf(path: Path): string[] {
  return path.map((segment) => {
    if (typeof segment !== 'string') throw new DocumentError(`${formatSegments(path)} is in a list`, 0);
    return segment;
  });
}

type Body = AST.TOMLTopLevelTable['body'];

const keyNames = ({ keys }: AST.TOMLKey): string[] =>
  keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));

const isSame = (names: readonly string[], others: readonly string[]): boolean =>
  names.length === others.length && names.every((name, at) => name === others[at]);

const pairAt = (body: Body, names: readonly string[]): AST.TOMLKeyValue | undefined =>
  body.find(
    (node): node is AST.TOMLKeyValue => node.type === 'TOMLKeyValue' && isSame(keyNames(node.key), names),
  );

const tableAt = (body: Body, names: readonly string[]): AST.TOMLTable | undefined =>
  body.find(
    (node): node is AST.TOMLTable =>
      node.type === 'TOMLTable' && node.kind === 'standard' && isSame(keyNames(node.key), names),
  );

function tokensOf(node: AST.TOMLTable | AST.TOMLKeyValue | AST.TOMLContentNode, names: Names): Token[] {
  const { type } = node;
  if (type === 'TOMLArray') return node.elements.flatMap((element, at) => tokensOf(element, [...names, at]));
  if (type === 'TOMLInlineTable') return node.body.flatMap((pair) => tokensOf(pair, names));
  const [from, to] = node.range;
  if (type === 'TOMLValue') return [{ from, to, kind: 'value', names, text: textOf(node.value) }];
  const own = [...names, ...keyNames(node.key)];
  const keys = node.key.keys.map(({ range }, at): Token => {
    return { from: range[0], to: range[1], kind: 'name', names: own, text: keyNames(node.key)[at] };
  });
  const inner = type === 'TOMLTable' ? node.body : [node.value];
  return [...keys, ...inner.flatMap((child) => tokensOf(child, own))];
}

const keyOf = (names: readonly string[]): string =>
  names.map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))).join('.');

/** Texts, numbers, booleans and lists of JSON are also those of TOML, but for one character. */
const print = (value: Json): string => JSON.stringify(value).replaceAll('\u007f', '\\u007f');

function setTable(
  text: string,
  table: AST.TOMLTable | undefined,
  names: readonly string[],
  value: { readonly [name: string]: Json },
): Splice {
  const lines = [
    `[${keyOf(names)}]`,
    ...Object.entries(value).map(([name, item]) => `${keyOf([name])} = ${print(item)}`),
  ].join('\n');
  if (table !== undefined) return { from: table.range[0], to: table.range[1], text: lines };
  const before = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return { from: text.length, to: text.length, text: `${before}${lines}\n` };
}

/** Behind the last name of the root, else before all tables. */
function newPair(text: string, body: Body, line: string): Splice {
  const last = body.findLast((node) => node.type === 'TOMLKeyValue');
  if (last !== undefined) {
    const at = lineEnd(text, last.range[1]);
    return { from: at, to: at, text: `\n${line}` };
  }
  return { from: 0, to: 0, text: `${line}\n` };
}

/** Its lines, and the empty line before a table. */
function removal(text: string, node: AST.TOMLTable | AST.TOMLKeyValue): Splice {
  const start = lineStart(text, node.range[0]);
  const blank = node.type === 'TOMLTable' ? (/(?<=\n)\r?\n$/.exec(text.slice(0, start))?.[0].length ?? 0) : 0;
  const next = text.indexOf('\n', node.range[1]);
  return { from: start - blank, to: next < 0 ? text.length : next + 1, text: '' };
}
