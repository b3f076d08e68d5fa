// The live view of a gateway, as plain data for `gateway requests --follow`, `gateway top` and the page: requests in flight, the last
// ones that ended or were refused, the health of targets. A request only leaves a reference here; frames are computed while
// somebody watches.
import { refusedJson, requestJson, type RefusedRequest, type RequestJson } from '../accounts/request-json.ts';
import { isoTime, type Clock } from '../clock.ts';
import { withoutKeys } from '../ids.ts';
import type { FinishedTrace, Observer, Trace } from '../gateway/trace.ts';
import type { Health, TargetState } from '../routing/state/health.ts';
import type { Emit, Notice } from './notices/notice.ts';
import type { UsageRow } from '../store/usage-columns.ts';
import { createSamples, type Sample } from './samples.ts';
import { conversationsOf, type Ended, type LiveConversation } from './conversations.ts';
import { createRates, foundRequest, liveRequest, type FoundRequest, type LiveRequest } from './under-way.ts';

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
  /** A request that is under way, or one of the last that were refused, by its whole ID. */
  find(id: string): FoundRequest | undefined;
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
  list(most = Infinity): Trace[] {
    const all = this.#traces.filter((trace) => trace !== undefined);
    return all.sort((a, b) => a.startedAt - b.startedAt).slice(0, most);
  }

  find(id: string): Trace | undefined {
    return this.#traces.find((trace) => trace?.requestId === id);
  }
}

export function createLive({ health, clock }: { health: Health; clock: Clock }): Live {
  const underWay = new UnderWay();
  const lastRequests = new Ring<Ended>(MOST_SUMMED);
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
      requests: underWay.list(MOST_SHOWN).map((trace) => liveRequest(trace, clock.monotonic(), rates)),
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
    find: (id) => foundRequest(underWay.find(id), clock, rates) ?? refusalOf(id, refusals),
    recorded(row, { key: { account } }) {
      const ended = { row, account };
      lastRequests.push(ended);
      for (const ring of followed) ring.push(ended);
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

function refusalOf(id: string, refusals: Ring<RefusedRequest>): FoundRequest | undefined {
  const request = refusals.after(0).find(({ requestId }) => requestId === id);
  return request && { accountId: request.asked?.accountId, request: refusedJson(request) };
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
