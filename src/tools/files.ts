// Reads and writes files of the user: through symbolic links, never half, with mode and owner as before.
import {
  chownSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../folders.ts';
import { CliError } from '../cli-error.ts';

export interface FileState {
  /** As the tool names it. */
  path: string;
  /** The file that has its bytes: not a symbolic link. */
  target: string;
  /** undefined: there is no file. */
  content: { bytes: Buffer; mode: number; uid: number; gid: number } | undefined;
}

const MAX_LINKS = 32;

/** The file that a path means, if it exists or not. */
function targetOf(file: string): string {
  let target = file;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const entry = lstatSync(target, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink() !== true) return target;
    target = path.resolve(path.dirname(target), readlinkSync(target));
  }
  throw new CliError(`${file}: too many symbolic links`);
}

/** Throws CliError if the file is not one that can be read and replaced. */
export function readFileState(file: string): FileState {
  return mended(`cannot read ${file}`, () => {
    const target = targetOf(file);
    const stat = statSync(target, { throwIfNoEntry: false });
    if (stat === undefined) return { path: file, target, content: undefined };
    if (!stat.isFile()) throw new CliError(`${file} is not a file; nothing was changed`);
    const { mode, uid, gid } = stat;
    return { path: file, target, content: { bytes: readFileSync(target), mode: mode & 0o7777, uid, gid } };
  });
}

/** Throws CliError if the user made it read-only: a rename would replace it all the same. */
export function checkWritable({ path: file, content }: FileState): void {
  if (content === undefined || (content.mode & 0o200) !== 0) return;
  throw new CliError(`${file} is read-only; nothing was changed; to allow it: chmod u+w ${file}`);
}

/** Replaces a file at once. Returns the folders that it created. Throws CliError. */
export function replaceFile(
  { path: file, target, content }: FileState,
  bytes: Buffer,
  mode: number,
): string[] {
  return mended(`cannot write ${file}`, () => {
    const folder = path.dirname(target);
    const folders = makeFolder(folder);
    const temporary = path.join(folder, `.${path.basename(target)}.gateway-${process.pid}`);
    rmSync(temporary, { force: true });
    try {
      const descriptor = openSync(temporary, 'wx', 0o600);
      try {
        writeFileSync(descriptor, bytes);
        const { uid, gid } = fstatSync(descriptor);
        if (content !== undefined && (content.uid !== uid || content.gid !== gid))
          chownSync(temporary, content.uid, content.gid);
        fchmodSync(descriptor, mode);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      renameSync(temporary, target);
    } catch (error) {
      rmSync(temporary, { force: true });
      removeFolders(folders);
      throw error;
    }
    return folders;
  });
}

export function removeFile({ path: file, target }: FileState): void {
  mended(`cannot remove ${file}`, () => rmSync(target, { force: true }));
}

/** Those that are empty, innermost first. */
export function removeFolders(folders: readonly string[]): void {
  for (const folder of [...folders].reverse()) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

function mended<Result>(what: string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const reason = REASONS[String(error.code)] ?? error.message;
    throw new CliError(`${what}: ${reason}; nothing was changed`, 1, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'no space is left',
  ELOOP: 'too many symbolic links',
};
