// One request to one target through a gateway, as a client of the request's protocol sends it; and what came of it.
import type { Cancellation } from '../../../cancellation.ts';
import type { Clock } from '../../../clock.ts';
import { contentOf, type Reply } from '../../../canonical/reply.ts';
import type { ProtocolName } from '../../../canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../canonical/traits.ts';
import { messageOf } from '../../../errors.ts';
import type { Ids } from '../../../ids.ts';
import { servedPath } from '../../../protocols/interface/endpoint.ts';
import { protocols } from '../../../protocols/registry.ts';
import type { ProviderClient } from '../../../providers/client.ts';
import type { ProviderReply } from '../../../providers/exchange.ts';
import { readBody } from '../../../providers/reply-body.ts';
import { framings } from '../../../providers/framings.ts';
import type { MadeCall } from '../../../repair/same-calls.ts';
import { TakenAnswer } from '../../../tapes/record/answer.ts';
import { watchedReply } from '../../../tapes/record/watched.ts';
import { answerFrom } from '../../../tapes/replay/client.ts';
import { withModel } from '../../args/with-model.ts';
import { collected } from '../../check/ask.ts';
import type { ComparedRequest } from './requests.ts';

/** What one target did with one request. */
export interface Outcome {
  target: string;
  /** x-request-id; null: of the tape, or nothing came. */
  id: string | null;
  status: number | null;
  /** Why there is no answer; null: there is one. */
  error: string | null;
  text: string;
  calls: readonly MadeCall[];
  stop: string | null;
  /** Tokens; null: unknown. */
  input: number | null;
  output: number | null;
  /** USD; null: unknown. */
  cost: number | null;
  firstByteMs: number | null;
  ms: number | null;
}

export interface Sending {
  url: string;
  key: string;
  client: ProviderClient;
  clock: Clock;
  ids: Ids;
  cancellation: Cancellation;
}

/** Milliseconds: the gateway has limits of its own, which are shorter. */
const LONGEST = 3_600_000;
const TIMEOUT = { connect: 10_000, firstByte: LONGEST, idle: LONGEST, whole: LONGEST };
const LIMITS = { maxReply: 64 * 1024 * 1024, maxValues: 1_000_000 };

const NOTHING = {
  ...{ id: null, status: null, error: null, text: '', calls: [], stop: null },
  ...{ input: null, output: null, cost: null, firstByteMs: null, ms: null },
};

/** Never rejects: what went wrong is the outcome. `conversation`: keeps the requests of targets apart. */
export async function send(
  request: ComparedRequest,
  target: string,
  conversation: string,
  { url, key, client, clock, ids, cancellation }: Sending,
): Promise<Outcome> {
  const { protocol, inbound, headers } = request;
  const body = withModel(inbound.bytes, target);
  const call = {
    url: url + servedPath(protocols[protocol].client.endpoints[0]),
    method: 'POST' as const,
    headers: [
      ...['content-type', 'application/json', 'content-length', String(body.length)],
      ...['authorization', `Bearer ${key}`, 'x-gateway-conversation', conversation, ...headers],
    ],
    body,
    stream: inbound.stream,
    timeout: TIMEOUT,
    network: undefined,
  };
  const startedAt = clock.monotonic();
  const elapsed = (): number => Math.round(clock.monotonic() - startedAt);
  try {
    const reply = await client.open(call, cancellation);
    const taken = new TakenAnswer();
    const read = await answerIn(watchedReply(reply, taken, elapsed), request, ids);
    const id = reply.header('x-request-id') ?? null;
    return { ...NOTHING, ...read, target, id, firstByteMs: taken.firstByteMs, ms: elapsed() };
  } catch (error) {
    return { ...NOTHING, target, error: messageOf(cancellation.reason ?? error), ms: elapsed() };
  }
}

/** What the tape holds of the request, with its times. */
export async function recordedOutcome(
  target: string,
  request: ComparedRequest,
  { clock, ids, cancellation }: Pick<Sending, 'clock' | 'ids' | 'cancellation'>,
): Promise<Outcome> {
  const { protocol, inbound, recorded } = request;
  if (recorded === undefined) return { ...NOTHING, target, error: 'nothing was recorded' };
  const { usage, first_byte_ms: firstByteMs, ms } = recorded.exchange;
  const count = (name: string): number => usage?.[name] ?? 0;
  const times = { firstByteMs, ms };
  try {
    const asked = { protocol, kind: 'generate', body: inbound.bytes.toString() };
    const reply = answerFrom(recorded.attempt, asked, { pace: false, clock, cancellation });
    const read = await answerIn(reply, request, ids);
    const input = usage === null ? null : count('input') + count('cache_read') + count('cache_write');
    return { ...NOTHING, ...read, target, ...times, input, output: usage === null ? null : count('output') };
  } catch (error) {
    return { ...NOTHING, target, error: messageOf(error), ...times };
  }
}

type Read = Pick<Outcome, 'status' | 'error' | 'text' | 'calls' | 'stop'>;

async function answerIn(reply: ProviderReply, { protocol }: ComparedRequest, ids: Ids): Promise<Read> {
  const { status } = reply;
  const { provider } = protocols[protocol];
  if (status !== 200) {
    const body = (await readBody(reply.body, LIMITS.maxReply)).toString('utf8');
    const { message } = provider.decodeError(status, reply.headers(), body);
    return { status, error: message, text: '', calls: [], stop: null };
  }
  try {
    const { parts, stop } = await decoded(reply, protocol, ids);
    return { status, error: null, ...contentOf(parts), stop: stop.reason };
  } catch (error) {
    return { status, error: messageOf(error), text: '', calls: [], stop: null };
  }
}

async function decoded(reply: ProviderReply, name: ProtocolName, ids: Ids): Promise<Reply> {
  const { provider } = protocols[name];
  if (framings[provider.framing].isStream(reply.header('content-type') ?? '')) {
    const { openFrames } = await import('../../../gateway/outbound/provider-reply.ts');
    const decoder = provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    return collected(openFrames(reply.body, LIMITS, provider.framing), decoder);
  }
  const bytes = await readBody(reply.body, LIMITS.maxReply);
  return provider.decodeReply(JSON.parse(bytes.toString('utf8')), bytes);
}
