// The line: a request comes in, is known, read, routed, admitted, forwarded, answered, recorded. Values move forward only.
import { admit } from '../accounts/admission.ts';
import { authenticate } from '../accounts/authenticate.ts';
import type { Cancellation } from '../cancellation.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { ProviderClient } from '../providers/client.ts';
import type { Target } from '../routing/catalog.ts';
import type { Routing } from '../routing/routing.ts';
import type { Store } from '../store/store.ts';
import { respond, responseHeaders } from './reply/respond.ts';
import { routingQuery } from './inbound/routing-query.ts';
import type { DatabaseHealth } from './database-health.ts';
import { ClientGone, type Exchange, type Outcome } from './exchange.ts';
import { askTargets, type ProviderAnswer } from './outbound/fallback.ts';
import type { InFlightLimit } from './in-flight-limit.ts';
import { forwardedHeaders } from './inbound/forwarded-headers.ts';
import { buildRequest, type BuiltRequest } from './outbound/build-request.ts';
import { readRequest } from './inbound/read-request.ts';
import { logOutcome, usageRow, type ReplyIds, type Recorder } from './recorder.ts';

export interface GatewayDeps {
  /** The configuration as it is now: a request reads it once. */
  config: () => Config;
  store: Store;
  routing: Routing;
  /** Resolves when the local servers were looked for. */
  discovered: Promise<void>;
  client: ProviderClient;
  recorder: Recorder;
  gate: InFlightLimit;
  database: DatabaseHealth;
  clock: Clock;
  ids: Ids;
  log: Logger;
}

const nothing = (): void => undefined;

/** A stream that stays silent for so long, counted from when its request was read, is opened with keep-alives alone. */
const OPEN_AFTER_MS = 10_000;

/**
 * Throws GatewayError before anything was written, or after the stream was opened with keep-alives alone (`sink.opened`);
 * ClientGone when nobody is left to answer.
 */
export async function infer(protocol: Protocol, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { clock, store, routing } = deps;
  const startedAt = clock.monotonic();
  const key = await authenticate({ headers: exchange.headers, endpoint: protocol.name }, store, clock.now());
  const config = deps.config();
  const leave = deps.gate.enter(config);
  try {
    const inbound = readRequest(protocol, await exchange.readBody(), config.limits.maxValues);
    const readAt = clock.monotonic();
    const passed = forwardedHeaders(exchange, protocol);
    await deps.discovered;
    const question = routingQuery(inbound, key, passed.beta);
    let resolution = routing.resolve(question);
    if (resolution.waitMs !== undefined) {
      // All of several targets cool down for a short time: the request waits for the first of them, once.
      await pause(resolution.waitMs, exchange.cancellation, clock);
      resolution = routing.resolve(question);
    }
    const { targets, lone } = resolution;
    const toTarget = (target: Target, room?: number): BuiltRequest =>
      buildRequest(inbound, target, passed, config.strict, room);
    const { first, rest } = firstPrepared(targets, toTarget);
    const admission = await admit(store, key, config.tiers, clock, deps.log);
    // Translated streams of messages begin with the input's tokens, which the provider tells at the end.
    if (inbound.stream && first.crossing && protocol.name === 'messages') inbound.estimate();
    inbound.release();

    let outcome: Outcome = { status: 500, error: 'internal' };
    let upstream: ProviderAnswer | undefined;
    let inFlight = { prepared: first, attempts: 0 };
    let firstByteAt: number | undefined;
    let newId: ReplyIds | undefined;
    const openInSilence = (): void => {
      if (exchange.cancellation.reason !== undefined) return;
      exchange.sink.open(responseHeaders(inFlight, protocol, admission, clock), protocol.keepAlive);
      // A sign of life at once: clients and proxies count silence until the first byte of the body.
      exchange.sink.write(protocol.keepAlive);
    };
    const silentMs = clock.monotonic() - readAt;
    const cancelOpening = inbound.stream
      ? clock.after(Math.max(OPEN_AFTER_MS - silentMs, 0), openInSilence)
      : nothing;
    try {
      upstream = await askTargets(
        {
          first,
          rest,
          lone,
          prepare: toTarget,
          stream: inbound.stream,
          cancellation: exchange.cancellation,
          requestId: exchange.requestId,
          maxReply: config.limits.maxReply,
          maxValues: config.limits.maxValues,
          facts: () => ({
            estimate: () => inbound.estimate(),
            // A lone target is tried whether it cools or not: its client need not wait for that.
            coolingMs: (target) => (lone ? undefined : routing.health.state(target.key).coolingMs),
          }),
          onAttempt: (prepared, attempts) => {
            inFlight = { prepared, attempts };
          },
        },
        deps,
      );
      cancelOpening();
      if (targets.length > 1) routing.remember(question, upstream.prepared.target);
      const onFirstByte = (): void => {
        firstByteAt ??= clock.monotonic();
      };
      const onNewId = (theirs: string, ours: string): void => {
        newId = { theirs, ours };
      };
      outcome = await respond({ inbound, upstream, admission, exchange, onFirstByte, onNewId }, deps);
    } catch (error) {
      outcome = outcomeOf(error, exchange.sink.opened);
      throw error;
    } finally {
      cancelOpening();
      const now = clock.monotonic();
      const ended = {
        key,
        inbound,
        outcome,
        requestId: exchange.requestId,
        at: clock.now(),
        reached: upstream?.prepared ?? (inFlight.attempts > 0 ? inFlight.prepared : undefined),
        attempts: upstream?.attempts ?? inFlight.attempts,
        upstreamId: upstream?.upstreamId,
        newId,
        firstByteMs: firstByteAt === undefined ? null : firstByteAt - startedAt,
        durationMs: now - startedAt,
      };
      deps.recorder.record(usageRow(ended));
      logOutcome(deps.log, ended);
    }
  } finally {
    exchange.whenDelivered(leave);
  }
}

/** The first target, in order, that the request can be written for; the first one's refusal where there is none. */
function firstPrepared(
  targets: readonly Target[],
  toTarget: (target: Target) => BuiltRequest,
): { first: BuiltRequest; rest: readonly Target[] } {
  let refusal: GatewayError | undefined;
  for (const [index, target] of targets.entries()) {
    try {
      return { first: toTarget(target), rest: targets.slice(index + 1) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new GatewayError('unavailable', 'no target can be tried', { retryAfter: 1 });
}

function outcomeOf(error: unknown, opened: boolean): Outcome {
  if (error instanceof ClientGone) return { status: 499, error: 'client_closed' };
  if (error instanceof GatewayError) return { status: opened ? 200 : error.status, error: error.kind };
  return { status: opened ? 200 : 500, error: 'internal' };
}

function pause(ms: number, cancellation: Cancellation, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const cancelTimer = clock.after(ms, () => {
      cancellation.unsubscribe(onCancel);
      resolve();
    });
    function onCancel(): void {
      cancelTimer();
      reject(cancellation.reason ?? new Error('cancelled'));
    }
    cancellation.subscribe(onCancel);
  });
}
