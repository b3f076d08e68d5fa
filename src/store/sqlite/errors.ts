// What the engine and the file system throw, as the three kinds that the gateway acts upon.
import { StoreError } from '../store.ts';

const SYSTEM: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left',
  ENOTDIR: 'a part of its path is not a folder',
  EEXIST: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist',
};

const ENGINE: readonly (readonly [prefix: string, reason: string])[] = [
  ['SQLITE_BUSY', 'another process keeps it locked'],
  ['SQLITE_LOCKED', 'another process keeps it locked'],
  ['SQLITE_FULL', 'no space left'],
  ['SQLITE_READONLY', 'it can only be read'],
  ['SQLITE_CANTOPEN', 'it cannot be opened'],
  ['SQLITE_PERM', 'permission denied'],
  ['SQLITE_NOMEM', 'out of memory'],
  ['SQLITE_IOERR', 'reading or writing it failed'],
  ['SQLITE_PROTOCOL', 'its locks do not work'],
];

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error instanceof StoreError ? error.cause : error));
}

/** A fault that is not of the database (a key that exists already, a mistake in the code) stays what it is. */
export function storeError(error: unknown, file: string): unknown {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_CORRUPTFS)/.test(code)) return damaged(file, error);
  const reason = SYSTEM[code] ?? ENGINE.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (reason === undefined) return error;
  const kind = isBusy(error) ? 'busy' : 'unavailable';
  return new StoreError(kind, `the database ${file} is not usable now: ${reason} (${code})`, error);
}

export function damaged(
  file: string,
  cause?: unknown,
  how = 'it is damaged, or not a SQLite database',
): StoreError {
  return new StoreError(
    'damaged',
    `the database ${file} cannot be read: ${how}. It was left as it is: move it away, or restore a copy`,
    cause,
  );
}
