// The configuration file as a plain value, and the places of its parts for faults. The only reader of YAML.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, Parser, visit } from 'yaml';
import type { Document } from 'yaml';
import type { ConfigFault, Path } from './config-error.ts';
import { ConfigError, formatPath } from './config-error.ts';
import { syntaxFaults } from './syntax.ts';
import type { Quoted } from './syntax.ts';

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
