// Counts what makes the house hard to change, and fails where a count grows. A smaller count is written down here.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import type TypeScript from 'typescript';
import { describe, expect, it } from 'vitest';
import { lineOf, linesOf, parse, readSources, walk, type Source } from './helpers/sources.ts';
import { ts } from './helpers/typescript.ts';

/** The most that may be; the test prints what is. */
const AT_MOST = {
  'branches on the protocol of a request outside its decoder': 0,
  'files that name usage columns': 6,
  'exports that nothing imports': 0,
  'equal bodies in several files': 0,
  'functions over 80 lines': 0,
  'files over 400 lines': 0,
};

const ROOT = new URL('../', import.meta.url);
const SOURCES = readSources();

/** `request.protocol === 'chat'`: what the decoder knew, asked again. */
function protocolBranches(source: Source): string[] {
  const found: string[] = [];
  const isInEncoder = /^(?:protocols\/\w+\/(?:request|reply)\/|protocols\/shared\/|canonical\/|sim\/)/.test(
    source.path,
  );
  walk(source, (node) => {
    if (!ts.isBinaryExpression(node) || !/^[!=]==$/.test(node.operatorToken.getText(source.tree))) return;
    const compared = [node.left, node.right].some(
      (side) =>
        isRequestProtocol(side.getText(source.tree)) ||
        (isInEncoder && side.getText(source.tree) === 'protocol'),
    );
    if (compared) found.push(`${source.path}:${lineOf(source, node)}`);
  });
  return found;
}

function isRequestProtocol(text: string): boolean {
  return /(?:^|\.)request\.protocol$/.test(text);
}

/** Members of a usage row that stand in no other value. */
const USAGE_COLUMNS =
  /\b(?:cacheRead|cache_read|cacheWrite|cache_write|firstByteMs|first_byte_ms|modelAsked|model_asked|durationMs|duration_ms)\b/g;

/** A file that lists the columns: names four of these five. */
function namesUsageColumns({ text }: Source): boolean {
  const names = new Set(
    [...text.matchAll(USAGE_COLUMNS)].map(([name]) => name.replaceAll('_', '').toLowerCase()),
  );
  return names.size >= 4;
}

interface Exported {
  path: string;
  name: string;
}

/** What a file exports, and what it takes from others: `path name`, `path *` for all. */
function exportsOf(source: Source): { exported: Exported[]; taken: string[] } {
  const exported: Exported[] = [];
  const taken: string[] = [];
  const take = (specifier: string, name: string): void => {
    if (specifier.startsWith('.')) taken.push(`${join(dirname(source.path), specifier)} ${name}`);
  };
  walk(source, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const bindings = node.importClause?.namedBindings;
      const names =
        bindings === undefined
          ? []
          : ts.isNamedImports(bindings)
            ? bindings.elements.map(importedName)
            : ['*'];
      for (const name of names) take(node.moduleSpecifier.text, name);
    } else if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      const clause = node.exportClause;
      const names = clause && ts.isNamedExports(clause) ? clause.elements.map(importedName) : ['*'];
      for (const name of names) take(node.moduleSpecifier.text, name);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier && ts.isStringLiteral(specifier)) take(specifier.text, '*');
    } else if (ts.isImportTypeNode(node)) {
      const { argument } = node;
      if (ts.isLiteralTypeNode(argument) && ts.isStringLiteral(argument.literal))
        take(argument.literal.text, '*');
    } else if (isExported(node)) {
      for (const name of declaredNames(node)) exported.push({ path: source.path, name });
    }
  });
  return { exported, taken };
}

function importedName(element: {
  name: TypeScript.ModuleExportName;
  propertyName?: TypeScript.ModuleExportName | undefined;
}): string {
  return (element.propertyName ?? element.name).text;
}

function isExported(node: TypeScript.Node): node is TypeScript.Statement {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false)
  );
}

function declaredNames(node: TypeScript.Node): string[] {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  }
  const name = (node as Partial<TypeScript.DeclarationStatement>).name;
  return name && ts.isIdentifier(name) ? [name.text] : [];
}

/** Entries of the program and of its parts that are loaded by name. */
const ENTRIES = ['protocols/translate.ts'];

/** Exports that no file of the program, of its start, of the build or of the tests imports. */
function unusedExports(): string[] {
  const all = SOURCES.map(exportsOf);
  const taken = new Set(all.flatMap((file) => file.taken));
  const outside = textsOutside();
  return all
    .flatMap(({ exported }) => exported)
    .filter(({ path }) => !ENTRIES.includes(path))
    .filter(({ path, name }) => !taken.has(`${path} ${name}`) && !taken.has(`${path} *`))
    .filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(outside))
    .map(({ path, name }) => `${path}: ${name}`);
}

function textsOutside(): string {
  const files = ['bin', 'test'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.[jt]s$/.test(path) && !path.startsWith('house.'))
      .map((path) => `${folder}/${path}`),
  );
  return [...files, 'rolldown.config.js'].map((path) => readFileSync(new URL(path, ROOT), 'utf8')).join('\n');
}

type Body =
  | TypeScript.FunctionDeclaration
  | TypeScript.MethodDeclaration
  | TypeScript.ArrowFunction
  | TypeScript.FunctionExpression;

function isFunction(node: TypeScript.Node): node is Body {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isArrowFunction(node) ||
    ts.isFunctionExpression(node)
  );
}

/** Functions of more than one statement's worth, written the same in several files. */
function equalBodies(sources: readonly Source[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const source of sources) {
    walk(source, (node) => {
      if (!isFunction(node) || node.body === undefined) return;
      const text = node.body.getText(source.tree).replace(/\s+/g, ' ');
      if (text.length < 60) return;
      places.set(text, (places.get(text) ?? new Set()).add(source.path));
    });
  }
  return [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(([text, paths]) => `${[...paths].join(', ')}: ${text.slice(0, 60)}`);
}

function longFunctions(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const found: string[] = [];
    walk(source, (node) => {
      if (isFunction(node) && linesOf(source, node) > 80)
        found.push(`${source.path}:${lineOf(source, node)}`);
    });
    return found;
  });
}

const MEASURES: Readonly<Record<keyof typeof AT_MOST, () => string[]>> = {
  'branches on the protocol of a request outside its decoder': () => SOURCES.flatMap(protocolBranches),
  'files that name usage columns': () => SOURCES.filter(namesUsageColumns).map(({ path }) => path),
  'exports that nothing imports': unusedExports,
  'equal bodies in several files': () => equalBodies(SOURCES),
  'functions over 80 lines': () => longFunctions(SOURCES),
  'files over 400 lines': () =>
    SOURCES.filter(({ text }) => text.split('\n').length > 401).map(({ path }) => path),
};

describe('the house grows no wider', () => {
  it.each(Object.entries(MEASURES))('%s', (name, measure) => {
    const found = measure();
    console.log(`${name}: ${found.length}`);
    expect(found.length, found.join('\n')).toBeLessThanOrEqual(AT_MOST[name as keyof typeof AT_MOST]);
  });
});

/** The files that the page names in `code` or links to and that are not there; a name alone may stand in any folder. */
function missingFiles(page: string, text: string): string[] {
  const names = [...text.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.\w+)`/g)].map(([, name]) => name ?? '');
  const links = [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, name]) => name ?? '');
  const own = names.filter((name) => /\.ts$|^(?:src|test|docs|bin)\//.test(name));
  return [
    ...own.filter((name) => !TREE.some((path) => `/${path}`.endsWith(`/${name}`))),
    ...links.filter((name) => !existsSync(new URL(join(dirname(page), name), ROOT))),
  ];
}

const TREE = ['src', 'test', 'docs', 'bin'].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' }).map(
    (path) => `${folder}/${path}`,
  ),
);

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pagesBelow('docs'), ...pagesBelow('src')];

function pagesBelow(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `${folder}/${path}`);
}

it('names no file that is not there, in any page', () => {
  expect(PAGES.length).toBeGreaterThan(20);
  const missing = PAGES.flatMap((page) =>
    missingFiles(page, readFileSync(new URL(page, ROOT), 'utf8')).map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

describe('what is counted', () => {
  it('finds a branch on the protocol of a request, and none on that of a part', () => {
    const text = `if (encoding.request.protocol !== 'chat') a(); if (part.protocol === 'chat') b();`;
    expect(protocolBranches(parse('a.ts', text))).toEqual(['a.ts:1']);
  });

  it('finds a body that stands in two files once', () => {
    const body = `{ if (value === undefined) return ''; return typeof value === 'string' ? value : JSON.stringify(value); }`;
    const two = ['a.ts', 'b.ts'].map((path) => parse(path, `export function x(value: unknown) ${body}`));
    expect(equalBodies(two)).toHaveLength(1);
    expect(equalBodies(two.slice(1))).toEqual([]);
  });

  it('finds a page that names a missing file', () => {
    expect(
      missingFiles(
        'docs/a.md',
        'see `src/nowhere.ts`, `house.test.ts`, [there](../README.md), [and](gone.md)',
      ),
    ).toEqual(['src/nowhere.ts', 'gone.md']);
  });
});
