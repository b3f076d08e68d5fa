// Turns errors of SQLite and of the file system into StoreErrors whose messages say what to do.
import { StoreError } from '../store.ts';

const RIGHTS = 'let this user write the file and its folder, or choose another with --database';
const PATH = 'correct the path';

/** Error code of the file system -> the cause, and what the user can do. */
const SYSTEM: Record<string, string> = {
  EACCES: `permission denied; ${RIGHTS}`,
  EPERM: `not permitted; ${RIGHTS}`,
  EROFS: 'the file system is read-only; choose another place with --database',
  ENOSPC: 'no space left; free some',
  EDQUOT: 'no space left for this user; free some',
  ENOTDIR: `a part of its path is not a folder; ${PATH}`,
  EEXIST: `a part of its path is not a folder; ${PATH}`,
  EISDIR: 'it is a folder; name a file in it',
  ENOENT: `it does not exist, and cannot be made; ${PATH}`,
  ENAMETOOLONG: `its name is too long; ${PATH}`,
  ELOOP: `its path is a circle of links; ${PATH}`,
  EMFILE: 'too many files are open; raise the limit of open files (ulimit -n)',
  EIO: 'reading or writing it failed; check the disk',
};

/** Beginning of SQLite's error code -> the same. */
const SQLITE: readonly (readonly [prefix: string, reason: string])[] = [
  ['SQLITE_BUSY', 'another process keeps it locked; end that one, or try again'],
  ['SQLITE_LOCKED', 'another process keeps it locked; end that one, or try again'],
  ['SQLITE_FULL', 'no space left; free some'],
  ['SQLITE_READONLY', `it can only be read; ${RIGHTS}`],
  ['SQLITE_CANTOPEN', `it cannot be opened; ${RIGHTS}`],
  ['SQLITE_PERM', `permission denied; ${RIGHTS}`],
  ['SQLITE_NOMEM', 'out of memory; end other programs'],
  ['SQLITE_IOERR', 'reading or writing it failed; check the disk'],
  ['SQLITE_PROTOCOL', 'its locks do not work; put it on a disk of this machine'],
];

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error instanceof StoreError ? error.cause : error));
}

/** Returns an error that the database did not cause (a duplicate key, a mistake in the code) unchanged. */
export function storeError(error: unknown, file: string): unknown {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_CORRUPTFS)/.test(code)) return damagedInUse(file, error);
  const reason = SYSTEM[code] ?? SQLITE.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (reason === undefined) return error;
  const kind = isBusy(error) ? 'busy' : 'unavailable';
  return new StoreError(kind, `the database ${file} is not usable now (${code}): ${reason}`, error);
}

/** The check before opening found the damage, so the gateway has changed nothing. */
export function damaged(file: string, cause: unknown, how: string): StoreError {
  return new StoreError(
    'damaged',
    `the database ${file} cannot be read: ${how}. The gateway has not changed it: move it away, or restore a copy`,
    cause,
  );
}

/** A query found the damage: the file has been in use. */
function damagedInUse(file: string, cause: unknown): StoreError {
  return new StoreError(
    'damaged',
    `the database ${file} is damaged: a part of it cannot be read. Stop every gateway, then move it away, or restore a copy`,
    cause,
  );
}
