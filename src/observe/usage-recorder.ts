// Collects usage rows off the request path and writes them to the store in batches. A crash loses at most one interval of rows. While
// the store is unavailable, rows wait, up to a bound, and the log says so once.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { FinishedTrace, Observer } from '../gateway/trace.ts';
import { withoutKeys, type Logger } from '../log.ts';
import { costOf } from '../routing/price.ts';
import type { Store, UsageRow } from '../store/store.ts';
import { WriteQueue } from '../store/write-queue.ts';
import { detailOf } from './request-detail.ts';

/** Rows of one transaction. */
const MAX_BATCH = 1000;
/** Rows that wait while the store is unavailable; beyond it the oldest are discarded, and the log says how many. */
const MAX_WAITING = 50_000;
/** After this time without a row, the store does its housekeeping. */
const IDLE_MS = 1000;

export interface UsageRecorder extends Observer {
  /** Writes the rows that wait, for shutdown. Gives the number of rows that could not be written. */
  flush(): Promise<number>;
}

/** A batch that fails is written again unchanged, because the store may have written it although its reply was lost. */
interface NumberedRows {
  number: number;
  rows: readonly UsageRow[];
}

/** `onRow` gets each row when its request ends. */
export function createUsageRecorder(options: {
  store: Store;
  clock: Clock;
  log: Logger;
  onRow?: (row: UsageRow, trace: FinishedTrace) => void;
}): UsageRecorder {
  const { store, clock, log, onRow } = options;
  const writer = randomUUID();
  let number = 0;
  let waiting: UsageRow[] = [];
  /** Written first. */
  let failed: NumberedRows | undefined;
  let ending = false;
  let cancelIdle = (): void => undefined;
  const unwritten = (): number => (failed?.rows.length ?? 0) + waiting.length;

  const queue = new WriteQueue<NumberedRows>({
    take() {
      if (failed !== undefined || waiting.length > 0) {
        const batch = failed ?? { number: ++number, rows: waiting.splice(0, MAX_BATCH) };
        failed = undefined;
        return batch;
      }
      return undefined;
    },
    write: (batch) => store.recordUsage(batch.rows, { writer, number: batch.number }),
    putBack(batch) {
      failed = batch;
      dropSurplus();
    },
    written() {
      if (waiting.length > 0) queue.wake();
      cancelIdle();
      if (!ending) cancelIdle = clock.after(IDLE_MS, () => void store.idle().catch(() => undefined));
    },
    failure: 'usage rows cannot be written; they wait',
    clock,
    log,
  });

  function dropSurplus(): void {
    const surplus = Math.min(waiting.length, unwritten() - MAX_WAITING);
    if (surplus <= 0) return;
    waiting = waiting.slice(surplus);
    log.error('usage rows were discarded: the database was unavailable for too long', { rows: surplus });
  }

  return {
    finished(trace) {
      const row = usageRow(trace);
      waiting.push(row);
      onRow?.(row, trace);
      queue.wake();
    },
    async flush() {
      ending = true;
      cancelIdle();
      await queue.flush();
      return unwritten();
    },
  };
}

function usageRow(trace: FinishedTrace): UsageRow {
  const { key, contact, outcome } = trace;
  const { usage } = outcome;
  const target = contact?.target;
  return {
    at: trace.endedAt,
    accountId: key.accountId,
    keyId: key.id,
    endpoint: trace.endpoint,
    modelAsked: withoutKeys(trace.modelAsked),
    provider: target?.provider.name ?? null,
    model: target === undefined ? null : withoutKeys(target.model),
    status: outcome.status,
    streamed: trace.streamed,
    input: usage?.input ?? null,
    cacheRead: usage?.cacheRead ?? null,
    cacheWrite: usage?.cacheWrite ?? null,
    output: usage?.output ?? null,
    reasoning: usage?.reasoning ?? null,
    costUsd: usage === undefined ? null : (costOf(target?.price, usage) ?? null),
    firstByteMs: trace.firstByteMs,
    durationMs: trace.durationMs,
    error: outcome.error,
    requestId: trace.requestId,
    attempts: trace.attempts,
    detail: detailOf(trace),
  };
}
