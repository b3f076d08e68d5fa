// Finds programs in PATH.
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../environment.ts';

/** Where a program is looked for. */
export interface Surroundings {
  env: Environment;
  cwd: string;
}

/** The path of a program, found as a shell does; undefined if it is not found. */
export function findProgram(name: string, { env, cwd }: Surroundings): string | undefined {
  if (name.includes('/')) return isProgram(path.resolve(cwd, name)) ? path.resolve(cwd, name) : undefined;
  return (env['PATH'] ?? '')
    .split(path.delimiter)
    .map((folder) => path.resolve(cwd, folder, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
