// Requests under way, and what is known of one of them: for the frames of the live view, and for the page of a request before its end.
import { requestJson, type RequestJson } from '../accounts/request-json.ts';
import { isoTime, type Clock } from '../clock.ts';
import { withoutKeys } from '../ids.ts';
import type { Progress, Trace } from '../gateway/trace.ts';
import { usageRow } from './records.ts';

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

/**
 * What is known so far of a request under way, in the members of one that ended; the others are null.
 * `output_tokens` is an estimate. Absent: what only an end tells.
 */
export interface RequestUnderWay extends Omit<
  RequestJson,
  'at' | 'refused' | 'status' | 'error' | 'duration_ms' | 'cost_usd' | 'cache'
> {
  state: LiveRequest['state'];
  started_at: string;
  age_ms: number;
  tokens_per_second: number | null;
}

/** A request whose row may not be in the database yet, or never is, and whose it is: its account may have been renamed. */
export interface FoundRequest {
  /** undefined: nobody's. */
  accountId: number | undefined;
  request: RequestUnderWay | RequestJson;
}

export function foundRequest(trace: Trace | undefined, clock: Clock, rates: Rates): FoundRequest | undefined {
  if (trace === undefined) return undefined;
  // Whoever asks will ask again.
  trace.progress.watched = true;
  return { accountId: trace.key.accountId, request: requestUnderWay(trace, clock, rates) };
}

function requestUnderWay(trace: Trace, clock: Clock, rates: Rates): RequestUnderWay {
  const { startedAt, firstByteAt, key } = trace;
  const now = clock.monotonic();
  const durationMs = now - startedAt;
  const firstByteMs = firstByteAt === undefined ? null : firstByteAt - startedAt;
  const row = usageRow({ ...trace, endedAt: clock.now(), durationMs, firstByteMs });
  const { state, age_ms, output_tokens, tokens_per_second } = liveRequest(trace, now, rates);
  const whole = { ...requestJson({ ...row, account: key.account }), output_tokens };
  const { at: _at, refused: _refused, status: _status, error: _error, ...rest } = whole;
  const { duration_ms: _duration, cost_usd: _cost, cache: _cache, ...known } = rest;
  return { ...known, state, started_at: isoTime(row.at - durationMs), age_ms, tokens_per_second };
}

export function liveRequest(trace: Trace, now: number, rates: Rates): LiveRequest {
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

export function createRates(clock: Clock): Rates {
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
