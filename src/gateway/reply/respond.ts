// Answers the client with a provider's reply: relayed if both have one protocol, else translated.
import type { Admitted } from '../../accounts/admission.ts';
import { FailureError, GatewayError, type ProviderFailure } from '../../errors.ts';
import { isObject } from '../../canonical/json.ts';
import { withoutKeys } from '../../ids.ts';
import type { Exchange, HeaderList } from '../exchange.ts';
import type { Inbound } from '../inbound/read-request.ts';
import { type CommittedReply, forgetStart, type StreamOpening } from '../outbound/first-frame.ts';
import { createStep } from '../outbound/event-steps.ts';
import { errorOf } from '../outbound/fallback-error.ts';
import type { ProviderAnswer } from '../outbound/fallback.ts';
import type { Outcome, Trace } from '../trace.ts';
import { itemsToStore, joined, type AnsweredRequest } from './answer-items.ts';
import type { RequestHold } from '../hold.ts';
import { pump, type FrameWriter } from './pump.ts';
import { createRelay } from './relay.ts';
import { frames } from './frames.ts';
import { replyContext, type RespondDeps } from './reply-context.ts';
import { addLimits, headerList, responseHeaders, streamHeaders } from './response-headers.ts';
import { noticesOf } from './silence.ts';
import { createTranslation, marksOf, translateAsStream, translateWhole } from './translate.ts';

interface RespondOptions extends AnsweredRequest {
  admission: Admitted;
  exchange: Exchange;
  /** What is settled before the last byte. undefined: nothing is held. */
  hold: RequestHold | undefined;
}

/** Whether anything is kept of the answer: for the account, or for the connection. */
function isKept({ inbound, exchange }: RespondOptions): boolean {
  return inbound.storing || exchange.memory !== undefined;
}

/**
 * Frees the client's request when its stream has begun: no other target will be asked, and a long conversation would stay in memory as long
 * as its answer takes. It stays where it is read again later.
 */
export function forgetRequest(options: RespondOptions): void {
  const { inbound, references, opened, answer } = options;
  const isReadAgain = isKept(options) || opened !== undefined || answer.request.steps !== undefined;
  if (answer.reply.kind === 'stream' && references === undefined && !isReadAgain) inbound.forget();
}

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
  if (reply.kind === 'whole' && !request.crossing && !inbound.stream && request.steps === undefined) {
    return relayWhole(reply, headers, options, trace, deps);
  }
  const decoded =
    reply.kind === 'folded' ? reply.reply : request.protocol.provider.decodeReply(reply.value, reply.body);
  const context = options.opened?.context ?? replyContext(inbound, trace, deps, exchange);
  const encoder = inbound.stream
    ? (options.opened?.encoder ?? client.createStreamEncoder(context))
    : undefined;
  const { text, answered, usage, lost, repaired, items } =
    encoder === undefined
      ? translateWhole(decoded, request, client, context)
      : translateAsStream(decoded, request, client, context, encoder);
  if (repaired !== undefined) headers.push('x-gateway-repaired', headerList(repaired));
  else if (reply.kind === 'whole' && !request.crossing && !inbound.stream) {
    return relayWhole(reply, headers, options, trace, deps);
  }
  const send = (): void => {
    if (inbound.stream) {
      exchange.sink.open(streamHeaders(headers, admission, client), noticesOf(client));
      exchange.sink.end(text);
    } else sendWhole(text, headers, options);
  };
  const more = request.crossing ? [] : client.lossesOfRewriting(inbound.value);
  const outcome: Outcome = {
    status: 200,
    error: null,
    usage,
    marks: marksOf(decoded),
    lost: more.length === 0 ? lost : [...(lost ?? []), ...more],
    repaired,
    items: joined(itemsToStore(answered, options, deps), items),
    replyIds: answered.replyIds,
  };
  return settledThen(send, outcome, options, trace);
}

/** Sends the whole answer after its hold was settled. */
function settledThen(
  send: () => void,
  outcome: Outcome,
  { hold }: RespondOptions,
  trace: Trace,
): Outcome | Promise<Outcome> {
  if (hold === undefined) {
    send();
    return outcome;
  }
  return hold.settle(outcome, trace, true).then(() => {
    send();
    return outcome;
  });
}

function sendWhole(
  body: Buffer | string,
  headers: HeaderList,
  { inbound, admission, exchange }: RespondOptions,
): void {
  headers.push('content-type', 'application/json');
  exchange.sink.send(200, addLimits(headers, admission, inbound.protocol.client), body);
}

/** The provider's own bytes. */
function relayWhole(
  { body, value, usage }: Extract<CommittedReply, { kind: 'whole' }>,
  headers: HeaderList,
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): Outcome | Promise<Outcome> {
  const items =
    isKept(options) && isObject(value) ? itemsToStore({ answer: value }, options, deps) : undefined;
  const { relay } = options.answer.request.protocol;
  // Read for traces alone.
  const marks = trace.spans !== undefined && isObject(value) ? relay.readMarks(value) : undefined;
  const outcome: Outcome = { status: 200, error: null, usage, marks, items };
  if (options.hold !== undefined)
    return settledThen(() => sendWhole(body, headers, options), outcome, options, trace);
  sendWhole(body, headers, options);
  return outcome;
}

function writeStream(
  { opening, source }: Extract<CommittedReply, { kind: 'stream' }>,
  headers: HeaderList,
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): Promise<Outcome> {
  const { inbound, exchange, admission, hold } = options;
  const writer = writerOf(opening, options, trace, deps);
  const errorEvent = (cause: ProviderFailure | GatewayError): string => {
    const error = gatewayError(cause, options);
    trace.message = error.message;
    return withoutKeys(writer.fail(error, exchange.requestId, deps.clock.now()));
  };
  const { client } = inbound.protocol;
  exchange.sink.open(streamHeaders(headers, admission, client), writer);
  const { cutsBrokenStreams: cutsBroken } = client;
  const settle = hold && ((outcome: Outcome) => hold.settle(outcome, trace));
  // They came with the first chunk.
  if (opening.rest.length > 0) trace.progress.gaps?.observe(0, opening.rest.length);
  const ended = pump({ source, writer, errorEvent, cutsBroken, exchange, trace, settle, clock: deps.clock });
  forgetStart(opening);
  if (!isKept(options)) return ended;
  return ended.then((outcome) => {
    if (outcome.error !== null) return outcome;
    const { items, replyIds } = outcome;
    const answered = { answer: writer.answer?.(), hidden: writer.hidden?.(), replyIds };
    return { ...outcome, items: joined(itemsToStore(answered, options, deps), items) };
  });
}

/** What moves the stream to the client. */
function writerOf(
  opening: StreamOpening,
  options: RespondOptions,
  trace: Trace,
  deps: RespondDeps,
): FrameWriter {
  const { inbound, opened, answer, exchange } = options;
  const { client } = inbound.protocol;
  const encoder = opened?.encoder;
  if (opening.kind === 'relayed') return createRelay(opening, client, encoder);
  const context = opened?.context ?? replyContext(inbound, trace, deps, exchange);
  const { steps } = answer.request;
  if (opening.kind === 'stepped' && steps !== undefined && encoder?.adopt === undefined) {
    // The frames behind the commit are moved one by one, like all later ones.
    const relay = createRelay({ kind: 'relayed', ...opening.relayed, rest: [] }, client);
    return frames(relay, opening, createStep(steps, context.ids), client, context);
  }
  // The frames of a stream that was opened in silence are numbered: its encoder writes all of them.
  const { decoder, events, rest } = opening;
  const translated = { kind: 'translated' as const, decoder, events, rest };
  return createTranslation(translated, answer.request, client, context, encoder);
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
