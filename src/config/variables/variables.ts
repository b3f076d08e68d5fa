// `${NAME}` in any string of the file reads the environment, `${file:PATH}` a file, so that secrets need not be in the configuration;
// `${NAME:-text}` has a default.
import { resolve } from 'node:path';
import { formatPath, type ConfigFault, type Path } from '../config.ts';
import type { Environment } from '../../environment.ts';
import { readFileValue, readVariable } from './secret-files.ts';

export interface Interpolated {
  value: unknown;
  /** Variables that are unset or empty and have no default, and the paths that read them. `fault`: why, where that is not all. */
  missing: { path: Path; name: string; fault?: string }[];
  faults: ConfigFault[];
  /** Whether the value at this path was read from a variable. It may be a secret, so no message repeats it. */
  secret: (path: Path) => boolean;
  /** The variables that this path reads; of a file `file:PATH`. */
  variables: (path: Path) => readonly string[];
}

const VARIABLE = /\$\{([^}]*)\}/g;

/** What stands between the braces. */
function partsOf(inner: string): { name: string; otherwise: string } {
  const at = inner.indexOf(':-');
  return at < 0
    ? { name: inner.trim(), otherwise: '' }
    : { name: inner.slice(0, at).trim(), otherwise: inner.slice(at + 2) };
}

/** Names of the variables that a text reads, in its order; of a file `file:PATH`. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(VARIABLE)].map(([, inner = '']) => partsOf(inner).name);
}

const FILE = /^file:\s*/;

/** The path of `file:PATH`; undefined: the name of a variable. */
export function fileNamed(name: string): string | undefined {
  return FILE.test(name) ? name.replace(FILE, '') : undefined;
}

/** `folder`: of the configuration file; paths of other files are relative to it. */
function read(name: string, env: Environment, folder: string): { text: string; fault?: string } {
  const file = fileNamed(name);
  if (file === undefined) return readVariable(env, name);
  const found = readFileValue(resolve(folder, file));
  return 'text' in found ? found : { text: '', fault: `the file ${file} ${found.fault}` };
}

export function interpolate(root: unknown, env: Environment, folder: string): Interpolated {
  const missing: Interpolated['missing'] = [];
  const faults: ConfigFault[] = [];
  const namesAt = new Map<string, string[]>();
  const textOf = (value: string, path: Path): string => {
    const names = variablesIn(value);
    if (names.length > 0) namesAt.set(JSON.stringify(path), names);
    if (value.replace(VARIABLE, '').includes('${')) {
      faults.push({ path, message: 'opens a variable with ${ and does not close it; write ${NAME}' });
    }
    return value.replace(VARIABLE, (_, inner: string) => {
      const { name, otherwise } = partsOf(inner);
      const { text, fault } = read(name, env, folder);
      if (text !== '' || otherwise !== '') return text || otherwise;
      missing.push({ path, name, ...(fault !== undefined && { fault }) });
      return '';
    });
  };
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') return textOf(value, path);
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, member]) => [key, visit(member, [...path, key])]),
      );
    return value;
  };
  const value = visit(root, []);
  const variables = (path: Path): readonly string[] => namesAt.get(JSON.stringify(path)) ?? [];
  return { value, missing, faults, variables, secret: (path) => variables(path).length > 0 };
}

/** Warns of `$NAME` without braces, which is text and not a variable. */
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

/** The warning about one text. Repeats only a clear variable name: any other text may be a secret. */
function bareVariable(text: string, secret: boolean): string | undefined {
  const name = /(?:^|[\s/:])\$([A-Z][A-Z0-9_]*)(?![\w{])/.exec(text)?.[1];
  if (name !== undefined)
    return `$${name} is text, not a variable; to read the environment write \${${name}}`;
  return secret && /^\$[^{]/.test(text)
    ? 'a value that begins with $ is text, not a variable; to read the environment write ${NAME}'
    : undefined;
}
