// Creates folders, and tells whose they are. Node's own `recursive` never returns in a place that has no folders, such as /proc.
import { mkdirSync, statSync, type Stats } from 'node:fs';
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

/** Whether another user could put a file of theirs in the place of one in this folder: what is read there cannot be trusted. In a folder
 *  like /tmp, where only owners rename and remove files (its sticky bit), the owner of the file decides. Windows has no such modes. */
export function othersCanReplaceIn({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): boolean {
  const self = process.geteuid?.();
  if (self === undefined) return false;
  return (uid !== self && uid !== 0) || ((mode & 0o022) !== 0 && (mode & STICKY) === 0);
}

const STICKY = 0o1000;

export const isForeign = ({ uid }: Pick<Stats, 'uid'>): boolean =>
  process.geteuid !== undefined && uid !== process.geteuid();
