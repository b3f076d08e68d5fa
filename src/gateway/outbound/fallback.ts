// Targets in turn until one has an answer worth writing. Nothing has been sent to the client before this returns, so a
// provider that fails at birth costs the client nothing but time.
import type { Cancellation } from '../../cancellation.ts';
import { FailureError } from '../../canonical/failure.ts';
import type { Clock } from '../../clock.ts';
import type { ProviderFailure } from '../../errors.ts';
import { GatewayError } from '../../errors.ts';
import type { Ids } from '../../ids.ts';
import type { Logger } from '../../log.ts';
import type { ProviderClient } from '../../providers/client.ts';
import type { Call, ProviderReply } from '../../providers/exchange.ts';
import type { Target } from '../../routing/catalog.ts';
import type { HealthTicket as Watched, Health } from '../../routing/health.ts';
import { isWholeReply, readUntilCommit, readWholeReply, type CommittedReply } from './first-frame.ts';
import { errorOf, mayTryNext, type FailedAttempt, type RequestFigures } from './fallback-policy.ts';
import { aggregateStream } from './aggregate-stream.ts';
import { openFrames, type ReplyLimits } from './provider-frames.ts';
import { outputRoom } from './output-room.ts';
import { ContinuedFrames, wholeTurn, type ContinueTurn } from './continue-turn.ts';
import type { BuiltRequest } from './build-request.ts';
import { readBody } from '../../providers/read-body.ts';
import { readErrorReply } from './error-reply.ts';
import { redact } from './redact.ts';

export const MAX_ATTEMPTS = 3;

/** A 200 reply that began well: a stream at its first frame of worth, or a whole answer. */
export interface ProviderAnswer {
  begun: CommittedReply;
  prepared: BuiltRequest;
  /** Targets contacted, this one included. */
  attempts: number;
  /** The provider's own request id, for the log. */
  upstreamId: string | undefined;
}

export interface AskOptions extends ReplyLimits {
  first: BuiltRequest;
  /** The targets after the first, in order. */
  rest: readonly Target[];
  /** There is no other: neither breaker nor cool-down keeps the request from it. */
  lone: boolean;
  /** `room`: tokens of output that fit beside the input. */
  prepare: (target: Target, room?: number) => BuiltRequest;
  stream: boolean;
  cancellation: Cancellation;
  /** For an error. */
  facts: () => RequestFigures;
  /** Told before each target is contacted. */
  onAttempt: (prepared: BuiltRequest, attempts: number) => void;
  requestId: string;
}

export interface AskDeps {
  client: ProviderClient;
  routing: { readonly health: Health };
  clock: Clock;
  ids: Ids;
  log: Logger;
}

/** Throws the one GatewayError for all attempts; the cancellation's reason where it was cancelled. */
export async function askTargets(options: AskOptions, deps: AskDeps): Promise<ProviderAnswer> {
  const attempts: FailedAttempt[] = [];
  const targets = [options.first.target, ...options.rest];
  for (const lone of options.lone ? [true] : [false, true]) {
    for (const target of targets) {
      if (attempts.length === MAX_ATTEMPTS) break;
      const upstream = await contact(target, attempts, lone, options, deps);
      if (upstream === 'stop') throw errorOf(attempts, options.facts());
      if (upstream !== undefined) return upstream;
    }
    // Every one was another request's probe: rather than invent a failure, the request is tried all the same.
    if (attempts.length > 0) break;
  }
  throw errorOf(attempts, options.facts());
}

/** One target: its answer, `stop` where no other may be tried, undefined to go on. Adds its failure to `attempts`. */
function contact(
  target: Target,
  attempts: FailedAttempt[],
  lone: boolean,
  options: AskOptions,
  deps: AskDeps,
): Promise<ProviderAnswer | 'stop' | undefined> | undefined {
  const prepared = target === options.first.target ? options.first : prepareNext(options, target);
  if (prepared === undefined) return undefined;
  const health = deps.routing.health.begin(target.key, lone);
  if (health === undefined) return undefined;
  return ask(prepared, { attempts, health, fitted: false }, options, deps);
}

interface Asking {
  attempts: FailedAttempt[];
  health: Watched;
  /** Asked for the second time, with less output. */
  fitted: boolean;
}

async function ask(
  prepared: BuiltRequest,
  asking: Asking,
  options: AskOptions,
  deps: AskDeps,
): Promise<ProviderAnswer | 'stop' | undefined> {
  const { attempts, health, fitted } = asking;
  const nth = attempts.length + 1;
  options.onAttempt(prepared, nth);
  const startedAt = deps.clock.monotonic();
  try {
    const reply = await deps.client.open(callOf(prepared, options.stream), options.cancellation);
    if (reply.status !== 200)
      throw new FailureError(await readErrorReply(reply, prepared.protocol, deps.clock));
    const begun = isWholeReply(reply, options.stream)
      ? readWholeReply(await readBody(reply.body, options.maxReply), prepared, options.maxValues)
      : await begunStream(reply, prepared, options, deps);
    if (begun.kind === 'whole' && prepared.pausing !== undefined) {
      begun.value = await wholeTurn(begun, goingOn(prepared, options, deps), prepared, options);
    }
    health.succeeded(deps.clock.monotonic() - startedAt);
    const upstreamId = reply.header('request-id') ?? reply.header('x-request-id');
    return { begun, prepared, attempts: nth, upstreamId };
  } catch (error) {
    const { reason } = options.cancellation;
    if (reason !== undefined || !(error instanceof FailureError)) {
      health.abandoned();
      throw reason ?? error;
    }
    const { failure } = error;
    const fitting = fitted ? undefined : fittingFor(failure, prepared, asking, options);
    if (fitting !== undefined) return ask(fitting, { ...asking, fitted: true }, options, deps);
    health.failed(failure);
    attempts.push({ target: prepared.target, failure });
    logAttempt(deps.log, options.requestId, prepared.target, failure, nth);
    return mayTryNext(failure) ? undefined : 'stop';
  }
}

/** The same request with less output, where the provider said that the window has room for that. */
function fittingFor(
  failure: ProviderFailure,
  { crossing, target }: BuiltRequest,
  { health }: Asking,
  options: AskOptions,
): BuiltRequest | undefined {
  try {
    const room = crossing ? outputRoom(failure, options.facts) : undefined;
    return room === undefined ? undefined : prepareNext(options, target, room);
  } catch (error) {
    health.abandoned();
    throw error;
  }
}

/** A target that can't take the request is passed over. */
function prepareNext(options: AskOptions, target: Target, room?: number): BuiltRequest | undefined {
  try {
    return options.prepare(target, room);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function callOf({ target, url, headers, bytes }: BuiltRequest, stream: boolean): Call {
  return { url, method: 'POST', headers, body: bytes, stream, timeout: target.provider.timeout };
}

async function begunStream(
  reply: ProviderReply,
  prepared: BuiltRequest,
  options: AskOptions,
  deps: AskDeps,
): Promise<CommittedReply> {
  const { stream, maxReply } = options;
  const joiner = prepared.pausing?.createJoiner();
  const first = openFrames(reply.body, options);
  const source =
    joiner === undefined
      ? first
      : new ContinuedFrames(first, joiner, goingOn(prepared, options, deps), options);
  if (stream) return { kind: 'stream', held: await readUntilCommit(source, prepared, deps.ids), source };
  return { kind: 'folded', reply: await aggregateStream(source, prepared, deps.ids, maxReply) };
}

/** The target asked once more, with its own paused turn. */
function goingOn(prepared: BuiltRequest, options: AskOptions, deps: AskDeps): ContinueTurn {
  const { pausing, bytes, protocol, target } = prepared;
  return async (turn, read) => {
    try {
      const call = callOf({ ...prepared, bytes: pausing?.resume(bytes, turn) ?? bytes }, options.stream);
      const reply = await deps.client.open(call, options.cancellation);
      if (reply.status !== 200) throw new FailureError(await readErrorReply(reply, protocol, deps.clock));
      return await read(reply);
    } catch (error) {
      const { reason } = options.cancellation;
      if (reason !== undefined) throw reason;
      // A fault of our own takes nothing from the client of what it was told.
      const said = error instanceof FailureError ? error.failure.message : String(error);
      const message = redact(said, target.provider);
      const fields = { request: options.requestId, target: target.key, message };
      deps.log.warn('a paused turn could not go on', fields);
      return undefined;
    }
  };
}

function logAttempt(
  log: Logger,
  requestId: string,
  target: Target,
  failure: ProviderFailure,
  attempt: number,
): void {
  log.warn('a target failed', {
    request: requestId,
    target: target.key,
    attempt,
    kind: failure.kind,
    reason: failure.reason,
    status: failure.status,
    key_from: failure.kind === 'provider_key' ? target.provider.keyFrom : undefined,
    message: redact(failure.message, target.provider),
  });
}
