// Reads a target's reply as far as needed to answer with it: a whole answer, or a stream up to its first content. A paused turn is
// continued.
import { FailureError } from '../../errors.ts';
import { faulty } from '../../failures.ts';
import { type ProviderReply, type ProviderCall, isWholeReply } from '../../providers/exchange.ts';
import { readBody } from '../../providers/reply-body.ts';
import { redact } from '../../providers/redact.ts';
import type { Trace } from '../trace.ts';
import type { Asking } from './asking.ts';
import type { BuiltRequest } from './build-request.ts';
import { type ContinueTurn, ContinuedFrames, wholeTurn } from './continue-turn.ts';
import { readErrorReply, returned } from './error-reply.ts';
import { type CommittedReply, readUntilCommit } from './first-frame.ts';
import { aggregateStream, openFrames, readWholeReply } from './provider-reply.ts';
import { withContext } from './trace-context.ts';

/**
 * Throws or rejects with FailureError if the reply is no answer, before anything is written to the client. A promise only if the
 * reply has not arrived as a whole, or its turn is paused.
 */
export function readReply(
  reply: ProviderReply,
  request: BuiltRequest,
  asking: Asking,
): CommittedReply | Promise<CommittedReply> {
  const { options, trace } = asking;
  trace.upstreamId = reply.header('request-id') ?? reply.header('x-request-id');
  const { returnedHeaders } = options.inbound.protocol.client;
  if (returnedHeaders !== undefined && !request.crossing) {
    trace.returnedHeaders = returned(reply, returnedHeaders);
  }
  const { framing } = request.protocol.provider;
  const isWhole = isWholeReply(reply, options.inbound.stream, framing);
  // The other form of such an answer cannot be made here.
  if (request.relayed !== undefined && isWhole === options.inbound.stream) throw new FailureError(OTHER_FORM);
  if (!isWhole) return readStream(reply, request, asking);
  const body = readBody(reply.body, options.limits.maxReply);
  if (body instanceof Promise || request.pausing !== undefined) return readTurn(body, request, asking);
  return readWholeReply(body, request, options.limits.maxValues);
}

const OTHER_FORM = faulty(
  'malformed',
  'the provider answered with a stream where a whole answer was asked for, or the other way round',
);

/** Of a provider that may pause its turns, the whole turn. */
async function readTurn(
  body: Buffer | Promise<Buffer>,
  request: BuiltRequest,
  asking: Asking,
): Promise<CommittedReply> {
  const { options } = asking;
  const whole = readWholeReply(await body, request, options.limits.maxValues);
  if (request.pausing !== undefined) {
    whole.value = await wholeTurn(whole, continueTurn(request, asking), request, options.limits);
  }
  return whole;
}

async function readStream(
  reply: ProviderReply,
  request: BuiltRequest,
  asking: Asking,
): Promise<CommittedReply> {
  const { options, deps } = asking;
  const joiner = request.pausing?.createJoiner();
  const { framing } = request.protocol.provider;
  const first = openFrames(reply.body, options.limits, framing);
  const source =
    joiner === undefined
      ? first
      : new ContinuedFrames(first, joiner, continueTurn(request, asking), options.limits, framing);
  if (options.inbound.stream) {
    const { usageAsked } = options.inbound;
    return {
      kind: 'stream',
      opening: await readUntilCommit(source, { request, usageAsked, ids: deps.ids }),
      source,
    };
  }
  return { kind: 'folded', reply: await aggregateStream(source, request, deps.ids, options.limits.maxReply) };
}

/** Asks the target once more, with its own paused turn. */
function continueTurn(request: BuiltRequest, { options, trace, deps }: Asking): ContinueTurn {
  const { pausing, bytes, protocol, target } = request;
  return async (turn, read) => {
    try {
      const next = { ...request, bytes: pausing?.resume(bytes, turn) ?? bytes };
      const reply = await deps.client.open(callOf(next, options.inbound.stream, trace), options.cancellation);
      if (reply.status !== 200) throw await readErrorReply(reply, protocol, deps.clock);
      return await read(reply);
    } catch (error) {
      const { reason } = options.cancellation;
      if (reason !== undefined) throw reason;
      // Also after an error of the gateway the client keeps what it has got.
      const words = error instanceof FailureError ? error.failure.message : String(error);
      const message = redact(words, target.provider);
      const fields = { request: trace.requestId, target: target.key, message };
      deps.log.warn('a paused turn could not be continued', fields);
      return undefined;
    }
  };
}

export function callOf(
  { target, url, headers: own, bytes }: BuiltRequest,
  stream: boolean,
  trace: Trace,
): ProviderCall {
  const headers = trace.spans === undefined ? own : withContext(own, trace);
  const { timeout, network } = target.provider;
  return { url, method: 'POST', headers, body: bytes, stream, timeout, network };
}
