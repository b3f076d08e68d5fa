// Reads the configuration file: YAML to a plain value, and the line of each part for messages about faults.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Parser,
  visit,
  type Document,
} from 'yaml';
import { type ConfigFault, type Path, ConfigError, formatPath } from './config.ts';

export interface Source {
  path: string;
  value: unknown;
  /** Formats faults as lines for the user, in the order of the file. */
  lines: (faults: readonly ConfigFault[]) => string[];
  /** The line of a value: `gateway.yaml:3 database`. */
  place: (path: Path) => string;
  /** The same without the path: `gateway.yaml:3`. */
  line: (path: Path) => string;
}

/** `check` gets the bytes before they are read as YAML, and may throw. */
export function readSource(file: string, cwd: string, check?: (bytes: Uint8Array) => void): Source {
  const bytes = readBytes(file, shownName(file, cwd));
  check?.(bytes);
  return parseSource({ file, bytes }, cwd);
}

function shownName(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  return relative === '' || relative.startsWith('..') || path.isAbsolute(relative) ? file : relative;
}

/** Throws ConfigError if the content is not a mapping in YAML. */
export function parseSource({ file, bytes }: { file: string; bytes: Uint8Array }, cwd: string): Source {
  const shown = shownName(file, cwd);
  const counter = new LineCounter();
  const text = textOf(bytes, shown);
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error', lineCounter: counter });
  const lineAt = (offset: number): number => counter.linePos(offset).line || 1;
  const broken = syntaxFaults(document.errors, text, () => quotedIn(text));
  if (broken.length > 0)
    throw new ConfigError(broken.map(({ offset, message }) => `${shown}:${lineAt(offset)} ${message}`));
  const at = (where: Path): { line: number; where: Path } => {
    const { offset, path: found } = locate(document, where);
    return { line: lineAt(offset), where: found };
  };
  const undefinedAliases = aliasFaults(document).map(({ offset, path: where, message }) => {
    return `${shown}:${lineAt(offset)} ${formatPath(where)}: ${message}`;
  });
  if (undefinedAliases.length > 0) throw new ConfigError(undefinedAliases);
  const value = toValue(document, shown);
  const lines = (faults: readonly ConfigFault[]): string[] =>
    faults
      .map((fault) => ({ ...at(fault.path), message: fault.message }))
      .sort((a, b) => a.line - b.line)
      .map(({ line, where, message }) => `${shown}:${line} ${formatPath(where)}: ${message}`);
  const place = (wanted: Path): string => {
    const { line, where } = at(wanted);
    return `${shown}:${line} ${formatPath(where)}`;
  };
  const line = (wanted: Path): string => `${shown}:${at(wanted).line}`;
  return { path: file, value, lines, place, line };
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the name, or leave it out to use the providers that are found',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read; give this user the permission',
  EPERM: 'may not be read; give this user the permission',
  ENOTDIR: "can't be read (ENOTDIR): a part of its path is not a folder; correct the path",
};

function readBytes(file: string, shown: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const why = UNREADABLE[code] ?? `can't be read (${code}); check the path and the disk`;
    throw new ConfigError([`${shown}: ${why}`]);
  }
}

function textOf(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError([`${shown}: is not UTF-8; save it as UTF-8`]);
  }
}

function toValue(document: Document, shown: string): unknown {
  let value: unknown;
  try {
    value = document.toJS();
    JSON.stringify(value);
  } catch {
    throw new ConfigError([
      `${shown}:1 uses too many aliases, or one inside of itself; write the values out`,
    ]);
  }
  if (value === null || value === undefined)
    throw new ConfigError([`${shown}:1 is empty; write at least "providers:" and a provider below it`]);
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ConfigError([
      `${shown}:1 is not a mapping; write keys like "providers:", each with its values below`,
    ]);
  return value;
}

/** Aliases whose anchor does not exist. Messages do not repeat their names: a secret may begin with an asterisk. */
function aliasFaults(document: Document): { offset: number; path: Path; message: string }[] {
  const faults: { offset: number; path: Path; message: string }[] = [];
  visit(document, {
    Alias(_key, alias, ancestors) {
      if (alias.resolve(document) !== undefined) return;
      const message =
        'is an alias (*) that nothing defines; define it with & before, or put the text into quotes';
      faults.push({ offset: alias.range?.[0] ?? 0, path: pathOf([...ancestors, alias]), message });
    },
  });
  return faults;
}

/** The path that leads through these nodes. */
function pathOf(nodes: readonly unknown[]): Path {
  const segments: (string | number)[] = [];
  for (const [index, node] of nodes.entries()) {
    if (isPair(node) && isScalar(node.key)) segments.push(String(node.key.value));
    else if (isSeq(node)) segments.push(node.items.indexOf(nodes[index + 1]));
  }
  return segments;
}

/** Every quoted text, also one without its closing quote. */
function quotedIn(text: string): Quoted[] {
  const found: Quoted[] = [];
  const walk = (token: unknown): void => {
    if (Array.isArray(token)) token.forEach(walk);
    if (typeof token !== 'object' || token === null) return;
    const { type, offset, source } = token as { type?: string; offset?: number; source?: string };
    if (type?.endsWith('-quoted-scalar') && offset !== undefined && source !== undefined)
      found.push({ start: offset, source });
    else Object.values(token).forEach(walk);
  };
  for (const token of new Parser().parse(text)) walk(token);
  return found;
}

/** The offset of a path in the file, and the path without segments that the file leaves out in its short forms. */
function locate(document: Document, wanted: Path): { offset: number; path: Path } {
  let node: unknown = document.contents;
  let offset = 0;
  const found: (string | number)[] = [];
  for (const [index, segment] of wanted.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(segment));
      if (pair === undefined) return { offset, path: [...found, ...wanted.slice(index)] };
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof segment === 'number') {
      node = node.items[segment];
      offset = (node as { range?: [number] | null } | undefined)?.range?.[0] ?? offset;
    } else if (isSeq(node) || (isScalar(node) && node.value !== null)) continue;
    found.push(segment);
  }
  return { offset, path: found };
}

// Faults of a file that is not valid YAML: picks one of the parser's errors and words it.

/** An error of the parser: its code and its range in the text. */
interface SyntaxFault {
  code: string;
  pos: readonly [number, number];
}

/** A quoted text: the offset of its first quote, and its source with the quotes. */
interface Quoted {
  start: number;
  source: string;
}

/**
 * The parser's own messages repeat the text, which may be a secret, so these have their own words. One mistake causes many
 * errors after it: only the first error and every duplicate key are reported. `quoted` finds the quoted texts.
 */
function syntaxFaults(
  errors: readonly SyntaxFault[],
  text: string,
  quoted: () => readonly Quoted[],
): { offset: number; message: string }[] {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  const faults = errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    // For a key without a value, the parser gives the end of the line before.
    .map(({ code, pos: [offset] }) => ({
      offset: offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0),
      why: YAML_FAULTS[code],
    }));
  if (first !== undefined) faults.push(causeOf(first, text, quoted()));
  return faults
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, why }) => ({
      offset,
      message: `is not valid YAML: ${why ?? 'check quotes, brackets and indentation here'}`,
    }));
}

/** Finds the opening quote if one is missing its end: the parser reports the error far behind it. */
function causeOf(
  { code, pos: [offset] }: SyntaxFault,
  text: string,
  quoted: readonly Quoted[],
): { offset: number; why: string | undefined } {
  const open = quoted.find(({ start, source }) => {
    if (start > offset) return false;
    const closed = source.length > 1 && source.endsWith(source.charAt(0));
    const end = start + source.length;
    return !closed || (source.includes('\n') && end <= offset && !text.slice(end, offset).includes('\n'));
  });
  if (open !== undefined)
    return { offset: open.start, why: 'a quote opens here and does not close; close it' };
  if (text.slice(offset - 1, offset + 1) === '${')
    return { offset, why: '${NAME} within { } or [ ] needs quotes; write "${NAME}"' };
  return { offset, why: YAML_FAULTS[code] };
}

const YAML_FAULTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is off, or a bracket is not closed; align with spaces, close it',
  TAB_AS_INDENT: 'a tab indents; use spaces',
  DUPLICATE_KEY: 'this key occurs twice; keep one',
  MISSING_CHAR: 'a bracket, colon or space is missing; add it',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon missing?',
  BLOCK_AS_IMPLICIT_KEY: 'two mappings are on one line; quote the text, or break the line',
  BAD_ALIAS: 'a text that begins with * or & needs quotes; add them',
  MULTIPLE_DOCS: 'the file holds several documents (---); keep one',
  BAD_DQ_ESCAPE: 'an escape in double quotes is unknown; use single quotes',
  UNEXPECTED_TOKEN: 'this text is not expected here; check quotes, brackets and indentation',
};
