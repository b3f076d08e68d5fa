// Answers the client with a provider's reply: relayed if both have one protocol, else translated. While the provider is silent, the
// stream opens with keep-alives.
import { type Admission, FailureError, GatewayError, type ProviderFailure } from '../../errors.ts';
import { wellFormed, isObject, type JsonObject } from '../../canonical/json.ts';
import type { Clock } from '../../clock.ts';
import { withoutKeys } from '../../ids.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { ReplyContext } from '../../protocols/interface/answer.ts';
import type { StreamEncoder, StreamNotices } from '../../protocols/interface/stream.ts';
import type { Target } from '../../routing/catalog.ts';
import type { NewItem } from '../../store/sealed-items.ts';
import type { Exchange, GatewayDeps, HeaderList } from '../exchange.ts';
import type { StoredReferences } from '../inbound/stored-references.ts';
import type { CommittedReply, StreamOpening } from '../outbound/first-frame.ts';
import { errorOf } from '../outbound/fallback-policy.ts';
import type { ProviderAnswer } from '../outbound/fallback.ts';
import { Answered, type Contact, type Outcome, type Trace } from '../trace.ts';
import { pump, type FrameWriter } from './pump.ts';
import type { Inbound } from '../inbound/read-request.ts';
import { createRelay } from './relay.ts';
import { createRepairedRelay } from './repaired-relay.ts';
import { createTranslation, translateAsStream, translateWhole } from './translate.ts';

/** A stream that was opened before its provider answered, by the encoder that writes the rest of it. */
export interface OpenedStream {
  encoder: StreamEncoder;
  context: ReplyContext;
}

interface RespondOptions {
  inbound: Inbound;
  opened: OpenedStream | undefined;
  references: StoredReferences | undefined;
  answer: ProviderAnswer;
  admission: Admission;
  exchange: Exchange;
}

export type RespondDeps = Pick<GatewayDeps, 'clock' | 'ids' | 'current' | 'items' | 'log'>;

/** Throws GatewayError if a whole reply proves to be no answer; nothing was written then. */
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
  if (reply.kind === 'stream') return writeStream(reply, headers, options, trace, deps);
  trace.firstByteAt ??= deps.clock.monotonic();
  if (reply.kind === 'whole' && !request.crossing && !inbound.stream && request.repair === undefined) {
    return relayWhole(reply, headers, options, deps);
  }
  const decoded =
    reply.kind === 'folded' ? reply.reply : request.protocol.provider.decodeReply(reply.value, reply.body);
  const context = options.opened?.context ?? replyContext(inbound, trace, deps);
  const encoder = inbound.stream
    ? (options.opened?.encoder ?? client.createStreamEncoder(context))
    : undefined;
  const { text, usage, lost, repaired, items } =
    encoder === undefined
      ? translateWhole(decoded, request, client, context)
      : translateAsStream(decoded, request, client, context, encoder);
  if (repaired !== undefined) headers.push('x-gateway-repaired', headerList(repaired));
  else if (reply.kind === 'whole' && !request.crossing && !inbound.stream) {
    return relayWhole(reply, headers, options, deps);
  }
  if (inbound.stream) {
    exchange.sink.open(headers, noticesOf(client));
    exchange.sink.end(text);
  } else {
    headers.push('content-type', 'application/json');
    exchange.sink.send(200, headers, text);
  }
  const more = request.crossing ? [] : client.lossesOfRewriting(inbound.value);
  const answered = encoder === undefined ? text : encoder.answer?.();
  return new Answered(
    usage,
    joined(itemsToStore(answered, options, deps, context.hidden), items),
    more.length === 0 ? lost : [...(lost ?? []), ...more],
    repaired,
  );
}

/** The provider's own bytes. */
function relayWhole(
  { body, value, usage }: Extract<CommittedReply, { kind: 'whole' }>,
  headers: HeaderList,
  options: RespondOptions,
  deps: RespondDeps,
): Outcome {
  headers.push('content-type', 'application/json');
  options.exchange.sink.send(200, headers, body);
  const items = isObject(value) ? itemsToStore(value, options, deps) : undefined;
  return new Answered(usage, items);
}

function writeStream(
  { opening, source }: Extract<CommittedReply, { kind: 'stream' }>,
  headers: HeaderList,
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): Promise<Outcome> {
  const { inbound, exchange } = options;
  const { writer, hidden } = writerOf(opening, options, trace, deps);
  const errorEvent = (cause: ProviderFailure | GatewayError): string => {
    const error = gatewayError(cause, options);
    trace.message = error.message;
    return withoutKeys(writer.fail(error, exchange.requestId, deps.clock.now()));
  };
  exchange.sink.open(headers, writer);
  const { cutsBrokenStreams: cutsBroken } = inbound.protocol.client;
  const ended = pump({ source, writer, errorEvent, cutsBroken, exchange, trace, clock: deps.clock });
  if (!inbound.storing) return ended;
  return ended.then((outcome) =>
    outcome.error === null
      ? { ...outcome, items: joined(itemsToStore(writer.answer?.(), options, deps, hidden), outcome.items) }
      : outcome,
  );
}

/** What moves the stream to the client; `hidden`: what is stored beside the answer's items. */
function writerOf(
  opening: StreamOpening,
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): { writer: FrameWriter; hidden?: ReplyContext['hidden'] } {
  const { inbound, opened, answer } = options;
  const { client } = inbound.protocol;
  const encoder = opened?.encoder;
  if (opening.kind === 'relayed') return { writer: createRelay(opening, client, encoder) };
  const context = opened?.context ?? replyContext(inbound, trace, deps);
  const { hidden } = context;
  if (opening.kind === 'repaired' && encoder?.adopt === undefined) {
    return { writer: createRepairedRelay(opening, client, context), hidden };
  }
  // The frames of a stream that was opened in silence are numbered: its encoder writes all of them.
  const { decoder, events, rest } = opening;
  const translated = { kind: 'translated' as const, decoder, events, rest };
  return { writer: createTranslation(translated, answer.request, client, context, encoder), hidden };
}

function joined(
  answer: readonly NewItem[] | undefined,
  signed: readonly NewItem[] | undefined,
): readonly NewItem[] | undefined {
  return answer && signed ? [...answer, ...signed] : (answer ?? signed);
}

/** Of an answer that later requests may refer to; undefined: it is not stored. `answer`: also as JSON. */
function itemsToStore(
  answer: JsonObject | string | undefined,
  options: RespondOptions,
  deps: RespondDeps,
  hidden?: ReadonlyMap<string, string>,
): readonly NewItem[] | undefined {
  const { inbound, references, opened, answer: given } = options;
  const { stored } = inbound.protocol.client;
  if (!inbound.storing || stored === undefined || answer === undefined) return undefined;
  if (!deps.current.config.responses.store) return undefined;
  const request = references === undefined ? inbound : references.toStore;
  const { crossing, target } = given.request;
  const value = typeof answer === 'string' ? (JSON.parse(answer) as JsonObject) : answer;
  const keeper = crossing ? undefined : keeperOf(value, target);
  const theirs = opened?.context.trace?.replyIds?.theirs;
  const items = stored.toStore({
    request,
    answer: value,
    holder: opened === undefined ? keeper : undefined,
    keptAt: keeper === undefined || theirs === undefined ? undefined : { provider: keeper, id: theirs },
    hidden,
  });
  return items.map(({ id, text, size }) => ({ kind: 'answer', id, text, size }));
}

/** The provider, unless it says that it stores nothing, or is the built-in one. */
function keeperOf({ store }: JsonObject, { provider }: Target): string | undefined {
  return store === false || provider.source === 'builtin' ? undefined : provider.name;
}

/** What encoders of answers need of the request. */
export function replyContext(
  inbound: Inbound,
  trace: Trace,
  { clock, ids, current, items, log }: RespondDeps,
): ReplyContext {
  const context: ReplyContext = {
    ids,
    created: Math.floor(clock.now() / 1000),
    now: () => clock.now(),
    request: inbound.asked(),
    estimateInput: () => inbound.estimate(),
    trace,
  };
  if (inbound.protocol.client.stored === undefined) return context;
  context.seal = (text) => {
    try {
      return items.seal(trace.key.accountId, text);
    } catch (error) {
      log.error('thinking cannot be sealed: clients do not get it', { reason: String(error) });
      return undefined;
    }
  };
  if (current.config.responses.store) context.hidden = new Map();
  return context;
}

/**
 * The estimated input tokens that the client got, since the provider had not counted them: a stream of messages demands a count.
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

/** A failure inside the stream, with the message that a failure before the stream has. */
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
  { attempts, returnedHeaders }: Trace,
  client: ClientSide,
  admission: Admission,
  clock: Clock,
): HeaderList {
  const head = [...namesOf(target), 'x-gateway-attempts', String(attempts)];
  if (returnedHeaders.length > 0) head.push(...returnedHeaders);
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

/** What the gateway adds to a stream: as its machine says, else as it does to one without frames so far. */
export function noticesOf(client: ClientSide, machine: StreamNotices = {}): Required<StreamNotices> {
  return {
    keepAlive: () => machine.keepAlive?.() ?? client.keepAlive,
    fail: (error, requestId, now) =>
      machine.fail?.(error, requestId, now) ?? client.encodeStreamError(error, requestId, now),
  };
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

/** Counted from the time at which the request was read. */
const OPEN_AFTER_MS = 10_000;

interface Silence {
  /** To be called when the answer starts or the request is over. Gives the encoder that opened the stream, if one did. */
  end(): OpenedStream | undefined;
}

const NO_SILENCE: Silence = { end: () => undefined };

/**
 * If the protocol's encoder writes keep-alives, the stream opens with one of them: clients of such a protocol accept nothing before
 * its first event. Else with the protocol's constant keep-alive.
 */
export function keepAliveInSilence(
  request: { inbound: Inbound; first: Contact; admission: Admission; exchange: Exchange; readAt: number },
  trace: Trace,
  deps: RespondDeps,
): Silence {
  const { inbound, first, admission, exchange, readAt } = request;
  const { clock } = deps;
  if (!inbound.stream) return NO_SILENCE;
  const { client } = inbound.protocol;
  let opened: OpenedStream | undefined;
  const waitMs = Math.max(OPEN_AFTER_MS - (clock.monotonic() - readAt), 0);
  const cancel = clock.after(waitMs, () => {
    if (exchange.cancellation.reason !== undefined) return;
    const context = replyContext(inbound, trace, deps);
    const encoder = client.createStreamEncoder(context);
    if (encoder.keepAlive !== undefined) opened = { encoder, context };
    const notices = noticesOf(client, opened?.encoder);
    exchange.sink.open(responseHeaders(trace.contact ?? first, trace, client, admission, clock), notices);
    exchange.sink.write(notices.keepAlive());
  });
  return {
    end() {
      cancel();
      return opened;
    },
  };
}
