// One connection to the database's file, and what must hold of it while it lives: it is still the file that the path
// names, a lock of another process does not hold up every request, and its log does not grow without end.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { StoreError } from '../store.ts';
import type { Db, Engine } from './engine.ts';
import { isBusy, storeError } from './errors.ts';
import { createFile, identityOf, inspectFile, keepPrivate } from './file.ts';
import { countApplied, migrate } from './migrations.ts';

/** Processes that make a new database at once get in each other's way. */
const OPEN_TRIES = 100;
const OPEN_AGAIN_MS = 20;
/** 32 MiB of log at most, where nobody is ever idle. */
const MOST_LOG_PAGES = 8192;
const MOST_LOG_BYTES = 64 * 1024 * 1024;
const LOOK_EVERY_MS = 200;

export interface Connection<Statements> {
  /** Runs `task` now, with the prepared statements, and again while another process keeps the database locked; rejects
   *  with StoreError. */
  run: <Result>(task: (statements: Statements, db: Db) => Result) => Promise<Result>;
  /** The same without a wait for a lock. */
  runOnce: <Result>(task: (statements: Statements, db: Db) => Result) => Promise<Result>;
  readonly closed: boolean;
  close(): void;
}

interface Link<Statements> {
  db: Db;
  statements: Statements;
  identity: string | undefined;
  logIdentity: string | undefined;
}

interface ConnectionOptions<Statements> {
  engine: Engine;
  file: string;
  clock: Clock;
  prepare: (db: Db) => Statements;
}

export async function connect<Statements>(
  options: ConnectionOptions<Statements>,
): Promise<Connection<Statements>> {
  const { file, clock } = options;
  let link = await openPatiently(options);
  let closed = false;
  let lookedAt = clock.monotonic();
  const afterLock = createLockQueue(clock);

  /** A file that is gone is waited for: nothing may be counted where it is lost. */
  function current(): Link<Statements> {
    if (closed) throw new StoreError('unavailable', `the database ${file} was closed`);
    const now = clock.monotonic();
    if (now - lookedAt < LOOK_EVERY_MS) return link;
    const identity = identityOf(file);
    if (identity === undefined) {
      throw new StoreError('unavailable', `the database ${file} is gone; it was moved or deleted`);
    }
    if (identity !== link.identity) replace();
    lookedAt = now;
    return link;
  }

  /** A database that was made anew is opened anew. The log of the old one beside a new file would be read as its own:
   *  that is for a person to mend (https://www.sqlite.org/howtocorrupt.html). */
  function replace(): void {
    if (identityOf(`${file}-wal`) === link.logIdentity) {
      const how =
        'was replaced while it was in use; stop every gateway, then put it in place without its -wal and -shm';
      throw new StoreError('unavailable', `the database ${file} ${how}`);
    }
    const next = open(options);
    link.db.close();
    link = next;
  }

  type Task<Result> = (statements: Statements, db: Db) => Result;

  function attempt<Result>(task: Task<Result>): Result {
    const { statements, db } = current();
    return task(statements, db);
  }

  function rejected(error: unknown): Promise<never> {
    return Promise.reject(asError(storeError(error, file)));
  }

  return {
    run<Result>(task: Task<Result>): Promise<Result> {
      try {
        return Promise.resolve(attempt(task));
      } catch (error) {
        return isBusy(error) ? afterLock(() => attempt(task)).catch(rejected) : rejected(error);
      }
    },
    runOnce<Result>(task: Task<Result>): Promise<Result> {
      try {
        return Promise.resolve(attempt(task));
      } catch (error) {
        return rejected(error);
      }
    },
    get closed() {
      return closed;
    },
    close() {
      if (closed) return;
      closed = true;
      link.db.close();
    },
  };
}

async function openPatiently<Statements>(options: ConnectionOptions<Statements>): Promise<Link<Statements>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return open(options);
    } catch (error) {
      if (!isBusy(error) || tries === OPEN_TRIES) throw asError(storeError(error, options.file));
      await sleep(OPEN_AGAIN_MS);
    }
  }
}

function open<Statements>({ engine, file, clock, prepare }: ConnectionOptions<Statements>): Link<Statements> {
  createFile(file);
  inspectFile(engine, file);
  const identity = identityOf(file);
  const db = new engine(file, { timeout: 0, fileMustExist: true });
  try {
    // Before anything is written: a database of another program stays as it is.
    countApplied(db, file);
    if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new StoreError(
        'unavailable',
        `the database ${file} lies where several processes cannot share it`,
      );
    }
    db.pragma('synchronous = NORMAL');
    db.pragma(`wal_autocheckpoint = ${MOST_LOG_PAGES}`);
    db.pragma(`journal_size_limit = ${MOST_LOG_BYTES}`);
    migrate(db, file, clock.now());
    keepPrivate(file);
    const statements = prepare(db);
    return { db, statements, identity, logIdentity: identityOf(`${file}-wal`) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

// Tasks that met a lock of another process. They are tried again by a timer, in their order: a wait inside the engine would
// hold up everything else that this process does.

/** Most locks last for microseconds, so the first tries come quickly. */
const AGAIN_MS = [1, 1, 2, 5, 10];
const LATER_MS = 20;
/** A task is given up after so long. */
const PATIENCE_MS = 2000;

interface Waiting {
  /** Throws where it fails; a lock is one failure of several. */
  attempt: () => void;
  reject: (error: unknown) => void;
  giveUpAt: number;
}

/** The returned function settles as `task` does, with the error of the lock after two seconds of it. */
function createLockQueue(clock: Clock): <Result>(task: () => Result) => Promise<Result> {
  const waiting: Waiting[] = [];
  let tries = 0;

  // A timer that keeps the process alive: a command has nothing else to wait for.
  function schedule(): void {
    setTimeout(tryAll, AGAIN_MS[tries] ?? LATER_MS);
    tries += 1;
  }

  function tryAll(): void {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      try {
        first.attempt();
      } catch (error) {
        if (isBusy(error) && clock.monotonic() < first.giveUpAt) {
          schedule();
          return;
        }
        first.reject(error);
      }
      waiting.shift();
    }
    tries = 0;
  }

  return (task) =>
    new Promise((resolve, reject) => {
      const giveUpAt = clock.monotonic() + PATIENCE_MS;
      if (waiting.push({ attempt: () => resolve(task()), reject, giveUpAt }) === 1) schedule();
    });
}
