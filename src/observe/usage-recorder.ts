// Collects usage rows off the request path and writes them to the store in batches. A crash loses at most one interval of rows. While
// the store is unavailable, rows wait, up to a bound, and the log says so once.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { FinishedTrace, Observer } from '../gateway/trace.ts';
import { withoutKeys, type Logger } from '../log.ts';
import { costOf } from '../routing/price.ts';
import type { Store, UsageRow } from '../store/store.ts';
import { detailOf } from './request-detail.ts';

const FLUSH_MS = 100;
/** Rows that wait while the store is unavailable; beyond it the oldest are discarded, and the log says how many. */
const MAX_WAITING = 50_000;
/** After this time without a row, the store does its housekeeping. */
const IDLE_MS = 1000;

export interface UsageRecorder extends Observer {
  /** Writes the rows that wait, for shutdown. Gives the number of rows that could not be written. */
  flush(): Promise<number>;
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
  /** The rows that are written first. */
  let batch: UsageRow[] = [];
  let waiting: UsageRow[] = [];
  let scheduled = false;
  let failing = false;
  let ending = false;
  let cancelIdle = (): void => undefined;
  let writing: Promise<void> = Promise.resolve();

  /** A batch that fails is written again as it was, because the store may have written it although its reply was lost. */
  async function write(): Promise<void> {
    scheduled = false;
    if (batch.length === 0) {
      if (waiting.length === 0) return;
      batch = waiting;
      waiting = [];
      number += 1;
    }
    try {
      await store.recordUsage(batch, { writer, number });
      batch = [];
      failing = false;
      if (waiting.length > 0) schedule(FLUSH_MS);
      cancelIdle();
      cancelIdle = clock.after(IDLE_MS, () => void store.idle().catch(() => undefined));
    } catch (error) {
      dropSurplus();
      if (!failing) log.error('usage rows cannot be written; they wait', { reason: String(error) });
      failing = true;
      if (!ending) schedule(IDLE_MS);
    }
  }

  function dropSurplus(): void {
    const surplus = Math.min(waiting.length, batch.length + waiting.length - MAX_WAITING);
    if (surplus > 0) {
      waiting = waiting.slice(surplus);
      log.error('usage rows were discarded: the database was unavailable for too long', { rows: surplus });
    }
  }

  function schedule(ms: number): void {
    if (scheduled) return;
    scheduled = true;
    clock.after(ms, () => {
      writing = writing.then(write);
    });
  }

  return {
    finished(trace) {
      const row = usageRow(trace);
      waiting.push(row);
      onRow?.(row, trace);
      schedule(FLUSH_MS);
    },
    async flush() {
      ending = true;
      cancelIdle();
      await writing;
      await write();
      if (batch.length === 0) await write();
      return batch.length + waiting.length;
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
