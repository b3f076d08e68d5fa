// Asks targets in turn until one has an answer with content. Nothing is sent to the client before this returns, so a provider that
// fails at the start costs the client only time.
import type { Cancellation } from '../../cancellation.ts';
import { FailureError, type ProviderFailure, GatewayError } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { Logger } from '../../log.ts';
import type { ProviderClient } from '../../providers/client.ts';
import { readBody, isWholeReply, type ProviderCall, type ProviderReply } from '../../providers/exchange.ts';
import type { Target } from '../../routing/catalog.ts';
import type { Health, HealthTicket } from '../../routing/health.ts';
import { readErrorReply, returned } from './error-reply.ts';
import { readUntilCommit, type CommittedReply } from './first-frame.ts';
import { aggregateStream, openFrames, type ReplyLimits, readWholeReply } from './provider-reply.ts';
import {
  errorOf,
  mayTryNext,
  outputRoom,
  type FailedAttempt,
  type RequestFigures,
} from './fallback-policy.ts';
import { ContinuedFrames, wholeTurn, type ContinueTurn } from './continue-turn.ts';
import { buildRequest, type BuildOptions, type BuiltRequest } from './build-request.ts';
import type { Inbound } from '../inbound/read-request.ts';
import type { Trace } from '../trace.ts';
import { redact } from '../../providers/redact.ts';
import { beginContact, failContact, withContext } from './trace-context.ts';
import { MAX_ATTEMPTS } from '../../routing/resolve.ts';

/** A reply with status 200 that can be answered with: a stream at its first frame with content, or a whole answer. */
export interface ProviderAnswer {
  reply: CommittedReply;
  request: BuiltRequest;
}

export interface AskOptions extends ReplyLimits, BuildOptions {
  inbound: Inbound;
  first: BuiltRequest;
  /** The targets after the first, in order. */
  rest: readonly Target[];
  /** There is one target alone: neither breaker nor cool-down applies to it. */
  lone: boolean;
  cancellation: Cancellation;
}

export interface AskDeps {
  client: ProviderClient;
  routing: { readonly health: Health };
  clock: Clock;
  ids: Ids;
  log: Logger;
}

/** One call of askTargets, as its steps share it. */
interface Asking {
  options: AskOptions;
  trace: Trace;
  deps: AskDeps;
  /** Targets that failed so far. */
  failed: FailedAttempt[];
}

/** Throws one GatewayError for all attempts; the cancellation's reason if it was cancelled. */
export async function askTargets(options: AskOptions, trace: Trace, deps: AskDeps): Promise<ProviderAnswer> {
  const asking: Asking = { options, trace, deps, failed: [] };
  const { failed } = asking;
  const targets = [options.first.target, ...options.rest];
  for (const lone of options.lone ? [true] : [false, true]) {
    for (const target of targets) {
      if (failed.length === MAX_ATTEMPTS) {
        passOver(target, 'at most three targets are tried', asking);
        continue;
      }
      const answer = await contact(target, lone, asking);
      if (answer === 'stop') throw errorOf(failed, figuresOf(asking));
      if (answer !== undefined) return answer;
    }
    // Each target was the probe of another request: the request is tried in spite of that.
    if (failed.length > 0) break;
  }
  throw errorOf(failed, figuresOf(asking));
}

function figuresOf({ options, deps }: Asking): RequestFigures {
  return {
    estimate: () => options.inbound.estimate(),
    // A lone target is tried whether it cools or not: its client need not wait for that.
    coolingMs: ({ key }) => (options.lone ? undefined : deps.routing.health.state(key).coolingMs),
  };
}

/** Asks one target: its answer, `stop` if no other may be tried, undefined to go on. */
function contact(
  target: Target,
  lone: boolean,
  asking: Asking,
): Promise<ProviderAnswer | 'stop' | undefined> | undefined {
  const { first } = asking.options;
  const request = target === first.target ? first : buildNext(asking, target);
  if (request === undefined) return undefined;
  const health = asking.deps.routing.health.begin(target.key, lone);
  if (health === undefined) return passOver(target, 'it is failing, and another request tries it', asking);
  asking.trace.attempts = asking.failed.length + 1;
  return ask(request, health, asking);
}

function passOver(target: Target, why: string, { trace }: Asking): undefined {
  if (!trace.passedOver.some((other) => other.target === target)) {
    trace.passedOver = [...trace.passedOver, { target, why }];
  }
}

/** `again`: this is the second request to the target, with less output or without thinking. */
async function ask(
  request: BuiltRequest,
  health: HealthTicket,
  asking: Asking,
  again = false,
): Promise<ProviderAnswer | 'stop' | undefined> {
  const { options, trace, deps, failed } = asking;
  trace.contact = request;
  const startedAt = deps.clock.monotonic();
  trace.contactedAt = startedAt;
  trace.contacts += 1;
  if (trace.spans !== undefined) beginContact(trace.spans, request, startedAt);
  try {
    const replied = await deps.client.open(
      callOf(request, options.inbound.stream, trace),
      options.cancellation,
    );
    if (replied.status !== 200) {
      throw new FailureError(await readErrorReply(replied, request.protocol, deps.clock));
    }
    const reading = readReply(replied, request, asking);
    const reply = reading instanceof Promise ? await reading : reading;
    health.succeeded(deps.clock.monotonic() - startedAt);
    return { reply, request };
  } catch (error) {
    const { reason } = options.cancellation;
    if (reason !== undefined || !(error instanceof FailureError)) {
      health.abandoned();
      throw reason ?? error;
    }
    const { failure } = error;
    const message = redact(failure.message, request.target.provider);
    note(failure, message, request, asking);
    failContact(trace, failure, deps.clock.monotonic());
    const changed = again ? undefined : changedFor(failure, request, health, asking);
    if (changed !== undefined) return ask(changed, health, asking, true);
    health.failed(failure);
    failed.push({ target: request.target, failure });
    logFailure(deps.log, trace, request.target, failure, message);
    return mayTryNext(failure) ? undefined : 'stop';
  }
}

function note(
  { status, kind, reason }: ProviderFailure,
  message: string,
  { target, protocol }: BuiltRequest,
  { trace, deps }: Asking,
): void {
  const ms = deps.clock.monotonic() - trace.contactedAt;
  trace.failures = [...trace.failures, { target, protocol, status, kind, reason, message, ms }];
}

/**
 * Throws or rejects with FailureError if the reply is no answer, before anything is written to the client. A promise only if the
 * reply has not arrived as a whole, or its turn is paused.
 */
function readReply(
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
  if (!isWholeReply(reply, options.inbound.stream, framing)) return readStream(reply, request, asking);
  const body = readBody(reply.body, options.maxReply);
  if (body instanceof Promise || request.pausing !== undefined) return readTurn(body, request, asking);
  return readWholeReply(body, request, options.maxValues);
}

/** Of a provider that may pause its turns, the whole turn. */
async function readTurn(
  body: Buffer | Promise<Buffer>,
  request: BuiltRequest,
  asking: Asking,
): Promise<CommittedReply> {
  const { options } = asking;
  const whole = readWholeReply(await body, request, options.maxValues);
  if (request.pausing !== undefined) {
    whole.value = await wholeTurn(whole, continueTurn(request, asking), request, options);
  }
  return whole;
}

/** The same request as the provider's error says that it can be answered; undefined: the error says nothing of that kind. */
function changedFor(
  failure: ProviderFailure,
  request: BuiltRequest,
  health: HealthTicket,
  asking: Asking,
): BuiltRequest | undefined {
  try {
    if (failure.reason === REFUSED_THINKING) return withoutThinking(failure, request, asking);
    const room = request.crossing ? outputRoom(failure, figuresOf(asking)) : undefined;
    return room === undefined ? undefined : buildNext(asking, request.target, room);
  } catch (error) {
    health.abandoned();
    throw error;
  }
}

const REFUSED_THINKING: ProviderFailure['reason'] = 'signature';

/** Without the thinking of earlier turns; undefined if they have none. */
function withoutThinking(
  failure: ProviderFailure,
  { target, bytes }: BuiltRequest,
  asking: Asking,
): BuiltRequest | undefined {
  const next = buildNext(asking, { ...target, withoutThinking: 'refused' });
  if (next === undefined || next.bytes.equals(bytes)) return undefined;
  asking.deps.log.warn('a provider refused thinking of earlier turns; asked again without it', {
    request: asking.trace.requestId,
    target: target.key,
    message: redact(failure.message, target.provider),
  });
  return next;
}

/** Undefined if the target can't take the request: it is skipped. */
function buildNext(asking: Asking, target: Target, room?: number): BuiltRequest | undefined {
  const { options } = asking;
  try {
    return buildRequest(options.inbound, target, options, room);
  } catch (error) {
    if (error instanceof GatewayError) return passOver(target, error.message, asking);
    throw error;
  }
}

function callOf(
  { target, url, headers: own, bytes }: BuiltRequest,
  stream: boolean,
  trace: Trace,
): ProviderCall {
  const headers = trace.spans === undefined ? own : withContext(own, trace);
  return { url, method: 'POST', headers, body: bytes, stream, timeout: target.provider.timeout };
}

async function readStream(
  reply: ProviderReply,
  request: BuiltRequest,
  asking: Asking,
): Promise<CommittedReply> {
  const { options, deps } = asking;
  const joiner = request.pausing?.createJoiner();
  const { framing } = request.protocol.provider;
  const first = openFrames(reply.body, options, framing);
  const source =
    joiner === undefined
      ? first
      : new ContinuedFrames(first, joiner, continueTurn(request, asking), options, framing);
  if (options.inbound.stream) {
    const { usageAsked } = options.inbound;
    return {
      kind: 'stream',
      opening: await readUntilCommit(source, { request, usageAsked, ids: deps.ids }),
      source,
    };
  }
  return { kind: 'folded', reply: await aggregateStream(source, request, deps.ids, options.maxReply) };
}

/** Asks the target once more, with its own paused turn. */
function continueTurn(request: BuiltRequest, { options, trace, deps }: Asking): ContinueTurn {
  const { pausing, bytes, protocol, target } = request;
  return async (turn, read) => {
    try {
      const next = { ...request, bytes: pausing?.resume(bytes, turn) ?? bytes };
      const reply = await deps.client.open(callOf(next, options.inbound.stream, trace), options.cancellation);
      if (reply.status !== 200) throw new FailureError(await readErrorReply(reply, protocol, deps.clock));
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

function logFailure(
  log: Logger,
  trace: Trace,
  target: Target,
  failure: ProviderFailure,
  message: string,
): void {
  log.warn('a target failed', {
    request: trace.requestId,
    target: target.key,
    attempt: trace.attempts,
    kind: failure.kind,
    reason: failure.reason,
    status: failure.status,
    key_from: failure.kind === 'provider_key' ? target.provider.keyFrom : undefined,
    message,
  });
}
