// The line: a request comes in, is known, read, routed, admitted, forwarded, answered, recorded. Values move forward only.
import { admit } from '../accounts/admission.ts';
import { authenticate } from '../accounts/key.ts';
import { GatewayError } from '../errors.ts';
import type { Protocol } from '../protocols/protocol.ts';
import { type GatewayDeps, ClientGone, type Exchange } from './exchange.ts';
import { readRequest } from './inbound/read-request.ts';
import { resolveReferences } from './inbound/stored-references.ts';
import { relayedTo, resolveTargets, routingQuery } from './inbound/routing-query.ts';
import { buildFirst } from './outbound/build-request.ts';
import { askTargets } from './outbound/fallback.ts';
import { estimatedInput, respond } from './reply/respond.ts';
import { keepAliveInSilence } from './reply/silence.ts';
import { recallThinking } from './thinking-memory.ts';
import type { PassedOver, Resolution } from '../routing/routing.ts';
import { finishTrace, Trace, type Outcome } from './trace.ts';

/**
 * Throws GatewayError before anything is written, or after the stream was opened with keep-alives alone (`sink.opened`); ClientGone if
 * the client left.
 */
export async function infer(
  protocol: Protocol,
  exchange: Exchange,
  deps: GatewayDeps,
  relayedPath?: string,
): Promise<void> {
  const { name, client } = protocol;
  const { clock, store, routing } = deps;
  const { requestId, headers, cancellation, sink } = exchange;
  const startedAt = clock.monotonic();
  const key = await authenticate(
    { headers, endpoint: name, keyHeaders: client.keyHeaders },
    store,
    clock.now(),
  );
  const { limits, strict, tiers } = deps.config();
  const release = deps.inFlightLimit.enter(deps.config());
  try {
    const inbound = readRequest(
      protocol,
      await exchange.readBody(),
      limits.maxValues,
      undefined,
      relayedPath,
    );
    const readAt = clock.monotonic();
    const forwarded = client.forwardedHeaders(headers, exchange.query);
    await deps.discovered;
    const query = routingQuery(inbound, key, forwarded.longContext);
    const resolution = await resolveTargets(query, cancellation, deps);
    const { targets, lone } = relayedTo(resolution, inbound);
    const recalled = await recallThinking(inbound, targets, key.accountId, deps);
    const references = await resolveReferences(inbound, key.accountId, deps);
    const build = { forwarded, strict, recalled, references };
    const { first, rest, refused } = buildFirst(targets, inbound, build);
    const admission = await admit(store, key, tiers, clock, deps.log);
    // Counted before the body is released.
    if (inbound.stream && first.crossing && client.needsInputEstimate) inbound.estimate();
    inbound.release();
    references?.release();

    const { model: modelAsked, stream: streamed } = inbound;
    const trace = new Trace({
      requestId,
      key,
      endpoint: name,
      modelAsked,
      streamed,
      startedAt,
      passedOver: passedOver(resolution, refused),
      conversation: query.knownConversation,
    });
    exchange.admitted = true;
    const silence = keepAliveInSilence({ inbound, first, admission, exchange, readAt }, trace, deps);
    try {
      const { maxReply, maxValues } = limits;
      // Each by its name: of a literal with a spread V8 makes a new hidden class each time (docs/decisions/0014).
      const ask = {
        inbound,
        forwarded,
        strict,
        recalled,
        references,
        first,
        rest,
        lone,
        cancellation,
        maxReply,
        maxValues,
      };
      const answer = await askTargets(ask, trace, deps);
      const opened = silence.end();
      if (targets.length > 1) routing.remember(query, answer.request.target);
      trace.outcome = await respond(
        { inbound, opened, references, answer, admission, exchange },
        trace,
        deps,
      );
      trace.estimatedInput = estimatedInput(trace.outcome, answer, inbound);
    } catch (error) {
      trace.outcome = outcomeOf(error, sink.opened);
      if (error instanceof GatewayError) trace.message = error.message;
      throw error;
    } finally {
      silence.end();
      finishTrace(trace, clock, deps.observers);
    }
  } finally {
    exchange.whenDelivered(release);
  }
}

/** Mostly none: no array is made then. */
function passedOver({ later, skipped }: Resolution, refused: readonly PassedOver[]): readonly PassedOver[] {
  return later.length + refused.length === 0 ? skipped : [...later, ...refused, ...skipped];
}

function outcomeOf(error: unknown, opened: boolean): Outcome {
  if (error instanceof ClientGone) return { status: 499, error: 'client_closed' };
  if (error instanceof GatewayError) return { status: opened ? 200 : error.status, error: error.kind };
  return { status: opened ? 200 : 500, error: 'internal' };
}
