// The SQLite file itself: made readable by its owner only, looked at before SQLite touches it, opened with the right engine.
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import type { Database } from 'better-sqlite3';
import { StoreError } from '../store.ts';

const MAGIC = 'SQLite format 3\0';
/** A lock is waited for so long; the wait blocks the event loop. */
const BUSY_MS = 2000;
/** Pages in the WAL at which a commit checkpoints by itself: a bound for a server that is never idle. */
const AUTO_CHECKPOINT_PAGES = 20_000;

/** Rejects with StoreError: `damaged` where the file is no SQLite database; it is left as it is then. */
export async function openFile(path: string): Promise<Database> {
  const Engine = await loadEngine();
  const before = process.umask(0o077);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    checkHeader(path);
    const db = new Engine(path, { timeout: BUSY_MS });
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    try {
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = NORMAL');
      db.pragma('foreign_keys = ON');
      db.pragma(`wal_autocheckpoint = ${AUTO_CHECKPOINT_PAGES}`);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    throw storeError(error, path);
  } finally {
    process.umask(before);
  }
}

/** Version 13 ships its binaries but needs Node 22; npm leaves it out where it does not fit. */
async function loadEngine(): Promise<typeof BetterSqlite3> {
  const [major = 0] = process.versions.node.split('.').map(Number);
  const name: string = 'better-sqlite3-napi';
  if (major >= 22) {
    try {
      return ((await import(name)) as { default: typeof BetterSqlite3 }).default;
    } catch {
      // It was not installed, or has no binary for this machine.
    }
  }
  return (await import('better-sqlite3')).default;
}

function checkHeader(path: string): void {
  if (!existsSync(path)) return;
  const fd = openSync(path, 'r');
  try {
    const head = Buffer.alloc(MAGIC.length);
    const length = readSync(fd, head, 0, head.length, 0);
    if (length > 0 && head.toString('latin1') !== MAGIC) throw damaged(path);
  } finally {
    closeSync(fd);
  }
}

function damaged(path: string, cause?: unknown): StoreError {
  const message = `${path} is damaged or no database; it was left as it is (restore it, move it away, or choose another with --database)`;
  return new StoreError('damaged', message, cause);
}

/** SQLite's words as ours: what happened to which file, and whether to try again. */
export function storeError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const { code = '', message } = error as { code?: string; message: string };
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')) return damaged(path, error);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new StoreError('unavailable', `${path} is locked by another program`, error);
  }
  return new StoreError('unavailable', `${path} cannot be used: ${message}`, error);
}
