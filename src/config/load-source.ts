// The configuration file as a plain value, and the places of its parts for faults. The only reader of YAML.
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
import { type ConfigFault, type Path, ConfigError, formatPath } from './config-error.ts';

export interface Source {
  path: string;
  value: unknown;
  /** Faults as lines for the user, in the order of the file. */
  lines: (faults: readonly ConfigFault[]) => string[];
  /** `gateway.yaml:3 database` */
  place: (path: Path) => string;
}

export function readSource(file: string, cwd: string): Source {
  const relative = path.relative(cwd, file);
  const shown = relative === '' || relative.startsWith('..') || path.isAbsolute(relative) ? file : relative;
  const counter = new LineCounter();
  const text = readText(file, shown);
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
  return { path: file, value, lines, place };
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'is not there; check the name, or leave it out to use what is found',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read; give this user the permission',
  EPERM: 'may not be read; give this user the permission',
  ENOTDIR: "can't be read (ENOTDIR): a part of its path is not a folder; correct the path",
};

function readText(file: string, shown: string): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const why =
      UNREADABLE[code] ??
      (code.startsWith('ERR_ENCODING')
        ? 'is not UTF-8; save it as UTF-8'
        : `can't be read (${code}); check the path and the disk`);
    throw new ConfigError([`${shown}: ${why}`]);
  }
  return text;
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

/** Aliases of an anchor that is not there. Their names are not repeated: a secret may begin with an asterisk. */
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

/** The keys and indexes on the way down these nodes. */
function pathOf(nodes: readonly unknown[]): Path {
  const segments: (string | number)[] = [];
  for (const [index, node] of nodes.entries()) {
    if (isPair(node) && isScalar(node.key)) segments.push(String(node.key.value));
    else if (isSeq(node)) segments.push(node.items.indexOf(nodes[index + 1]));
  }
  return segments;
}

/** Every text in quotes, with those that are not closed. */
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

/** Where a path is in the file, and which of its segments are really there: short forms leave some out. */
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

// A file that is not YAML: which of the parser's complaints are worth a line, and in which words.

/** What the parser says: its code, and where in the text. */
interface SyntaxFault {
  code: string;
  pos: readonly [number, number];
}

/** A text in quotes: where its first quote is, and all of it. */
interface Quoted {
  start: number;
  source: string;
}

/**
 * YAML's own messages repeat the text, which may be a secret: said in our own words. One slip breaks much of what follows,
 * so only the first counts, and every key that is there twice. `quoted`: what is in quotes in the text.
 */
function syntaxFaults(
  errors: readonly SyntaxFault[],
  text: string,
  quoted: () => readonly Quoted[],
): { offset: number; message: string }[] {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  const faults = errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    // The place of a key without a value is given as the end of the line before.
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

/** The parser notices an open quote where the text ends, or where the next quote closes it. */
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
    return { offset: open.start, why: 'a quote is opened here and not closed; close it' };
  if (text.slice(offset - 1, offset + 1) === '${')
    return { offset, why: '${NAME} within { } or [ ] needs quotes; write "${NAME}"' };
  return { offset, why: YAML_FAULTS[code] };
}

const YAML_FAULTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is off, or a bracket is not closed; align with spaces, close it',
  TAB_AS_INDENT: 'a tab indents; use spaces',
  DUPLICATE_KEY: 'this key is there twice; keep one',
  MISSING_CHAR: 'a bracket, colon or space is missing; add it',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon missing?',
  BLOCK_AS_IMPLICIT_KEY: 'two mappings are on one line; quote the text, or break the line',
  BAD_ALIAS: 'a text that begins with * or & needs quotes; add them',
  MULTIPLE_DOCS: 'the file holds several documents (---); keep one',
  BAD_DQ_ESCAPE: 'an escape in double quotes is unknown; use single quotes',
  UNEXPECTED_TOKEN: 'something here is too much; check quotes, brackets and indentation',
};

// `${NAME}` in any string of the file reads the environment, so that secrets stay out of it.

export type Env = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  value: unknown;
  /** Variables that are not set, and where they are asked for. An empty one is unset. */
  missing: { path: Path; name: string }[];
  /** Where a variable was read: the text there is a secret, and no fault may repeat it. */
  secret: (path: Path) => boolean;
  /** The variables that were read there. */
  variables: (path: Path) => readonly string[];
}

export function interpolate(root: unknown, env: Env): Interpolated {
  const missing: Interpolated['missing'] = [];
  const read = new Map<string, string[]>();
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{([^}]*)\}/g, (_, inner: string) => {
        const name = inner.trim();
        const place = JSON.stringify(path);
        read.set(place, [...(read.get(place) ?? []), name]);
        const text = Object.hasOwn(env, name) ? (env[name] ?? '') : '';
        if (text === '') missing.push({ path, name });
        return text;
      });
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, member]) => [key, visit(member, [...path, key])]),
      );
    return value;
  };
  const value = visit(root, []);
  const variables = (path: Path): readonly string[] => read.get(JSON.stringify(path)) ?? [];
  return { value, missing, variables, secret: (path) => variables(path).length > 0 };
}

/** Variables without braces: the text is taken as it stands, which nobody wants of `$NAME`. */
export function bareVariables(file: unknown): string[] {
  const warnings: string[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (typeof value === 'string') {
      const right = bareVariable(value, path.at(-1) === 'api_key');
      if (right !== undefined) warnings.push(`${formatPath(path)}: ${right}`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) visit(member, [...path, key]);
    }
  };
  const { providers } = file as { providers?: unknown };
  visit(providers, ['providers']);
  return warnings;
}

/** A text that only looks a little like a variable is not repeated: it may be a secret. */
function bareVariable(text: string, secret: boolean): string | undefined {
  const name = /(?:^|[\s/:])\$([A-Z][A-Z0-9_]*)(?![\w{])/.exec(text)?.[1];
  if (name !== undefined) return `$${name} is taken as text; to read the environment write \${${name}}`;
  return secret && /^\$[^{]/.test(text)
    ? 'a text that begins with $ is taken as it is; to read the environment write ${NAME}'
    : undefined;
}
