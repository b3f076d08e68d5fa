// The sources of the program, parsed once for the tests that count what stands in them.
import { readFileSync, readdirSync } from 'node:fs';
import type TypeScript from 'typescript';
import { ts } from './typescript.ts';

export interface Source {
  /** Below `src`. */
  path: string;
  text: string;
  tree: TypeScript.SourceFile;
}

const SRC = new URL('../../src/', import.meta.url);

export function readSources(): Source[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => parse(path, readFileSync(new URL(path, SRC), 'utf8')));
}

export function parse(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

/** Each node of the file, parents before children. */
export function walk(source: Source, visit: (node: TypeScript.Node) => void): void {
  const go = (node: TypeScript.Node): void => {
    visit(node);
    ts.forEachChild(node, go);
  };
  go(source.tree);
}

export function lineOf(source: Source, node: TypeScript.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;
}

/** Lines of a node, its comments before it not counted. */
export function linesOf(source: Source, node: TypeScript.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(source, node);
}
