// The live view of a gateway, as plain data for `gateway requests --follow`, `gateway top` and the page: requests in flight, the last
// ones that ended or were refused, the health of targets. A request only leaves a reference here; frames are computed while
// somebody watches.
import { refusedJson, requestJson, type RefusedRequest, type RequestJson } from '../accounts/request-json.ts';
import { isoTime, type Clock } from '../clock.ts';
import { withoutKeys } from '../ids.ts';
import type { Identity } from '../conversations/identity.ts';
import type { FinishedTrace, Observer, Progress, Trace } from '../gateway/trace.ts';
import type { Health, TargetState } from '../routing/state/health.ts';
import type { Key } from '../store/store.ts';
import type { Emit, Notice } from './notices/notice.ts';
import { inputOf, type UsageRow } from '../store/usage-columns.ts';
import { createSamples, type Sample } from './samples.ts';
import { conversationsOf, type FinishedPart, type LiveConversation } from './conversations.ts';

export interface LiveRequest {
  id: string;
  account: string;
  model_asked: string;
  /** Its id; null: none is known. */
  conversation: string | null;
  /** The target that is asked now, or that answers. */
  target: string | null;
  stream: boolean;
  /** `waiting`: nothing of the answer was sent to the client. */
  state: 'waiting' | 'answering';
  age_ms: number;
  attempts: number;
  /** An estimate from the pieces of the stream. null: not streamed, or unknown. */
  output_tokens: number | null;
  tokens_per_second: number | null;
}

export interface LiveTarget {
  target: string;
  state: 'healthy' | 'cooling' | 'failing';
  /** Milliseconds until the target is asked again. */
  wait_ms: number;
  in_flight: number;
  first_byte_ms: number | null;
}

export interface LiveFrame {
  at: string;
  /** Sums since the gateway started. */
  totals: { requests: number; errors: number; refused: number; output_tokens: number; cost_usd: number };
  in_flight: number;
  /** Oldest first, 200 at most. */
  requests: LiveRequest[];
  targets: LiveTarget[];
  /** The latest first, 20 at most. */
  conversations: LiveConversation[];
}

/** Requests that ended or were refused since the last event. `missed`: how many more there were. */
export interface NewRequests {
  requests: RequestJson[];
  missed: number;
  /** Absent: none. */
  notices?: Notice[];
}

/** What is known at once, without a watch. */
export interface Moment {
  /** The last seconds, oldest first. */
  samples: readonly Sample[];
  /** Requests under way of each target that has some. */
  in_flight: [target: string, requests: number][];
}

type Send<Event> = (event: Event) => void;

export interface Live extends Required<Observer> {
  /** The row of a request that ended. */
  recorded(row: UsageRow, trace: FinishedTrace): void;
  noticed: Emit;
  /** To be called every second. */
  sample(): void;
  moment(): Moment;
  recent(): { refused: RequestJson[]; under_way: string[] };
  /** Calls `send` with a frame now and every half second. The returned function ends that. */
  watch(send: Send<LiveFrame>): () => void;
  /** Calls `send` at most every half second, if there are new requests, with the last ones (`most`: 1,000). */
  follow(send: Send<NewRequests>, most?: number): () => void;
}

const EVERY_MS = 500;
/** How many of the last requests the sums of conversations cover. */
const MOST_SUMMED = 1000;
const MOST_ENDED = 1000;
const MOST_REFUSED = 200;
const MOST_NOTICES = 100;
const MOST_SHOWN = 200;

interface Ended {
  row: UsageRow;
  account: string;
}

/** The last `most` values. */
class Ring<Value> {
  readonly #values: Value[] = [];
  readonly #most: number;
  total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  push(value: Value): void {
    this.#values[this.total % this.#most] = value;
    this.total += 1;
  }

  /** The values after the first `seen` ones of all, oldest first. */
  after(seen: number): Value[] {
    const first = Math.max(seen, this.total - this.#values.length);
    const found: Value[] = [];
    for (let at = first; at < this.total; at += 1) {
      const value = this.#values[at % this.#most];
      if (value !== undefined) found.push(value);
    }
    return found;
  }
}

/**
 * The requests under way. A Set would copy its table now and then, and the old table, which only a full collection frees, holds the
 * requests of that time and all that they refer to (docs/decisions/0014).
 */
class UnderWay {
  readonly #traces: (Trace | undefined)[] = [];
  count = 0;

  add(trace: Trace): void {
    this.#traces[this.count] = trace;
    this.count += 1;
  }

  /** The last request takes the place of the removed one. Most requests are short: they stand near the end. */
  remove(trace: Trace): void {
    const place = this.#traces.lastIndexOf(trace, this.count - 1);
    if (place === -1) return;
    this.count -= 1;
    this.#traces[place] = this.#traces[this.count];
    this.#traces[this.count] = undefined;
  }

  /** Oldest first. */
  list(): Trace[] {
    return this.#traces.filter((trace) => trace !== undefined).sort((a, b) => a.startedAt - b.startedAt);
  }
}

function finishedPart(
  row: UsageRow,
  { account }: Key,
  { conversation, client, label }: Identity,
): FinishedPart {
  return {
    conversation,
    client,
    label,
    account,
    model: row.model ?? row.modelAsked,
    input: inputOf(row) ?? 0,
    output: row.output ?? 0,
    costUsd: row.costUsd ?? NaN,
    at: row.at,
  };
}

export function createLive({ health, clock }: { health: Health; clock: Clock }): Live {
  const underWay = new UnderWay();
  const lastRequests = new Ring<FinishedPart>(MOST_SUMMED);
  /** One ring for each follower. */
  const followed: Ring<Ended>[] = [];
  const refusals = new Ring<RefusedRequest>(MOST_REFUSED);
  const notices = new Ring<Notice>(MOST_NOTICES);
  const totals = { requests: 0, errors: 0, output_tokens: 0, cost_usd: 0 };
  const rates = createRates(clock);
  const samples = createSamples(clock);
  let watchers = 0;

  function frame(): LiveFrame {
    return {
      at: isoTime(clock.now()),
      totals: { ...totals, refused: refusals.total },
      in_flight: underWay.count,
      requests: underWay
        .list()
        .slice(0, MOST_SHOWN)
        .map((trace) => liveRequest(trace, clock.monotonic(), rates)),
      targets: health.states().map(liveTarget),
      conversations: conversationsOf(lastRequests.after(0).reverse()),
    };
  }

  return {
    started(trace) {
      underWay.add(trace);
      trace.progress.watched = watchers > 0;
    },
    finished(trace) {
      underWay.remove(trace);
      samples.ended(trace);
    },
    sample: () => samples.take(underWay.list()),
    moment: () => ({ samples: samples.list(), in_flight: inFlightOf(health) }),
    recorded(row, { key, identity }) {
      lastRequests.push(finishedPart(row, key, identity));
      for (const ended of followed) ended.push({ row, account: key.account });
      totals.requests += 1;
      if (row.error !== null) totals.errors += 1;
      totals.output_tokens += row.output ?? 0;
      totals.cost_usd += row.costUsd ?? 0;
    },
    noticed: (notice) => notices.push(notice),
    wasRefused: (request) => refusals.push(request),
    recent: () => ({
      refused: refusals.after(0).map(refusedJson),
      under_way: underWay.list().map(({ requestId }) => requestId),
    }),
    watch(send) {
      watchers += 1;
      for (const { progress } of underWay.list()) progress.watched = true;
      const stop = repeat(clock, () => send(frame()));
      return () => {
        stop();
        watchers -= 1;
        if (watchers === 0) for (const { progress } of underWay.list()) progress.watched = false;
      };
    },
    follow(send, most = MOST_ENDED) {
      const ended = new Ring<Ended>(most);
      followed.push(ended);
      const rings = { ended, refusals, notices };
      let seen = { ended: 0, refused: refusals.total, notices: notices.total };
      const stop = repeat(clock, () => {
        const before = seen;
        seen = { ended: ended.total, refused: refusals.total, notices: notices.total };
        const news = newsSince(before, rings);
        if (news !== undefined) send(news);
      });
      return () => {
        stop();
        const at = followed.indexOf(ended);
        if (at >= 0) followed.splice(at, 1);
      };
    },
  };
}

function inFlightOf(health: Health): Moment['in_flight'] {
  return health.states().flatMap(([key, { inFlight }]) => (inFlight > 0 ? [[key, inFlight]] : []));
}

/** undefined: nothing is new. */
function newsSince(
  before: { ended: number; refused: number; notices: number },
  rings: { ended: Ring<Ended>; refusals: Ring<RefusedRequest>; notices: Ring<Notice> },
): NewRequests | undefined {
  const { ended, refusals } = rings;
  const requests = [
    ...ended.after(before.ended).map(endedJson),
    ...refusals.after(before.refused).map(refusedJson),
  ];
  const notices = rings.notices.after(before.notices);
  if (requests.length + notices.length === 0) return undefined;
  const missed = ended.total - before.ended + refusals.total - before.refused - requests.length;
  return { requests: requests.sort(byTime), missed, ...(notices.length > 0 && { notices }) };
}

/** Runs `task` at once and at the interval. */
function repeat(clock: Clock, task: () => void): () => void {
  let cancel = (): void => undefined;
  const run = (): void => {
    cancel = clock.after(EVERY_MS, run);
    task();
  };
  run();
  return () => cancel();
}

const endedJson = ({ row, account }: Ended): RequestJson => requestJson({ ...row, account });

function byTime(a: RequestJson, b: RequestJson): number {
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
}

function liveRequest(trace: Trace, now: number, rates: Rates): LiveRequest {
  const { requestId, key, modelAsked, identity, contact, streamed, firstByteAt, startedAt, attempts } = trace;
  const tokens = estimatedTokens(trace.progress);
  return {
    id: requestId,
    account: key.account,
    model_asked: withoutKeys(modelAsked),
    conversation: identity.conversation,
    target: contact === undefined ? null : withoutKeys(contact.target.key),
    stream: streamed,
    state: firstByteAt === undefined ? 'waiting' : 'answering',
    age_ms: Math.round(now - startedAt),
    attempts,
    output_tokens: tokens === null ? null : Math.round(tokens),
    tokens_per_second: tokens === null ? null : rates(trace, tokens),
  };
}

/** A piece of a stream has about one token. Pieces are counted while somebody watches; otherwise only bytes are counted. */
function estimatedTokens({ written, pieces, pieceBytes }: Progress): number | null {
  if (written === 0) return 0;
  return pieceBytes === 0 ? null : (written * pieces) / pieceBytes;
}

type Rates = (trace: Trace, tokens: number) => number;

/** Least time between two measurements of a stream; several watchers share a measurement. */
const LEAST_MS = 400;
/** Weight of the newest rate. */
const NEWEST = 0.5;

function createRates(clock: Clock): Rates {
  const last = new WeakMap<Trace, { at: number; tokens: number; rate: number }>();
  return (trace, tokens) => {
    const now = clock.monotonic();
    const before = last.get(trace);
    if (before !== undefined && now - before.at < LEAST_MS) return round(before.rate);
    const sinceFirst = now - (trace.firstByteAt ?? now);
    // Soon after the first piece, the time is too short to measure a rate.
    const average = (1000 * tokens) / Math.max(sinceFirst, LEAST_MS);
    const rate =
      before === undefined
        ? average
        : before.rate + NEWEST * ((1000 * (tokens - before.tokens)) / (now - before.at) - before.rate);
    last.set(trace, { at: now, tokens, rate: Math.max(0, rate) });
    return round(Math.max(0, rate));
  };
}

const round = (rate: number): number => Math.round(rate * 10) / 10;

function liveTarget([key, state]: [string, TargetState]): LiveTarget {
  const { breaker, coolingMs, openMs, inFlight, firstByteMs } = state;
  return {
    target: withoutKeys(key),
    state: breaker !== 'closed' ? 'failing' : coolingMs > 0 ? 'cooling' : 'healthy',
    wait_ms: Math.ceil(Math.max(openMs, coolingMs)),
    in_flight: inFlight,
    first_byte_ms: firstByteMs === undefined ? null : Math.round(firstByteMs),
  };
}
