// Creates folders. Node's own `recursive` never returns in a place that has no folders, such as /proc.
import { mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** With the parents that are missing, each with `mode`. Gives those that it created, outermost first. Throws the error of the file system. */
export function makeFolder(folder: string, mode = 0o700): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return [];
  const parents = makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!isFolder(folder)) throw error;
    return parents;
  }
  return [...parents, folder];
}

/** The user's home folder; undefined: there is no HOME, and the user has no entry in the system's list (a container's). */
export function homeFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
