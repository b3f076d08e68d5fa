// Work that no request waits for: adding rows to the sums, deleting what is old or removed. SQLite has one lock for all who write, so
// this work is done in short steps with pauses between them, in which every process that waits tries at least once
// (LATER_RETRY_MS of connection.ts).
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';

/** A step that takes longer is followed by a smaller one, a step of half the time by a larger one. */
const STEP_MS = 8;
const FIRST_ROWS = 64;
const MOST_ROWS = 4096;
/** A pause lasts as long as the step before it, and at least so long. */
const MIN_PAUSE_MS = 15;
/** The work fails if others keep the database locked all the time. */
const GIVE_UP_MS = 2000;

/** Works on at most so many rows, in a transaction. Returns whether there may be more. */
export type Step<Statements> = (statements: Statements, most: number) => boolean;

/** Tests pass their own. */
interface Timing {
  /** Milliseconds. */
  now: () => number;
  pause: (ms: number) => Promise<void>;
}

const TIMING: Timing = { now: () => performance.now(), pause: (ms) => sleep(ms) };

/** Repeats a step until it returns false, or the connection is closed. `first`: rows of the first step. Rejects with StoreError. */
export async function inSteps<Statements>(
  connection: Pick<Connection<Statements>, 'runOnce' | 'isWaitedFor' | 'closed'>,
  step: Step<Statements>,
  first = FIRST_ROWS,
  { now, pause } = TIMING,
): Promise<void> {
  let rows = first;
  let lockedSince: number | undefined;
  while (!connection.closed) {
    const began = now();
    const outcome = connection.isWaitedFor ? 'locked' : await attempt(connection, step, rows);
    const took = now() - began;
    if (outcome === 'done') return;
    if (outcome === 'more') {
      lockedSince = undefined;
      rows = nextRows(rows, took);
    } else {
      lockedSince ??= began;
      if (outcome !== 'locked' && began - lockedSince > GIVE_UP_MS) throw outcome;
    }
    await pause(Math.max(took, MIN_PAUSE_MS));
  }
}

/** An error: another process has the lock. A step does not compete for it. */
async function attempt<Statements>(
  { runOnce }: Pick<Connection<Statements>, 'runOnce'>,
  step: Step<Statements>,
  rows: number,
): Promise<'more' | 'done' | StoreError> {
  try {
    return (await runOnce((statements) => step(statements, rows))) ? 'more' : 'done';
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'busy') return error;
    throw error;
  }
}

function nextRows(rows: number, took: number): number {
  if (took > STEP_MS) return Math.max(1, Math.floor((rows * STEP_MS) / took));
  return took < STEP_MS / 2 ? Math.min(MOST_ROWS, rows * 2) : rows;
}

/** Runs a statement that deletes at most so many rows of before that time, until there are no more. */
export function deleteInSteps(
  connection: Pick<Connection<{ database: Db }>, 'runOnce' | 'isWaitedFor' | 'closed'>,
  sql: string,
  before: number,
): Promise<void> {
  return inSteps(
    connection,
    ({ database }, most) => database.prepare<[number, number]>(sql).run(before, most).changes === most,
  );
}

/** A shorter write lets others in by itself. */
const SHORT_MS = 2;

/** Runs writes that may follow each other at once (the batches of a spool file, or of a process that ends), with such a pause after
 *  each that was not short. */
export function createPace<Statements>(
  { run }: Pick<Connection<Statements>, 'run'>,
  { now, pause } = TIMING,
) {
  let next = 0;
  return async (write: (statements: Statements) => void): Promise<void> => {
    const wait = next - now();
    if (wait > 0) await pause(wait);
    await run((statements) => {
      const began = now();
      write(statements);
      const took = now() - began;
      if (took > SHORT_MS) next = began + took + Math.max(took, MIN_PAUSE_MS);
    });
  };
}
