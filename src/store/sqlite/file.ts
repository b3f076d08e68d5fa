// The database's file before the engine touches it: made for its owner's eyes only, and looked at first, because opening
// a damaged file may change it (a journal is rolled back, a log is written into it).
import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store.ts';
import type { Db, Engine } from './engine.ts';
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
/** A file up to this size is read through at each start: some milliseconds. */
const CHECKED_BYTES = 4 * 1024 * 1024;

/** The engine gives its side files (`-wal`, `-shm`) the permissions of the file itself. */
export function createFile(file: string): void {
  const existing = statOf(file);
  if (existing?.isFile() === false) {
    throw new StoreError('unavailable', `the database ${file} is not a file; name a file`);
  }
  if (existing !== undefined) return;
  makeFolder(dirname(file));
  closeSync(openSync(file, 'a', 0o600));
}

/** With its parents, one by one: in a place that takes no folders (/proc) Node's own `recursive` never returns. */
function makeFolder(folder: string): void {
  if (statOf(folder) !== undefined) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process made it meanwhile.
    if (statOf(folder)?.isDirectory() !== true) throw error;
  }
}

/** What a database consists of: its log and the index of that hold the same data. */
const ENDS = ['', '-wal', '-shm'] as const;

/** A database that was copied or made with a wider mode is narrowed, where it is ours to narrow. */
export function keepPrivate(file: string): void {
  for (const end of ENDS) {
    if (((statOf(file + end)?.mode ?? 0) & 0o077) === 0) continue;
    try {
      chmodSync(file + end, 0o600);
    } catch {
      // Another user's file: who may read it is theirs to decide.
    }
  }
}

/** Which file stands at the path: another one is told by it. undefined: none. */
export function identityOf(file: string): string | undefined {
  const stat = statOf(file);
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

function statOf(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

/** Another process that writes shows a file of two times: a fault counts where it is found twice in a file at rest. */
const MOST_LOOKS = 5;

/** Throws StoreError `damaged`, having changed nothing. An empty file is a database that is not made yet. A file that never
 *  rests is in use: what is wrong with it is found out with the first query. */
export function inspectFile(engine: Engine, file: string): void {
  let seen: string | undefined;
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const before = stateOf(file);
    const fault = findFault(engine, file);
    if (fault === undefined) return;
    if (before === seen && stateOf(file) === seen) throw damaged(file, fault.cause, fault.how);
    seen = before;
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

function findFault(engine: Engine, file: string): Fault | undefined {
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
  // What is missing in the file may stand in a log that a crashed process left, or that a running one writes.
  if (hasContent(`${file}-journal`)) return undefined;
  const logged = hasContent(`${file}-wal`);
  if (!logged && size < pageSize * countPages(header)) return { how: 'its end is missing' };
  if (size > CHECKED_BYTES) return undefined;
  const cause = logged ? checkWithLog(engine, file) : checkCopy(engine, file);
  return cause === undefined ? undefined : { how: BROKEN, cause };
}

function hasContent(file: string): boolean {
  return (statOf(file)?.size ?? 0) > 0;
}

function readPageSize(header: Buffer): number | undefined {
  const told = header.readUInt16BE(AT.pageSize);
  const size = told === 1 ? 65_536 : told;
  const versions = [header[AT.writeVersion], header[AT.readVersion]];
  const sound =
    header.subarray(0, MAGIC.length).equals(MAGIC) &&
    size >= 512 &&
    (size & (size - 1)) === 0 &&
    versions.every((version) => version === 1 || version === 2) &&
    header.subarray(AT.payload, AT.payload + PAYLOAD_FRACTIONS.length).equals(PAYLOAD_FRACTIONS);
  return sound ? size : undefined;
}

/** 0 where the header does not tell it reliably. */
function countPages(header: Buffer): number {
  const reliable = header.readUInt32BE(AT.changes) === header.readUInt32BE(AT.validFor);
  return reliable ? header.readUInt32BE(AT.pages) : 0;
}

/** Checks a copy in memory. Its header is told that it has no log, which a database in memory cannot have. */
function checkCopy(engine: Engine, file: string): unknown {
  const bytes = readFileSync(file);
  bytes[AT.writeVersion] = 1;
  bytes[AT.readVersion] = 1;
  return check(() => new engine(bytes));
}

/** With a log the file alone is half the truth. A reader reads both, and writes neither. */
function checkWithLog(engine: Engine, file: string): unknown {
  return check(() => new engine(file, { readonly: true, fileMustExist: true }));
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
