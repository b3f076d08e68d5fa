// Usage rows on their way to the store: gathered off the request path, written in batches. A crash loses at most one
// interval of rows; a store that is away makes them wait, up to a bound, and is said once.
import type { Clock } from '../clock.ts';
import { withoutKeys, type Logger } from '../log.ts';
import { totalInput } from '../canonical/usage.ts';
import type { Key, Store, UsageRow } from '../store/store.ts';
import { costOf } from '../routing/price.ts';
import type { Outcome } from './exchange.ts';
import type { BuiltRequest } from './outbound/build-request.ts';
import type { Inbound } from './inbound/read-request.ts';
import { redact } from './outbound/redact.ts';

const FLUSH_MS = 100;
/** Rows that wait for a store that is away; beyond it the oldest are lost, and the log says how many. */
const MAX_WAITING = 50_000;
/** Characters of a provider's id in the log. */
const MOST_OF_AN_ID = 100;
/** So long without a row, the store does its housekeeping. */
const IDLE_MS = 1000;

export interface Recorder {
  record(row: UsageRow): void;
  /** Writes what waits, for shutdown. Gives the number of rows that could not be written. */
  flush(): Promise<number>;
}

export function createRecorder(options: { store: Store; clock: Clock; log: Logger }): Recorder {
  const { store, clock, log } = options;
  let waiting: UsageRow[] = [];
  let scheduled = false;
  let failing = false;
  let ending = false;
  let cancelIdle = (): void => undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    scheduled = false;
    if (waiting.length === 0) return;
    const rows = waiting;
    waiting = [];
    try {
      await store.recordUsage(rows);
      failing = false;
      cancelIdle();
      cancelIdle = clock.after(IDLE_MS, () => void store.idle().catch(() => undefined));
    } catch (error) {
      keep(rows);
      if (!failing) log.error('usage rows cannot be written; they wait', { reason: String(error) });
      failing = true;
      if (!ending) schedule(IDLE_MS);
    }
  }

  function keep(rows: UsageRow[]): void {
    waiting = rows.concat(waiting);
    const lost = waiting.length - MAX_WAITING;
    if (lost > 0) {
      waiting = waiting.slice(lost);
      log.error('usage rows were lost: the database is away for too long', { rows: lost });
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
    record(row) {
      waiting.push(row);
      schedule(FLUSH_MS);
    },
    async flush() {
      ending = true;
      cancelIdle();
      await writing;
      await write();
      return waiting.length;
    },
  };
}

/** An answer's id as the provider gave it, and as the client got it. */
export interface ReplyIds {
  theirs: string;
  ours: string;
}

/** An admitted request that is over. */
export interface FinishedRequest {
  requestId: string;
  key: Key;
  inbound: Inbound;
  /** The target that answered, or the last that was tried. */
  reached: BuiltRequest | undefined;
  attempts: number;
  upstreamId: string | undefined;
  /** Where the client's protocol has ids of another form. */
  newId: ReplyIds | undefined;
  outcome: Outcome;
  /** Milliseconds since the epoch. */
  at: number;
  firstByteMs: number | null;
  durationMs: number;
}

export function usageRow({
  key,
  inbound,
  reached,
  outcome,
  at,
  firstByteMs,
  durationMs,
}: FinishedRequest): UsageRow {
  const { usage } = outcome;
  return {
    at,
    accountId: key.accountId,
    keyId: key.id,
    endpoint: inbound.protocol.name,
    modelAsked: withoutKeys(inbound.model),
    provider: reached?.target.provider.name ?? null,
    model: reached === undefined ? null : withoutKeys(reached.target.model),
    status: outcome.status,
    streamed: inbound.stream,
    input: usage?.input ?? null,
    cacheRead: usage?.cacheRead ?? null,
    cacheWrite: usage?.cacheWrite ?? null,
    output: usage?.output ?? null,
    reasoning: usage?.reasoning ?? null,
    costUsd: usage === undefined ? null : (costOf(reached?.target.price, usage) ?? null),
    firstByteMs,
    durationMs,
    error: outcome.error,
  };
}

export function logOutcome(log: Logger, ended: FinishedRequest): void {
  const { key, inbound, reached, outcome } = ended;
  const estimated = wasEstimated(ended);
  const fields = {
    request: ended.requestId,
    account: key.account,
    key: key.id,
    endpoint: inbound.protocol.name,
    model: inbound.model,
    target: reached?.target.key,
    stream: inbound.stream,
    status: outcome.status,
    error: outcome.error ?? undefined,
    input: outcome.usage === undefined ? estimated?.input : totalInput(outcome.usage),
    output: outcome.usage?.output,
    estimated: estimated && true,
    first_byte_ms: ended.firstByteMs === null ? undefined : Math.round(ended.firstByteMs),
    ms: Math.round(ended.durationMs),
    attempts: ended.attempts > 1 ? ended.attempts : undefined,
    upstream_id: ended.upstreamId,
    reply_id: ended.newId?.ours,
    upstream_reply_id: theirsOf(ended),
    dropped: droppedOf(ended),
    changed: changesOf(ended),
    lost: outcome.lost,
  };
  if (outcome.error === null || outcome.error === 'client_closed') log.info('answered', fields);
  else log.warn('failed', fields);
}

/** The provider told no usage and the client's protocol demands one: it was given an estimate. */
function wasEstimated({ inbound, reached, outcome }: FinishedRequest): { input: number } | undefined {
  const { usage, error } = outcome;
  if (usage !== undefined || error !== null || reached?.crossing !== true) return undefined;
  return inbound.protocol.name === 'messages' ? { input: inbound.estimate() } : undefined;
}

/** A provider's words, which may hold anything. */
function theirsOf({ newId, reached }: FinishedRequest): string | undefined {
  if (newId === undefined || reached === undefined) return undefined;
  return redact(newId.theirs.slice(0, MOST_OF_AN_ID), reached.target.provider);
}

/** Fields of the client that the log names. */
const MOST_DROPPED = 50;

function droppedOf({ reached }: FinishedRequest): readonly string[] | undefined {
  const dropped = reached?.dropped ?? [];
  if (dropped.length <= MOST_DROPPED) return dropped.length === 0 ? undefined : dropped;
  return [...dropped.slice(0, MOST_DROPPED), `… and ${dropped.length - MOST_DROPPED} more`];
}

/** What a translation changed in form, by the client's own name of the field, for the log alone. */
function changesOf({ inbound, reached }: FinishedRequest): string[] | undefined {
  const changed = reached?.warnings.filter(({ effect }) => effect === 'changed') ?? [];
  if (changed.length === 0) return undefined;
  return changed.map(({ field, detail }) => {
    const path = typeof field === 'string' ? inbound.protocol.wirePath(field) : field.path;
    return `${path}: ${detail}`;
  });
}
