// The answer of a provider on its way to the client: relayed where both speak one protocol, else translated.
import { type Admission, FailureError, GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import { withoutKeys } from '../../log.ts';
import type { ClientSide, ReplyContext, StreamNotices } from '../../protocols/protocol.ts';
import type { Target } from '../../routing/catalog.ts';
import type { Exchange, HeaderList } from '../exchange.ts';
import { errorOf } from '../outbound/fallback-policy.ts';
import type { ProviderAnswer } from '../outbound/fallback.ts';
import type { Contact, Outcome, Trace } from '../trace.ts';
import { pump } from './pump.ts';
import type { Inbound } from '../inbound/read-request.ts';
import { createRelay } from './relay.ts';
import { createTranslation, translateAsStream, translateWhole } from './translate.ts';
import { wellFormed } from '../../canonical/surrogates.ts';

interface RespondOptions {
  inbound: Inbound;
  answer: ProviderAnswer;
  admission: Admission;
  exchange: Exchange;
}

interface RespondDeps {
  clock: Clock;
  ids: Ids;
}

/** Throws GatewayError where a whole reply turns out to be none; nothing was written then. */
export function respond(
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): Outcome | Promise<Outcome> {
  const fail = (error: unknown): never => {
    throw error instanceof FailureError ? gatewayError(error.failure, options) : error;
  };
  try {
    const outcome = write(options, trace, deps);
    return outcome instanceof Promise ? outcome.catch(fail) : outcome;
  } catch (error) {
    return fail(error);
  }
}

/** The one place that chooses between relay and translation. */
function write(options: RespondOptions, trace: Trace, deps: RespondDeps): Outcome | Promise<Outcome> {
  const { inbound, answer, admission, exchange } = options;
  const { request, reply } = answer;
  const { client } = inbound.protocol;
  const headers = responseHeaders(trace.contact ?? request, trace, client, admission, deps.clock);
  if (reply.kind === 'stream') {
    const { opening, source } = reply;
    const writer =
      opening.kind === 'translated'
        ? createTranslation(opening, request, client, replyContext(inbound, trace, deps))
        : createRelay(opening, client);
    const errorEvent = (cause: ProviderFailure | GatewayError): string =>
      withoutKeys(writer.fail(gatewayError(cause, options), exchange.requestId));
    exchange.sink.open(headers, writer);
    return pump({ source, writer, errorEvent, exchange, trace, clock: deps.clock });
  }
  trace.firstByteAt ??= deps.clock.monotonic();
  if (reply.kind === 'whole' && !request.crossing && !inbound.stream) {
    headers.push('content-type', 'application/json');
    exchange.sink.send(200, headers, reply.body);
    return { status: 200, error: null, usage: reply.usage };
  }
  const decoded =
    reply.kind === 'folded' ? reply.reply : request.protocol.provider.decodeReply(reply.value, reply.body);
  const encode = inbound.stream ? translateAsStream : translateWhole;
  const { text, usage, lost, items } = encode(decoded, request, client, replyContext(inbound, trace, deps));
  if (inbound.stream) {
    exchange.sink.open(headers, noticesOf(client));
    exchange.sink.end(text);
  } else {
    headers.push('content-type', 'application/json');
    exchange.sink.send(200, headers, text);
  }
  const more = request.crossing ? [] : client.lossesOfRewriting(inbound.value);
  return {
    status: 200,
    error: null,
    usage,
    lost: more.length === 0 ? lost : [...(lost ?? []), ...more],
    items,
  };
}

/** What an encoder of answers needs to know of the request. */
function replyContext(inbound: Inbound, trace: Trace, { clock, ids }: RespondDeps): ReplyContext {
  const created = Math.floor(clock.now() / 1000);
  return { ids, created, request: inbound.asked(), estimateInput: () => inbound.estimate(), trace };
}

/**
 * The tokens of the input that the client was told for want of the provider's count: a stream of messages demands one.
 * Undefined if the provider gave its own.
 */
export function estimatedInput(
  { usage, error }: Outcome,
  { request }: ProviderAnswer,
  inbound: Inbound,
): number | undefined {
  if (usage !== undefined || error !== null || !request.crossing) return undefined;
  return inbound.protocol.client.needsInputEstimate ? inbound.estimate() : undefined;
}

/** A failure in mid-stream in the words that a failure before the stream would have had. */
function gatewayError(
  cause: ProviderFailure | GatewayError,
  { inbound, answer }: RespondOptions,
): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return errorOf([{ target: answer.request.target, failure: cause }], {
    estimate: () => inbound.estimate(),
    coolingMs: () => undefined,
  });
}

/** The headers of an answer beside its type and its ids. */
export function responseHeaders(
  { target, dropped }: Contact,
  { attempts }: Trace,
  client: ClientSide,
  admission: Admission,
  clock: Clock,
): HeaderList {
  const head = [...namesOf(target), 'x-gateway-attempts', String(attempts)];
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

/** What the gateway adds to a stream without frames so far. */
export function noticesOf(client: ClientSide): Required<StreamNotices> {
  return {
    keepAlive: () => client.keepAlive,
    fail: (error, requestId) => client.encodeStreamError(error, requestId),
  };
}

/** Counted from the time at which the request was read. */
const OPEN_AFTER_MS = 10_000;

interface Silence {
  /** To be called when the answer starts or the request is over. */
  end(): void;
}

const NO_SILENCE: Silence = { end: () => undefined };

/**
 * Opens a stream with keep-alives alone if its provider stays silent: clients and proxies measure silence until the first byte of
 * the body.
 */
export function keepAliveInSilence(
  request: { inbound: Inbound; first: Contact; admission: Admission; exchange: Exchange; readAt: number },
  trace: Trace,
  clock: Clock,
): Silence {
  const { inbound, first, admission, exchange, readAt } = request;
  if (!inbound.stream) return NO_SILENCE;
  const { client } = inbound.protocol;
  const waitMs = Math.max(OPEN_AFTER_MS - (clock.monotonic() - readAt), 0);
  const end = clock.after(waitMs, () => {
    if (exchange.cancellation.reason !== undefined) return;
    const headers = responseHeaders(trace.contact ?? first, trace, client, admission, clock);
    exchange.sink.open(headers, noticesOf(client));
    exchange.sink.write(client.keepAlive);
  });
  return { end };
}

/** Characters of a header's value, without the count of the names that it leaves out. */
const MAX_HEADER_TEXT = 2048;

/** Percent-encodes what a header can't hold. */
function encoded(text: string): string {
  return withoutKeys(wellFormed(text)).replace(/[^\x21-\x7e ]/gu, (char) => encodeURIComponent(char));
}

/** A client's or provider's word as the value of a header: percent-encoded where HTTP needs it, cut at the limit. */
export function headerText(text: string): string {
  const whole = encoded(text.slice(0, MAX_HEADER_TEXT));
  return whole.length <= MAX_HEADER_TEXT ? whole : whole.slice(0, MAX_HEADER_TEXT).replace(/%[^%]{0,1}$/, '');
}

/** The names, separated by commas, and how many are beyond the limit: `a,b,… and 3 more`. */
export function headerList(names: readonly string[]): string {
  let list = '';
  for (const [index, name] of names.entries()) {
    const next = `${index === 0 ? '' : ','}${headerText(name)}`;
    if (list.length + next.length > MAX_HEADER_TEXT) {
      return `${list}${list === '' ? '' : ','}${encoded('…')} and ${names.length - index} more`;
    }
    list += next;
  }
  return list;
}
