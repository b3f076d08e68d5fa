// The answer of a provider on its way to the client: relayed where both speak one protocol, else translated.
import type { Admission } from '../../canonical/admission.ts';
import type { Clock } from '../../clock.ts';
import { FailureError } from '../../canonical/failure.ts';
import { GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Ids } from '../../ids.ts';
import { withoutKeys } from '../../log.ts';
import type { Protocol, ReplyContext } from '../../protocols/protocol.ts';
import type { Target } from '../../routing/catalog.ts';
import type { Exchange, HeaderList, Outcome } from '../exchange.ts';
import { errorOf } from '../outbound/fallback-policy.ts';
import type { ProviderAnswer } from '../outbound/fallback.ts';
import { headerList, headerText } from './header-text.ts';
import { lossesOfRewriting } from './losses.ts';
import type { BuiltRequest } from '../outbound/build-request.ts';
import { pump } from './pump.ts';
import type { Inbound } from '../inbound/read-request.ts';
import { createRelay } from './relay.ts';
import { createTranslation, translateAsStream, translateWhole } from './translate.ts';

export interface RespondOptions {
  inbound: Inbound;
  upstream: ProviderAnswer;
  admission: Admission;
  exchange: Exchange;
  onFirstByte: () => void;
  /** Told where the client got another id of the answer than the provider gave it. */
  onNewId: (theirs: string, ours: string) => void;
}

/** Throws GatewayError where a whole reply turns out to be none; nothing was written then. */
export function respond(
  options: RespondOptions,
  deps: { clock: Clock; ids: Ids },
): Outcome | Promise<Outcome> {
  const fail = (error: unknown): never => {
    throw error instanceof FailureError ? gatewayError(error.failure, options) : error;
  };
  try {
    const outcome = written(options, deps);
    return outcome instanceof Promise ? outcome.catch(fail) : outcome;
  } catch (error) {
    return fail(error);
  }
}

function written(options: RespondOptions, deps: { clock: Clock; ids: Ids }): Outcome | Promise<Outcome> {
  const { inbound, upstream, admission, exchange, onFirstByte } = options;
  const { prepared, begun } = upstream;
  const { sink } = exchange;
  const { protocol: client } = inbound;
  const head = responseHeaders(upstream, client, admission, deps.clock);
  const context = (): ReplyContext => replyContext(options, deps);

  if (begun.kind === 'stream') {
    const mover = prepared.crossing
      ? createTranslation(prepared, client, context(), deps.ids)
      : createRelay(prepared.protocol, inbound.usageAsked);
    const errorEvent = (cause: ProviderFailure | GatewayError): string =>
      withoutKeys(client.encodeStreamError(gatewayError(cause, options), exchange.requestId));
    sink.open(head, client.keepAlive);
    const { held, source } = begun;
    return pump({
      held,
      source,
      mover,
      sink,
      cancellation: exchange.cancellation,
      clock: deps.clock,
      errorEvent,
      onFirstByte,
    });
  }
  onFirstByte();
  if (begun.kind === 'whole' && !prepared.crossing && !inbound.stream) {
    head.push('content-type', 'application/json');
    sink.send(200, head, begun.body);
    return { status: 200, error: null, usage: begun.usage };
  }
  const reply =
    begun.kind === 'folded' ? begun.reply : prepared.protocol.decodeReply(begun.value, begun.body);
  const write = inbound.stream ? translateAsStream : translateWhole;
  const { text, usage, lost } = write(reply, prepared, client, context());
  if (inbound.stream) {
    sink.open(head, client.keepAlive);
    sink.end(text);
  } else {
    head.push('content-type', 'application/json');
    sink.send(200, head, text);
  }
  const more = prepared.crossing ? [] : lossesOfRewriting(inbound.value);
  return { status: 200, error: null, usage, lost: more.length === 0 ? lost : [...(lost ?? []), ...more] };
}

/** What an encoder of answers needs to know of the request. */
function replyContext(
  { inbound, onNewId }: RespondOptions,
  { clock, ids }: { clock: Clock; ids: Ids },
): ReplyContext {
  const created = Math.floor(clock.now() / 1000);
  return { ids, created, request: inbound.asked(), estimateInput: () => inbound.estimate(), onNewId };
}

/** A failure in mid-stream in the words that a failure before the stream would have had. */
function gatewayError(
  cause: ProviderFailure | GatewayError,
  { inbound, upstream }: RespondOptions,
): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return errorOf([{ target: upstream.prepared.target, failure: cause }], {
    estimate: () => inbound.estimate(),
    coolingMs: () => undefined,
  });
}

/** The headers of an answer beside its type and its ids. */
export function responseHeaders(
  reached: { prepared: BuiltRequest; attempts: number },
  client: Protocol,
  admission: Admission,
  clock: Clock,
): HeaderList {
  const { target, dropped } = reached.prepared;
  const head = [...namesOf(target), 'x-gateway-attempts', String(reached.attempts)];
  if (dropped.length > 0) head.push('x-gateway-dropped', headerList(dropped));
  if (admission.limit !== Infinity) head.push(...client.limitHeaders(admission, clock.now()));
  return head;
}

/** The same for every request to a target, so made once. */
const names = new WeakMap<Target, HeaderList>();

function namesOf(target: Target): HeaderList {
  let list = names.get(target);
  if (list === undefined) {
    list = [
      'x-gateway-provider',
      headerText(target.provider.name),
      'x-gateway-model',
      headerText(target.model),
    ];
    names.set(target, list);
  }
  return list;
}
