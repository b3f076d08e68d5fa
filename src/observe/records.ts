// Records of a finished request, written off its path: its usage row, whose `detail` is JSON (attempts, skipped targets, fields that
// were left out, the error's message; most requests have none), its log record, and the items of its answer that later requests of
// the account may refer to. Never a key or a body.
import type { AttemptDetail, RequestDetail } from '../accounts/json.ts';
import { costOf } from '../routing/price.ts';
import type { UsageRow, Store } from '../store/store.ts';
import type { Logger } from '../log.ts';
import { withoutKeys } from '../ids.ts';
import { type FinishedTrace, loggedId, type Observer } from '../gateway/trace.ts';
import { totalInput } from '../canonical/reply.ts';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { NumberedRows, UsageSpool } from '../store/usage-spool.ts';
import { WriteQueue } from '../store/write-queue.ts';
import type { SealedItems } from '../store/sealed-items.ts';

export function usageRow(trace: FinishedTrace): UsageRow {
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
    costUsd:
      usage === undefined || target?.price === undefined ? null : (costOf(target.price, usage) ?? null),
    firstByteMs: trace.firstByteMs,
    durationMs: trace.durationMs,
    error: outcome.error,
    requestId: trace.requestId,
    attempts: trace.attempts,
    detail: detailOf(trace),
  };
}

/** Characters of the whole text. */
const MOST = 2048;
/** Characters of a message, of a name or reason, and names in a list. They are reduced until the whole text fits. */
const BOUNDS = [
  { message: 1000, name: 160, names: 40 },
  { message: 400, name: 100, names: 12 },
  { message: 150, name: 60, names: 5 },
  { message: 60, name: 30, names: 2 },
] as const;
type Bounds = (typeof BOUNDS)[number];

/** Requests of one client to one target often have the same detail: a look-up is faster than making it again. */
const fieldDetails = new Map<string, string | null>();
const MOST_FIELD_DETAILS = 500;
/** Clients choose the names of fields, so the cache bounds their length. */
const LONGEST_KEY = 1000;

/** The column `detail` of a usage row, as JSON; null if the request has nothing for it. */
function detailOf(trace: FinishedTrace): string | null {
  const { failures, passedOver, contact, outcome, message, estimatedInput } = trace;
  const onlyFields =
    failures.length + passedOver.length === 0 &&
    outcome.lost === undefined &&
    outcome.repaired === undefined &&
    message === undefined &&
    estimatedInput === undefined;
  if (!onlyFields) return write(trace);
  if (contact === undefined || contact.dropped.length + contact.changed.length === 0) return null;
  const key = `${contact.dropped.join()}\n${contact.changed.join()}`;
  if (key.length > LONGEST_KEY) return write(trace);
  let text = fieldDetails.get(key);
  if (text === undefined) {
    if (fieldDetails.size >= MOST_FIELD_DETAILS) fieldDetails.clear();
    fieldDetails.set(key, (text = write(trace)));
  }
  return text;
}

function write(trace: FinishedTrace): string | null {
  for (const bounds of BOUNDS) {
    const text = JSON.stringify(describe(trace, bounds));
    if (text.length <= MOST) return text === '{}' ? null : text;
  }
  return null;
}

function describe(trace: FinishedTrace, bounds: Bounds): RequestDetail {
  const { contact, outcome, message, estimatedInput } = trace;
  const detail: RequestDetail = {};
  const attempts = attemptsOf(trace, bounds);
  if (attempts.length > 0) detail.attempts = attempts;
  const passedOver = passedOverOf(trace, bounds);
  if (passedOver.length > 0) detail.passed_over = passedOver;
  const lists = {
    dropped: contact?.dropped,
    changed: contact?.changed,
    lost: outcome.lost,
    repaired: outcome.repaired,
  };
  for (const [name, list = []] of Object.entries(lists)) {
    if (list.length > 0) detail[name as keyof typeof lists] = namesOf(list, bounds);
  }
  if (estimatedInput !== undefined) detail.estimated_input = estimatedInput;
  if (message !== undefined) detail.message = cut(message, bounds.message);
  return detail;
}

/** The attempts of a request; empty if its first contact answered. */
function attemptsOf(trace: FinishedTrace, bounds: Bounds): AttemptDetail[] {
  const { failures, contact, contacts, contactedAt, startedAt, durationMs, message } = trace;
  if (failures.length === 0) return [];
  const attempts = failures.map((failure): AttemptDetail => {
    const { target, protocol, status, kind, reason, ms } = failure;
    const attempt: AttemptDetail = {
      target: cut(target.key, bounds.name),
      protocol: protocol.name,
      ms: round(ms),
    };
    if (status !== undefined) attempt.status = status;
    attempt.error = reason === undefined || reason === 'status' ? kind : `${kind}: ${reason}`;
    // The message of a single attempt is in the message of the request.
    if (message?.includes(failure.message) !== true)
      attempt.message = cut(failure.message, bounds.message / 2);
    return attempt;
  });
  if (contact === undefined || contacts <= failures.length) return attempts;
  const ms = round(startedAt + durationMs - contactedAt);
  return [...attempts, { target: cut(contact.target.key, bounds.name), protocol: contact.protocol.name, ms }];
}

/** The targets that were skipped, without one that was contacted later. */
function passedOverOf({ passedOver, failures, contact }: FinishedTrace, bounds: Bounds) {
  const contacted = new Set(
    [...failures, ...(contact === undefined ? [] : [contact])].map(({ target }) => target.key),
  );
  return passedOver
    .filter(({ target }) => !contacted.has(target.key))
    .slice(0, bounds.names)
    .map(({ target, why }) => ({ target: cut(target.key, bounds.name), why: cut(why, bounds.name) }));
}

function namesOf(names: readonly string[], bounds: Bounds): string[] {
  const shown = names.slice(0, bounds.names).map((name) => cut(name, bounds.name));
  const more = names.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

function cut(text: string, most: number): string {
  const clean = withoutKeys(text);
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

export function createRequestLog(log: Logger): Observer {
  return {
    finished(trace) {
      const { error } = trace.outcome;
      if (error === null || error === 'client_closed') log.info('answered', fieldsOf(trace));
      else log.warn('failed', fieldsOf(trace));
    },
  };
}

function fieldsOf(trace: FinishedTrace) {
  const { key, contact, outcome, estimatedInput } = trace;
  const { usage } = outcome;
  return {
    request: trace.requestId,
    account: key.account,
    key: key.id,
    endpoint: trace.endpoint,
    model: trace.modelAsked,
    target: contact?.target.key,
    stream: trace.streamed,
    status: outcome.status,
    error: outcome.error ?? undefined,
    input: usage === undefined ? estimatedInput : totalInput(usage),
    output: usage?.output,
    estimated: estimatedInput === undefined ? undefined : true,
    first_byte_ms: trace.firstByteMs === null ? undefined : Math.round(trace.firstByteMs),
    ms: Math.round(trace.durationMs),
    attempts: trace.attempts > 1 ? trace.attempts : undefined,
    upstream_id: loggedId(trace.upstreamId, trace),
    reply_id: trace.replyIds?.ours,
    upstream_reply_id: loggedId(trace.replyIds?.theirs, trace),
    dropped: listOf(contact?.dropped),
    changed: listOf(contact?.changed),
    lost: outcome.lost,
    repaired: outcome.repaired,
  };
}

/** Fields of the client that one record names. */
const MAX_NAMED = 50;

function listOf(names: readonly string[] = []): readonly string[] | undefined {
  if (names.length <= MAX_NAMED) return names.length === 0 ? undefined : names;
  return [...names.slice(0, MAX_NAMED), `… and ${names.length - MAX_NAMED} more`];
}

/** Rows of one transaction. */
const MAX_BATCH = 1000;
/** Rows that wait in memory while the store is unavailable. If the spool takes no more, the oldest are discarded, and the log says
 *  how many. */
const MAX_WAITING = 50_000;
/** After this time without a row, the store does its housekeeping. */
const IDLE_MS = 1000;

export interface UsageRecorder extends Observer {
  /** Writes the rows that wait to the store, or else to the spool, for shutdown. Gives the number of rows that could not be written. */
  flush(): Promise<number>;
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
  let writer = randomUUID();
  let number = 0;
  let waiting: UsageRow[] = [];
  /** The batch that failed. It is written again first, unchanged: the store may have written it although its reply did not arrive. */
  let failed: NumberedRows | undefined;
  const idle = createIdleTask(clock, () => void store.idle().catch(() => undefined));
  const unwritten = (): number => (failed?.rows.length ?? 0) + waiting.length;

  const queue = new WriteQueue<NumberedRows>({
    take() {
      const batch = failed ?? (waiting.length > 0 ? numbered(waiting.splice(0, MAX_BATCH)) : undefined);
      failed = undefined;
      return batch;
    },
    write: (batch) => store.recordUsage(batch.rows, { writer, number: batch.number }),
    async putBack(batch) {
      failed = batch;
      if (unwritten() <= maxWaiting) return;
      await moveToSpool();
      dropSurplus();
    },
    written(recovered) {
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
    const batches = [...(failed === undefined ? [] : [failed]), ...inBatches(waiting).map(numbered)];
    const saved = batches.slice(0, await spool.save(writer, batches));
    number = before;
    if (saved.length === 0) return;
    const rows = saved.reduce((sum, batch) => sum + batch.rows.length, 0);
    waiting.splice(0, rows - (failed?.rows.length ?? 0));
    failed = undefined;
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
