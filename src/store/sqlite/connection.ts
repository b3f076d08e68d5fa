// One connection to the database file. It notices when another file takes the path, retries while another process locks
// the database, and bounds the size of the write-ahead log.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { StoreError } from '../store.ts';
import type { Db, Driver } from './driver.ts';
import { isBusy, storeError } from './errors.ts';
import { createFile, inspectFile, isEmpty, keepPrivate } from './file.ts';
import { countApplied, migrate } from './migrations.ts';

/** Processes that create the same database at the same time lock each other out. */
const OPEN_TRIES = 100;
const OPEN_RETRY_MS = 20;
/** SQLite's own checkpoint after 32 MiB of log, for a server that is never idle. */
const MAX_LOG_PAGES = 8192;
const MAX_LOG_BYTES = 64 * 1024 * 1024;
/** How often the connection checks that the path still names its file. */
const IDENTITY_CHECK_MS = 200;
const RESTORE =
  'while it was in use; stop every gateway, then put the right one in place without its -wal and -shm';

export interface Connection<Statements> {
  /** Runs `task` now, with the prepared statements. Repeats it while another process locks the database. Rejects with
   *  StoreError. */
  run: <Result>(task: (statements: Statements, db: Db) => Result) => Promise<Result>;
  /** As `run`, with a promise only if the task failed: for what each request asks. */
  runNow: <Result>(task: (statements: Statements, db: Db) => Result) => Result | Promise<Result>;
  /** Runs `task` once, and rejects if the database is locked. */
  runOnce: <Result>(task: (statements: Statements, db: Db) => Result) => Promise<Result>;
  /** Tasks of this process wait for the lock of another. */
  readonly isWaitedFor: boolean;
  readonly closed: boolean;
  close(): void;
}

interface OpenDatabase<Statements> {
  db: Db;
  statements: Statements;
  identity: string | undefined;
  logIdentity: string | undefined;
}

interface ConnectionOptions<Statements> {
  driver: Driver;
  file: string;
  clock: Clock;
  prepare: (db: Db) => Statements;
}

export async function connect<Statements>(
  options: ConnectionOptions<Statements>,
): Promise<Connection<Statements>> {
  const { file, clock } = options;
  const handle = createHandle(options, await openWithRetries(options));
  const lockQueue = createLockQueue(clock);

  type Task<Result> = (statements: Statements, db: Db) => Result;

  function attempt<Result>(task: Task<Result>): Result {
    const { statements, db } = handle.current();
    return task(statements, db);
  }

  function rejected(error: unknown): Promise<never> {
    return Promise.reject(asError(storeError(error, file)));
  }

  function runNow<Result>(task: Task<Result>): Result | Promise<Result> {
    try {
      return attempt(task);
    } catch (error) {
      return isBusy(error) ? lockQueue.retry(() => attempt(task)).catch(rejected) : rejected(error);
    }
  }

  return {
    run: (task) => Promise.resolve(runNow(task)),
    runNow,
    runOnce<Result>(task: Task<Result>): Promise<Result> {
      try {
        return Promise.resolve(attempt(task));
      } catch (error) {
        return rejected(error);
      }
    },
    get isWaitedFor() {
      return lockQueue.length > 0;
    },
    get closed() {
      return handle.closed;
    },
    close: () => handle.close(),
  };
}

interface Handle<Statements> {
  /** The open database, after a check that the path still names its file. Throws StoreError if the database is not usable. */
  current(): OpenDatabase<Statements>;
  readonly closed: boolean;
  close(): void;
}

/** Holds the open database, and opens another file that takes the path. */
function createHandle<Statements>(
  options: ConnectionOptions<Statements>,
  first: OpenDatabase<Statements>,
): Handle<Statements> {
  const { file, clock } = options;
  let open = first;
  let closed = false;
  let checkedAt = clock.monotonic();
  /** A new file that could not be used; not every request opens it again. */
  let unusable: { identity: string; at: number; error: unknown } | undefined;

  /** Throws while the file is missing: a count written to a deleted file would be lost. */
  function current(): OpenDatabase<Statements> {
    if (closed) throw new StoreError('unavailable', `the database ${file} was closed`);
    const now = clock.monotonic();
    if (now - checkedAt < IDENTITY_CHECK_MS) return open;
    const identity = identityOf(file);
    if (identity === undefined) {
      throw new StoreError('unavailable', `the database ${file} is gone; it was moved or deleted`);
    }
    if (identity === open.identity) checkInUse();
    else reopen(identity, now);
    checkedAt = now;
    return open;
  }

  /** Throws if other processes no longer read what this one writes. */
  function checkInUse(): void {
    if (isEmpty(file)) throw new StoreError('unavailable', `the database ${file} was emptied ${RESTORE}`);
    if (identityOf(`${file}-wal`) === open.logIdentity) return;
    const how = 'was deleted or replaced while it was in use; restart every gateway that uses the database';
    throw new StoreError('unavailable', `the log ${file}-wal ${how}`);
  }

  /** Opens the new file that stands at the path. SQLite would read the old file's log as the new file's and corrupt it, so
   *  with the old log still there this fails (https://www.sqlite.org/howtocorrupt.html). */
  function reopen(identity: string, now: number): void {
    if (identityOf(`${file}-wal`) === open.logIdentity) {
      throw new StoreError('unavailable', `the database ${file} was replaced ${RESTORE}`);
    }
    if (unusable?.identity === identity && now - unusable.at < IDENTITY_CHECK_MS) throw unusable.error;
    try {
      const next = openOnce(options, true);
      open.db.close();
      open = next;
    } catch (error) {
      unusable = { identity, at: now, error };
      throw error;
    }
  }

  return {
    current,
    get closed() {
      return closed;
    },
    close() {
      if (closed) return;
      closed = true;
      open.db.close();
    },
  };
}

async function openWithRetries<Statements>(
  options: ConnectionOptions<Statements>,
): Promise<OpenDatabase<Statements>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return openOnce(options);
    } catch (error) {
      if (!isBusy(error) || tries === OPEN_TRIES) throw asError(storeError(error, options.file));
      await sleep(OPEN_RETRY_MS);
    }
  }
}

/** `replaces`: another database was in use until now. A new one without accounts would refuse every key as unknown. */
function openOnce<Statements>(
  { driver, file, clock, prepare }: ConnectionOptions<Statements>,
  replaces = false,
): OpenDatabase<Statements> {
  createFile(file);
  inspectFile(driver, file);
  const identity = identityOf(file);
  const db = new driver(file, { timeout: 0, fileMustExist: true });
  try {
    // Before the first write, so that a database of another program stays unchanged.
    const isNew = countApplied(db, file) === 0;
    if (replaces && (isNew || db.prepare('SELECT 1 FROM accounts LIMIT 1').get() === undefined)) {
      const how = 'was replaced by one without accounts while it was in use';
      const remedy = 'put the right one in place, or restart the gateway to use this one';
      throw new StoreError('unavailable', `the database ${file} ${how}; ${remedy}`);
    }
    if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
      throw new StoreError(
        'unavailable',
        `the database ${file} lies where several processes cannot share it`,
      );
    }
    db.pragma('synchronous = NORMAL');
    db.pragma(`wal_autocheckpoint = ${MAX_LOG_PAGES}`);
    db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`);
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

// Tasks that failed because another process locks the database. A timer repeats them in their order: a wait inside SQLite
// would block the whole process.

/** Delays before the first retries: most locks last for microseconds. */
const RETRY_MS = [1, 1, 2, 5, 10];
const LATER_RETRY_MS = 10;
/** After this time a task fails. */
const LOCK_TIMEOUT_MS = 2000;

interface Waiting {
  /** Throws if the task fails, because of a lock or for another reason. */
  attempt: () => void;
  reject: (error: unknown) => void;
  giveUpAt: number;
}

interface LockQueue {
  /** Settles as `task` does; if the lock lasts two seconds, it rejects with the lock's error. */
  retry: <Result>(task: () => Result) => Promise<Result>;
  readonly length: number;
}

function createLockQueue(clock: Clock): LockQueue {
  const waiting: Waiting[] = [];
  let tries = 0;

  // The timer keeps the process alive: a command has nothing else to wait for.
  function schedule(): void {
    setTimeout(tryAll, RETRY_MS[tries] ?? LATER_RETRY_MS);
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

  return {
    retry: (task) =>
      new Promise((resolve, reject) => {
        const giveUpAt = clock.monotonic() + LOCK_TIMEOUT_MS;
        if (waiting.push({ attempt: () => resolve(task()), reject, giveUpAt }) === 1) schedule();
      }),
    get length() {
      return waiting.length;
    },
  };
}

/** Device and inode: they differ if another file takes the path. undefined: no file. */
function identityOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}
