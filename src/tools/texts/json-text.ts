// Edits JSON with comments and trailing commas as text.
import { createScanner, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import {
  DocumentError,
  formatSegments,
  lineEnd,
  lineStart,
  matches,
  nested,
  parsedOnce,
  spliced,
  textOf,
  type Editor,
  type Json,
  type Names,
  type Path,
  type Segment,
  type Splice,
  type Token,
} from './document.ts';

export const jsonText: Editor = {
  read(text) {
    const root = parse(text);
    return root && valueOf(root);
  },
  set(text, path, value) {
    const root = parse(text);
    if (root === undefined)
      return text.trim() === '' ? `${print(nested(path, value), '', '  ')}\n` : appended(text, path, value);
    let node = root;
    for (const [at, segment] of path.entries()) {
      checkType(node, segment, path.slice(0, at));
      const item = find(node, segment);
      if (item === undefined)
        return spliced(text, insertion(text, root, node, segment, nested(path.slice(at + 1), value)));
      node = item.value;
    }
    const printed = print(value, indentAt(text, node.offset), unitOf(text, root));
    return spliced(text, [{ from: node.offset, to: node.offset + node.length, text: printed }]);
  },
  remove(text, path) {
    let parent = parse(text);
    for (const segment of path.slice(0, -1)) parent = parent && find(parent, segment)?.value;
    const last = path.at(-1);
    const item = parent && last !== undefined ? find(parent, last) : undefined;
    if (parent === undefined || item === undefined)
      throw new DocumentError(`${formatSegments(path)} is missing`, 0);
    return spliced(text, removal(text, parent, item.whole));
  },
  isBlank: (text) => /^\s*(?:\{\s*\}|\[\s*\])?\s*$/.test(text),
  tokens(text) {
    const root = parse(text);
    return { tokens: root === undefined ? [] : tokensOf(root, []), repeated: [] };
  },
};

const parse = parsedOnce((text): Node | undefined => {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (first !== undefined) {
    const what = printParseErrorCode(first.error)
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase();
    throw new DocumentError(`not valid JSON: ${what}`, first.offset);
  }
  return root;
});

/** A text of comments alone. */
const appended = (text: string, path: Path, value: Json): string =>
  spliced(text, [
    {
      from: text.length,
      to: text.length,
      text: `${/\n$/.test(text) ? '' : '\n'}${print(nested(path, value), '', '  ')}\n`,
    },
  ]);

/** Not through objects: a member may be called `__proto__`. */
function valueOf(node: Node): Json {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value as Json;
  return Object.fromEntries(membersOf(node).map(({ name, value }) => [name, valueOf(value)]));
}

function tokensOf(node: Node, names: Names): Token[] {
  const { type, offset: from, length, children = [] } = node;
  if (type === 'array') return children.flatMap((item, at) => tokensOf(item, [...names, at]));
  if (type === 'object') return children.flatMap((member) => tokensOf(member, names));
  if (type !== 'property')
    return [{ from, to: from + length, kind: 'value', names, text: textOf(node.value) }];
  const [name, value] = children;
  if (name === undefined) return [];
  const own = [...names, String(name.value)];
  const token: Token = {
    from,
    to: from + name.length,
    kind: 'name',
    names: own,
    text: String(name.value),
  };
  return [token, ...(value === undefined ? [] : tokensOf(value, own))];
}

interface Member {
  name: string;
  value: Node;
  whole: Node;
}

function membersOf(node: Node): Member[] {
  return (node.children ?? []).flatMap((whole) => {
    const [name, value] = whole.children ?? [];
    return name === undefined || value === undefined ? [] : [{ name: String(name.value), value, whole }];
  });
}

/** Of several members with one name, readers take the last. */
function find(node: Node, segment: Segment): { value: Node; whole: Node } | undefined {
  if (typeof segment === 'string') {
    return node.type === 'object' ? membersOf(node).findLast(({ name }) => name === segment) : undefined;
  }
  const item =
    node.type === 'array' ? node.children?.find((child) => matches(valueOf(child), segment)) : undefined;
  return item && { value: item, whole: item };
}

function checkType(node: Node, segment: Segment, path: Path): void {
  const expected = typeof segment === 'string' ? 'object' : 'array';
  if (node.type === expected) return;
  const what = path.length === 0 ? 'the whole' : formatSegments(path);
  throw new DocumentError(`${what} is ${article(node.type)}, not ${article(expected)}`, node.offset);
}

const article = (type: string): string =>
  /^[ao]/.test(type) ? `an ${type}` : type === 'null' ? type : `a ${type}`;

/** White space at the beginning of the line. */
const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';

const isFirstInLine = (text: string, at: number): boolean =>
  text.slice(lineStart(text, at), at).trim() === '';

/** One level of indentation, as the text has it. */
function unitOf(text: string, root: Node): string {
  const first = root.children?.[0];
  if (first === undefined || !isFirstInLine(text, first.offset)) return '  ';
  const own = indentAt(text, first.offset).slice(indentAt(text, root.offset).length);
  return own === '' ? '  ' : own;
}

function print(value: Json, indent: string, unit: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`);
}

/** The place after the comments of the line; the search stops before a block comment that continues on another line. */
function afterLineComments(text: string, from: number): number {
  const rest = text.slice(from, lineEnd(text, from));
  const comments = /^(?:[ \t]*\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:[ \t]*\/\/.*)?/.exec(rest)?.[0] ?? '';
  return from + comments.length;
}

/** The offset of the next comma or closing bracket behind an item, and whether it is a comma. */
function nextMark(text: string, from: number): { at: number; comma: boolean } {
  const scanner = createScanner(text, true);
  scanner.setPosition(from);
  scanner.scan();
  const at = scanner.getTokenOffset();
  return { at, comma: text[at] === ',' };
}

function insertion(text: string, root: Node, parent: Node, segment: Segment, value: Json): Splice[] {
  const unit = unitOf(text, root);
  const name = typeof segment === 'string' ? `${JSON.stringify(segment)}: ` : '';
  const last = parent.children?.at(-1);
  if (last === undefined) {
    const outer = indentAt(text, parent.offset);
    const piece = `\n${outer}${unit}${name}${print(value, outer + unit, unit)}`;
    const end = parent.offset + parent.length - 1;
    const inside = text.slice(parent.offset + 1, end);
    if (inside.trim() === '') return [{ from: parent.offset + 1, to: end, text: `${piece}\n${outer}` }];
    // Comments alone: behind them.
    const from = parent.offset + 1 + inside.trimEnd().length;
    return [{ from, to: end, text: `${piece}\n${outer}` }];
  }
  const end = last.offset + last.length;
  const mark = nextMark(text, end);
  if (!isFirstInLine(text, last.offset)) {
    const piece = `${name}${JSON.stringify(value)}`;
    return [
      mark.comma
        ? { from: mark.at + 1, to: mark.at + 1, text: ` ${piece},` }
        : { from: end, to: end, text: `, ${piece}` },
    ];
  }
  const indent = indentAt(text, last.offset);
  const piece = `\n${indent}${name}${print(value, indent, unit)}`;
  if (mark.comma) {
    const at = afterLineComments(text, mark.at + 1);
    return [{ from: at, to: at, text: `${piece},` }];
  }
  const at = afterLineComments(text, end);
  // Behind a comment of the line, what followed it must not become part of the new item's line.
  return [
    { from: end, to: end, text: at === end ? `,${piece}` : ',' },
    ...(at === end ? [] : [{ from: at, to: at, text: piece }]),
  ];
}

function removal(text: string, parent: Node, item: Node): Splice[] {
  const children = parent.children ?? [];
  const index = children.indexOf(item);
  const end = item.offset + item.length;
  const mark = nextMark(text, end);
  const previous = children[index - 1];
  const to = mark.comma ? mark.at + 1 : end;
  const splices: Splice[] = [];
  if (!mark.comma && previous !== undefined) {
    const comma = nextMark(text, previous.offset + previous.length).at;
    splices.push({ from: comma, to: comma + 1, text: '' });
  }
  if (
    children.length === 1 &&
    text.slice(parent.offset + 1, item.offset).trim() === '' &&
    text.slice(to, parent.offset + parent.length - 1).trim() === ''
  ) {
    return [{ from: parent.offset + 1, to: parent.offset + parent.length - 1, text: '' }];
  }
  // A comment between the item and its comma stays.
  if (mark.comma && text.slice(end, mark.at).trim() !== '') {
    return [
      ...splices,
      { from: item.offset, to: end, text: '' },
      { from: mark.at, to: mark.at + 1, text: '' },
    ];
  }
  return [...splices, { ...aroundItem(text, item.offset, to), text: '' }];
}

/** The range, with its lines if nothing else stands in them. */
function aroundItem(text: string, from: number, to: number): { from: number; to: number } {
  const rest = text.slice(to, lineEnd(text, to));
  const start = lineStart(text, from);
  if (isFirstInLine(text, from) && rest.trim() === '' && start > 0) {
    const before = text[start - 2] === '\r' ? start - 2 : start - 1;
    return { from: before, to: to + rest.length };
  }
  const spaces = (part: string, where: RegExp): number => where.exec(part)?.[0].length ?? 0;
  // The space before the last item of a line, or behind another one.
  if (text[to - 1] !== ',') return { from: from - spaces(text.slice(start, from), /(?<=,)[ \t]+$/), to };
  return { from, to: to + spaces(rest, /^[ \t]+/) };
}
