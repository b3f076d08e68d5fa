// The database file before SQLite opens it. A new file is readable by its owner alone; an existing file is checked first,
// because opening a damaged file may change it (SQLite rolls back a journal, or writes a log into it).
import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../../folders.ts';
import { StoreError } from '../store.ts';
import type { Db, Driver } from './driver.ts';
import { damaged } from './errors.ts';

// https://www.sqlite.org/fileformat2.html#the_database_header
const HEADER_BYTES = 100;
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');
const AT = {
  pageSize: 16,
  writeVersion: 18,
  readVersion: 19,
  payload: 21,
  changes: 24,
  pages: 28,
  validFor: 92,
};
const PAYLOAD_FRACTIONS = Buffer.from([64, 32, 32]);
/** A file up to this size is checked completely at each start. */
const MAX_CHECKED_BYTES = 4 * 1024 * 1024;

/** SQLite gives its side files (`-wal`, `-shm`) the permissions of the file itself. */
export function createFile(file: string): void {
  const existing = statOf(file);
  if (existing?.isFile() === false) {
    throw new StoreError('unavailable', `the database ${file} is not a file; name a file`);
  }
  if (existing !== undefined) return;
  makeFolder(dirname(file));
  closeSync(openSync(file, 'a', 0o600));
}

/** The database file, its log and the index of the log: all three hold the data. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

/** Removes the rights of other users from a database that was copied or created with them. */
export function keepPrivate(file: string): void {
  for (const end of SUFFIXES) {
    if (((statOf(file + end)?.mode ?? 0) & 0o077) === 0) continue;
    try {
      chmodSync(file + end, 0o600);
    } catch {
      // Another user owns the file and decides who may read it.
    }
  }
}

export function isEmpty(file: string): boolean {
  return statOf(file)?.size === 0;
}

function statOf(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

/** While another process writes, a read can mix old and new content: damage counts only if it is found twice in a file that
 *  did not change in between. */
const MAX_CHECKS = 5;

/** Throws StoreError `damaged`; changes nothing. An empty file is a new database. A file that changes all the time is in
 *  use: the first query then reports damage. */
export function inspectFile(driver: Driver, file: string): void {
  let previous: string | undefined;
  for (let checks = 0; checks < MAX_CHECKS; checks += 1) {
    const before = stateOf(file);
    const fault = findFault(driver, file);
    if (fault === undefined) return;
    if (before === previous && stateOf(file) === previous) throw damaged(file, fault.cause, fault.how);
    previous = before;
  }
}

function stateOf(file: string): string {
  return ['', '-wal', '-journal']
    .map((end) => {
      const stat = statOf(file + end);
      return stat === undefined ? '-' : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
    })
    .join();
}

interface Fault {
  how: string;
  cause?: unknown;
}

const BROKEN = 'it is damaged, or not a SQLite database';

function findFault(driver: Driver, file: string): Fault | undefined {
  const descriptor = openSync(file, 'r');
  const header = Buffer.alloc(HEADER_BYTES);
  let size: number;
  try {
    ({ size } = fstatSync(descriptor));
    if (size === 0) return undefined;
    if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return { how: BROKEN };
  } finally {
    closeSync(descriptor);
  }
  const pageSize = readPageSize(header);
  if (pageSize === undefined) return { how: BROKEN };
  // Pages that the file lacks may be in a log that a crashed process left, or that a running one writes.
  if (hasContent(`${file}-journal`)) return undefined;
  const logged = hasContent(`${file}-wal`);
  if (!logged && size < pageSize * countPages(header)) return { how: 'its end is missing' };
  if (size > MAX_CHECKED_BYTES) return undefined;
  const cause = logged ? checkWithLog(driver, file) : checkCopy(driver, file);
  return cause === undefined ? undefined : { how: BROKEN, cause };
}

function hasContent(file: string): boolean {
  return (statOf(file)?.size ?? 0) > 0;
}

function readPageSize(header: Buffer): number | undefined {
  const stored = header.readUInt16BE(AT.pageSize);
  const size = stored === 1 ? 65_536 : stored;
  const versions = [header[AT.writeVersion], header[AT.readVersion]];
  const sound =
    header.subarray(0, MAGIC.length).equals(MAGIC) &&
    size >= 512 &&
    (size & (size - 1)) === 0 &&
    versions.every((version) => version === 1 || version === 2) &&
    header.subarray(AT.payload, AT.payload + PAYLOAD_FRACTIONS.length).equals(PAYLOAD_FRACTIONS);
  return sound ? size : undefined;
}

/** 0 if the header's count is not reliable. */
function countPages(header: Buffer): number {
  const reliable = header.readUInt32BE(AT.changes) === header.readUInt32BE(AT.validFor);
  return reliable ? header.readUInt32BE(AT.pages) : 0;
}

/** Checks a copy in memory. The copy's header says "no log", because a database in memory cannot have one. */
function checkCopy(driver: Driver, file: string): unknown {
  const bytes = readFileSync(file);
  bytes[AT.writeVersion] = 1;
  bytes[AT.readVersion] = 1;
  return check(() => new driver(bytes));
}

/** Opens the file for reading: SQLite then reads the file and its log, and writes neither. */
function checkWithLog(driver: Driver, file: string): unknown {
  return check(() => new driver(file, { readonly: true, fileMustExist: true }));
}

function check(open: () => Db): unknown {
  let db: Db | undefined;
  try {
    db = open();
    const verdict = db.pragma('quick_check(1)', { simple: true });
    return verdict === 'ok' ? undefined : new Error(String(verdict));
  } catch (error) {
    const { code } = error as { code?: string };
    return /^SQLITE_(CORRUPT|NOTADB)/.test(code ?? '') ? error : undefined;
  } finally {
    db?.close();
  }
}
