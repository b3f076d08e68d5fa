// Writes finished requests to the store, off their path: usage rows in batches, and the items of answers that later requests of the
// account may refer to. Never a key or a body.
import { costOf } from '../routing/price.ts';
import type { Store } from '../store/store.ts';
import type { UsageRow } from '../store/usage-columns.ts';
import type { Logger } from '../log.ts';
import { withoutKeys } from '../ids.ts';
import type { FinishedTrace, Observer } from '../gateway/trace.ts';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { NumberedRows, UsageSpool } from '../store/usage-spool.ts';
import { WriteQueue } from '../store/write-queue.ts';
import type { SealedItems } from '../store/items/sealed-items.ts';
import { detailOf } from './usage-detail.ts';

export function usageRow(trace: FinishedTrace): UsageRow {
  const { key, contact, outcome, identity, cacheMiss } = trace;
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
    costUsd:
      usage === undefined || target?.price === undefined ? null : (costOf(target.price, usage) ?? null),
    firstByteMs: trace.firstByteMs,
    durationMs: trace.durationMs,
    error: outcome.error,
    requestId: trace.requestId,
    attempts: trace.attempts,
    detail: detailOf(trace),
    conversation: identity.conversation,
    agent: identity.agent,
    parentAgent: identity.parentAgent,
    agentType: identity.agentType,
    class: identity.class,
    prompt: identity.prompt,
    label: identity.label,
    client: identity.client,
    cacheMiss: cacheMiss?.cause ?? null,
    cacheMissDetail: cacheMiss?.detail ?? null,
    cacheMissTokens: cacheMiss?.tokens ?? null,
    cacheMissCostUsd: cacheMiss?.costUsd ?? null,
    settled: trace.held,
  };
}

/** Rows of one transaction. */
const MAX_BATCH = 1000;
/** Rows that wait in memory while the store is unavailable. If the spool takes no more, the oldest are discarded, and the log says
 *  how many. */
const MAX_WAITING = 50_000;
/** After this time without a row, the store does its housekeeping. */
const IDLE_MS = 1000;

export interface UsageRecorder extends Required<Pick<Observer, 'finished'>> {
  /** Writes the rows that wait to the store, or else to the spool, for shutdown. Gives the number of rows that could not be written. */
  flush(): Promise<number>;
  /** The row of a request that ended, until the store has it. */
  find(requestId: string): UsageRow | undefined;
}

/**
 * Writes usage rows in batches: a crash loses at most one interval of rows. While the store is unavailable, rows wait in memory up to
 * a bound, then in a spool file, and the log says so once. `live` gets each row when its request ends.
 */
export function createUsageRecorder(options: {
  store: Pick<Store, 'recordUsage' | 'idle'>;
  spool: UsageSpool;
  clock: Clock;
  log: Logger;
  live?: { recorded(row: UsageRow, trace: FinishedTrace): void };
  maxWaiting?: number;
}): UsageRecorder {
  const { store, spool, clock, log, live, maxWaiting = MAX_WAITING } = options;
  let [writer, number] = [randomUUID() as string, 0];
  let waiting: UsageRow[] = [];
  /** The batch that is being written, or that failed. It is written again first, unchanged: the store may have written it although its
   *  reply did not arrive. */
  let current: NumberedRows | undefined;
  const idle = createIdleTask(clock, () => void store.idle().catch(() => undefined));
  const unwritten = (): number => (current?.rows.length ?? 0) + waiting.length;

  const queue = new WriteQueue<NumberedRows>({
    take() {
      current ??= waiting.length > 0 ? numbered(waiting.splice(0, MAX_BATCH)) : undefined;
      return current;
    },
    write: (batch) => store.recordUsage(batch.rows, { writer, number: batch.number }),
    async putBack() {
      if (unwritten() <= maxWaiting) return;
      await moveToSpool();
      dropSurplus();
    },
    written(recovered) {
      current = undefined;
      if (recovered) void spool.drain();
      if (waiting.length > 0) queue.wake();
      idle.restart();
    },
    failure: 'usage rows cannot be written; they wait',
    clock,
    log,
  });

  const numbered = (rows: readonly UsageRow[]): NumberedRows => ({ number: ++number, rows });

  /** After a save, another writer id numbers the next batches: the store would otherwise skip the batches of the file as already written. */
  async function moveToSpool(): Promise<void> {
    const before = number;
    const batches = [...(current === undefined ? [] : [current]), ...inBatches(waiting).map(numbered)];
    const saved = batches.slice(0, await spool.save(writer, batches));
    number = before;
    if (saved.length === 0) return;
    const rows = saved.reduce((sum, batch) => sum + batch.rows.length, 0);
    waiting.splice(0, rows - (current?.rows.length ?? 0));
    current = undefined;
    writer = randomUUID();
    number = 0;
  }

  function dropSurplus(): void {
    const surplus = Math.min(waiting.length, unwritten() - maxWaiting);
    if (surplus <= 0) return;
    waiting = waiting.slice(surplus);
    log.error('usage rows were discarded: the database was unavailable for too long', { rows: surplus });
  }

  return {
    finished(trace) {
      const row = usageRow(trace);
      waiting.push(row);
      live?.recorded(row, trace);
      queue.wake();
    },
    find: (id) => [...(current?.rows ?? []), ...waiting].find(({ requestId }) => requestId === id),
    async flush() {
      idle.stop();
      await queue.flush();
      if (unwritten() > 0) await moveToSpool();
      await spool.close();
      return unwritten();
    },
  };
}

function inBatches(rows: readonly UsageRow[]): UsageRow[][] {
  const count = Math.ceil(rows.length / MAX_BATCH);
  return Array.from({ length: count }, (_, at) => rows.slice(at * MAX_BATCH, (at + 1) * MAX_BATCH));
}

/** Runs `task` when `restart` was not called for a time; never after `stop`. */
function createIdleTask(clock: Clock, task: () => void): { restart(): void; stop(): void } {
  let stopped = false;
  let cancel = (): void => undefined;
  return {
    restart() {
      cancel();
      if (!stopped) cancel = clock.after(IDLE_MS, task);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** `enabled`: whether the configuration has items stored now. */
export function createItemRecorder(items: SealedItems, enabled: () => boolean): Observer {
  return {
    finished({ key, outcome }) {
      if (outcome.items !== undefined && enabled()) items.put(key.accountId, outcome.items);
    },
  };
}
