// Edits YAML as text: the document of the library gives the places, and what is new is written in the style around it.
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseAllDocuments,
  stringify,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
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
} from './document.ts';

export const yamlText: Editor = {
  read: (text) => valueOf(parse(text)),
  set(text, path, value) {
    const root = parse(text).contents;
    if (root === null) return spliced(text, [atEnd(text, block(nested(path, value)))]);
    let node: Node = root;
    for (const [at, segment] of path.entries()) {
      checkType(node, segment, path.slice(0, at));
      const item = find(node, segment);
      const rest = nested(path.slice(at + 1), value);
      if (item === undefined) return spliced(text, [insertion(text, node, segment, rest)]);
      // `name:` without a value.
      if (item.value === null) {
        const colon = text.indexOf(':', item.from) + 1;
        return spliced(text, [{ from: colon, to: colon, text: ` ${flow(rest)}` }]);
      }
      node = item.value;
    }
    return spliced(text, [replacement(text, node, value)]);
  },
  remove(text, path) {
    const { contents } = parse(text);
    let parent: Node | null = contents;
    for (const segment of path.slice(0, -1)) parent = parent && (find(parent, segment)?.value ?? null);
    const last = path.at(-1);
    const item = parent && last !== undefined ? find(parent, last) : undefined;
    if (parent === null || item === undefined)
      throw new DocumentError(`${formatSegments(path)} is missing`, 0);
    return spliced(text, [removal(text, parent, item)]);
  },
  isBlank: (text) => /^\s*(?:\{\s*\}|\[\s*\])?\s*$/.test(text),
  tokens(text) {
    const document = parse(text);
    const found: ReturnType<Editor['tokens']> = { tokens: [], repeated: [] };
    if (document.contents !== null) collectTokens(document.contents, [], { document, ...found });
    return found;
  },
};

type Parsed = Document.Parsed;

const parse = parsedOnce((text): Parsed => {
  const parsed = parseAllDocuments(text, { uniqueKeys: true, strict: true });
  if (!Array.isArray(parsed)) return emptyDocument();
  const [first, second] = parsed as Parsed[];
  if (first === undefined) return emptyDocument();
  const error = first.errors[0];
  if (error !== undefined) {
    throw new DocumentError(
      `not valid YAML: ${(error.message.split('\n')[0] ?? '').replace(/ at line .*$/, '')}`,
      error.pos[0],
    );
  }
  if (second !== undefined) throw new DocumentError('more than one YAML document', second.range[0]);
  return first;
});

const emptyDocument = (): Parsed => ({ contents: null, errors: [] }) as unknown as Parsed;

const valueOf = (document: Parsed): Json | undefined =>
  document.contents === null || isEmptyScalar(document.contents) ? undefined : (document.toJS() as Json);

const isEmptyScalar = (node: Node): boolean => isScalar(node) && node.value === null && node.source === '';

interface Found extends ReturnType<Editor['tokens']> {
  document: Parsed;
}

function collectTokens(node: Node, names: Names, found: Found): void {
  const [from, to] = rangeOf(node);
  if (isAlias(node)) {
    const target = node.resolve(found.document);
    if (target !== undefined)
      found.repeated.push({ from: rangeOf(target)[0], to: rangeOf(target)[1], names });
    found.tokens.push({ from, to, kind: 'name', names, text: node.source });
  } else if (isScalar(node)) found.tokens.push({ from, to, kind: 'value', names, text: textOf(node.value) });
  else if (isSeq(node)) {
    for (const [at, item] of node.items.entries())
      if (isNode(item)) collectTokens(item, [...names, at], found);
  } else if (isMap(node)) {
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const own = [...names, name];
      if (isNode(key)) {
        const [start, end] = rangeOf(key);
        found.tokens.push({ from: start, to: end, kind: 'name', names: own, text: name });
      }
      if (isNode(value)) collectTokens(value, own, found);
    }
  }
}

interface Item {
  /** null: a name without a value. */
  value: Node | null;
  from: number;
  to: number;
}

const rangeOf = (node: Node): [number, number, number] => node.range ?? [0, 0, 0];

function find(node: Node, segment: Segment): Item | undefined {
  if (typeof segment === 'string') {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && key.value === segment)
      : undefined;
    return pair && itemOf(pair as Pair<Node, Node | null>);
  }
  if (!isSeq(node)) return undefined;
  const item = node.items.find(
    (child): child is Node => isNode(child) && matches(child.toJSON() as Json, segment),
  );
  return item && { value: item, from: rangeOf(item)[0], to: rangeOf(item)[1] };
}

function itemOf({ key, value }: Pair<Node, Node | null>): Item {
  const [from, keyEnd] = rangeOf(key);
  if (value === null || isEmptyScalar(value)) return { value: null, from: keyEnd, to: keyEnd };
  return { value, from, to: rangeOf(value)[1] };
}

function checkType(node: Node, segment: Segment, path: Path): void {
  const right = typeof segment === 'string' ? isMap(node) : isSeq(node);
  if (right) return;
  const what = path.length === 0 ? 'the whole' : formatSegments(path);
  throw new DocumentError(
    `${what} is not ${typeof segment === 'string' ? 'an object' : 'an array'}`,
    rangeOf(node)[0],
  );
}

const columnOf = (text: string, at: number): number => at - lineStart(text, at);

const isFlow = (node: Node): boolean => isCollection(node) && node.flow === true;

/** JSON is YAML. */
const flow = (value: Json): string => JSON.stringify(value);

/** Lines in block style, without a line break at the end. */
const block = (value: Json): string => stringify(value, { lineWidth: 0, indent: 2 }).trimEnd();

const indented = (lines: string, indent: string): string => lines.replaceAll('\n', `\n${indent}`);

/** New lines behind all of the text. */
const atEnd = (text: string, lines: string): Splice => ({
  from: text.length,
  to: text.length,
  text: `${text === '' || text.endsWith('\n') ? '' : '\n'}${lines}\n`,
});

function insertion(text: string, parent: Node, segment: Segment, value: Json): Splice {
  const collection = parent as YAMLMap<Node, Node | null> | YAMLSeq<Node>;
  if (isFlow(parent) || collection.items.length === 0) {
    const piece = typeof segment === 'string' ? `${flow(segment)}: ${flow(value)}` : flow(value);
    const last = collection.items.at(-1);
    const at = last === undefined ? rangeOf(parent)[0] + 1 : endOf(last);
    return { from: at, to: at, text: last === undefined ? piece : `, ${piece}` };
  }
  const indent = ' '.repeat(columnOf(text, rangeOf(parent)[0]));
  const lines =
    typeof segment === 'string' ? block({ [segment]: value }) : `- ${indented(block(value), '  ')}`;
  const last = collection.items.at(-1);
  const end = trimmedEnd(text, last === undefined ? 0 : endOf(last));
  const at = lineEnd(text, end);
  const piece = indented(lines, indent);
  return { from: at, to: at, text: `\n${indent}${piece}` };
}

function endOf(item: Node | Pair<Node, Node | null>): number {
  if (isNode(item)) return rangeOf(item)[1];
  return itemOf(item).to;
}

/** A block ends with its last line break; a literal text that keeps its empty lines ends with them. */
function trimmedEnd(text: string, end: number): number {
  if (text[end - 1] !== '\n') return end;
  return text[end - 2] === '\r' ? end - 2 : end - 1;
}

function replacement(text: string, node: Node, value: Json): Splice {
  const [from, end] = rangeOf(node);
  const to = isFlow(node) ? end : from + text.slice(from, end).trimEnd().length;
  return { from, to, text: typeof value === 'string' ? inline(value) : flow(value) };
}

/** As the library would write it in one line. */
function inline(value: string): string {
  const printed = stringify(value, { lineWidth: 0 }).trimEnd();
  return printed.includes('\n') ? flow(value) : printed;
}

function removal(text: string, parent: Node, item: Item): Splice {
  const { items } = parent as YAMLMap<Node, Node | null> | YAMLSeq<Node>;
  if (isFlow(parent)) return withoutFlowItem(parent, item);
  if (
    items.length === 1 &&
    lineStart(text, rangeOf(parent)[0]) > 0 &&
    columnOf(text, rangeOf(parent)[0]) > 0
  ) {
    const [from, to] = rangeOf(parent);
    return { from, to: from + text.slice(from, to).trimEnd().length, text: isMap(parent) ? '{}' : '[]' };
  }
  const from = lineStart(text, item.from);
  const end = lineEnd(text, trimmedEnd(text, item.to));
  const next = text.indexOf('\n', end);
  // The last line has no line break: the one before it goes.
  if (next < 0 && from > 0)
    return { from: text[from - 2] === '\r' ? from - 2 : from - 1, to: text.length, text: '' };
  return { from, to: next < 0 ? text.length : next + 1, text: '' };
}

/** A collection in one pair of brackets is written anew: between its items may stand comments with commas. */
function withoutFlowItem(parent: Node, item: Item): Splice {
  const [from, to] = rangeOf(parent);
  const collection = parent as YAMLMap<Node, Node | null> | YAMLSeq<Node>;
  const index = collection.items.findIndex((child) => endOf(child) === item.to);
  const next = collection.items[index + 1];
  const previous = collection.items[index - 1];
  const startOf = (child: Node | Pair<Node, Node | null>): number =>
    isNode(child) ? rangeOf(child)[0] : rangeOf(child.key)[0];
  if (next !== undefined) return { from: item.from, to: startOf(next), text: '' };
  if (previous !== undefined) return { from: endOf(previous), to: item.to, text: '' };
  return { from: from + 1, to: to - 1, text: '' };
}
