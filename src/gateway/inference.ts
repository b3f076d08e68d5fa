// The line: a request comes in, is known, read, routed, admitted, forwarded, answered, recorded. Values move forward only.
import { askedBy, authenticate, permitted } from '../accounts/access.ts';
import { admit, type Admitted as Admission } from '../accounts/admission.ts';
import type { JsonObject } from '../canonical/json.ts';
import { clientNamed, identify, type Identity } from '../conversations/identity.ts';
import { GatewayError } from '../errors.ts';
import type { ClientProtocol } from '../protocols/interface/protocol.ts';
import { losesSignatures, protocolFor, type Target } from '../routing/catalog.ts';
import type { PassedOver, Resolution, RoutingQuery } from '../routing/resolve.ts';
import { askingKey } from './inbound/asking-key.ts';
import { type GatewayDeps, ClientGone, type Exchange, type HeaderList } from './exchange.ts';
import { estimateOf, type Expected, expectedOf, pricedTargets, RequestHold } from './hold.ts';
import { brakesOn } from './inbound/brakes/brakes.ts';
import { permissionAt, readRequest, recordedAt, type Arrival, type Inbound } from './inbound/read-request.ts';
import { route } from './inbound/route.ts';
import type { AskOptions } from './outbound/asking.ts';
import { buildFirst } from './outbound/build-request.ts';
import { askTargets, type ProviderAnswer } from './outbound/fallback.ts';
import { beginSpans } from './outbound/trace-context.ts';
import type { Key } from '../store/store.ts';
import { estimatedInput, forgetRequest, respond } from './reply/respond.ts';
import { keepAliveInSilence } from './reply/silence.ts';
import { recallThinking } from './thinking-memory.ts';
import { type Admitted, finishTrace, startTrace, type Outcome, type Trace } from './trace.ts';

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

/**
 * Throws GatewayError before anything is written, or after the stream was opened with keep-alives alone (`sink.opened`); ClientGone if
 * the client left.
 */
export async function infer(arrival: Arrival, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { client } = arrival.protocol;
  const { clock, store } = deps;
  const { requestId, headers, cancellation, memory } = exchange;
  const startedAt = clock.monotonic();
  const found = keyOf(arrival, exchange, deps);
  const key = found instanceof Promise ? await found : found;
  const { config } = deps.current;
  const release = deps.inFlightLimit.enter(config, exchange.arrivedInTime);
  let read: Inbound | undefined;
  let who: Identity | undefined;
  try {
    const inbound = (read = readRequest(arrival, await exchange.readBody(), config.limits.maxValues));
    const readAt = clock.monotonic();
    const forwarded = client.forwardedHeaders(headers, exchange.query);
    const { longContext } = forwarded;
    const identity = (of: Inbound): Identity => identityOf(of, headers, key, deps);
    const model = config.ollama === null ? undefined : deps.routing.meant(inbound.model);
    const asking = { key, model, longContext, identify: identity, memory };
    const routed = route(inbound, asking, cancellation, deps);
    const { query, resolution, references } = routed instanceof Promise ? await routed : routed;
    if (inbound.readyAnswer !== undefined) return sendReady(inbound.readyAnswer(clock.now()), exchange);
    const isAnyPrice = config.unknownPrice === 'allow';
    const targets = isAnyPrice ? resolution.targets : pricedTargets(resolution, key, config);
    const recalled = losesThinking(arrival.protocol, targets, query)
      ? await recallThinking(inbound, key.accountId, deps)
      : undefined;
    const { strict, limits, responses } = config;
    const { lessons } = deps.routing;
    const whose = (who = query.identity ?? identity(inbound));
    const conversation = whose.conversation ?? undefined;
    const unstored = !responses.store;
    const build = { forwarded, strict, recalled, references, unstored, conversation, lessons };
    const lone = targets === resolution.targets ? resolution.lone : targets.length === 1;
    const { first, rest, refused } = buildFirst(targets, inbound, build);
    const { target } = first;
    let expected: Expected | undefined;
    const estimate = () =>
      estimateOf((expected ??= expectedOf(inbound, target, key.accountId, deps.usual)), target);
    const braked =
      config.brakes === null
        ? undefined
        : await brakesOn(
            references?.routed ?? inbound,
            { identity: whose, accountId: key.accountId },
            config.brakes,
            deps,
          );
    const admission = await admit(store, key, config.tiers, deps, estimate, braked);
    if (isNearLimit(admission)) deps.limitNotices.look(key);
    const hold =
      admission.held && expected && new RequestHold(admission.held, { expected, key, braked }, deps);
    inbound.release();
    references?.release();
    const admitted: Admitted = {
      requestId,
      key,
      endpoint: recordedAt(inbound),
      modelAsked: query.model,
      streamed: inbound.stream,
      startedAt,
      passedOver: passedOver(resolution, refused),
      identity: whose,
      rule: resolution.rule,
      spans: deps.traces ? beginSpans(headers) : undefined,
      held: hold !== undefined,
    };
    const trace = startTrace(admitted, deps.observers);
    exchange.admitted = true;
    const ask = { inbound, build, limits, first, rest, lone, cancellation };
    // What a rule chose for one kind of work is no reason for other work of the conversation.
    const remembered = targets.length > 1 && resolution.rule === undefined ? query : undefined;
    await answer(ask, { admission, hold, exchange, readAt, remembered }, trace, deps);
  } catch (error) {
    if (error instanceof GatewayError) noteAsker(error, { arrival, headers, key, inbound: read, who }, deps);
    throw error;
  } finally {
    exchange.whenDelivered(release);
  }
}

/** Programs that ask again after each 429, whatever its headers say. */
const ASKS_AGAIN: ReadonlySet<string | null> = new Set(['opencode']);

/** In the form on which its client ends. */
function addressTo(error: GatewayError, key: Key, headers: Exchange['headers']): void {
  error.account = key.account;
  error.native = key.native;
  if (isAskedAgain(error, headers)) error.status = 400;
}

interface Asker {
  arrival: Arrival;
  headers: Exchange['headers'];
  key: Key;
  inbound: Inbound | undefined;
  who: Identity | undefined;
}

/** Who asked, as far as that was read when the error was thrown. */
function noteAsker(
  error: GatewayError,
  { arrival, headers, key, inbound, who }: Asker,
  { limitNotices }: GatewayDeps,
): void {
  addressTo(error, key, headers);
  const { label, ...asked } = askedBy(key, recordedAt(inbound ?? arrival));
  error.asked = {
    ...asked,
    model: inbound?.model ?? null,
    conversation: who?.conversation ?? null,
    label: who?.label ?? label,
    client: who?.client ?? null,
  };
  if (error.kind === 'rate_limited') limitNotices.look(key);
}

/** What only a person or the next window can end. */
function isAskedAgain({ kind, status, options }: GatewayError, headers: Exchange['headers']): boolean {
  if (status !== 429 || !ASKS_AGAIN.has(clientNamed(headers))) return false;
  return kind === 'conversation_stopped' || options.shouldRetry === false;
}

/** One branch where no client may ask without a key. */
function keyOf(arrival: Arrival, exchange: Exchange, deps: GatewayDeps): Key | Promise<Key> {
  if (exchange.key !== undefined) return permitted(exchange.key, permissionAt(arrival), deps.clock.now());
  if (deps.current.config.ollama !== null) return askingKey(arrival, exchange, deps);
  const { keyHeaders } = arrival.protocol.client;
  const asked = { headers: exchange.headers, endpoint: permissionAt(arrival), keyHeaders };
  return authenticate(asked, deps.store, deps.clock.now());
}

function sendReady(body: JsonObject, { sink }: Exchange): void {
  sink.send(200, JSON_TYPE, JSON.stringify(body));
}

interface Answering {
  admission: Admission;
  /** undefined: the account has no limits beyond requests an hour. */
  hold: RequestHold | undefined;
  exchange: Exchange;
  /** When the body was read, in monotonic milliseconds. */
  readAt: number;
  /** Later requests like this one go to the target that answers; undefined: there is one alone. */
  remembered: RoutingQuery | undefined;
}

/** Of an admitted request. However it ends, the observers read its trace. */
async function answer(
  ask: AskOptions,
  { admission, hold, exchange, readAt, remembered }: Answering,
  trace: Trace,
  deps: GatewayDeps,
): Promise<void> {
  const { inbound, first, build } = ask;
  const silence = keepAliveInSilence({ inbound, first, admission, exchange, readAt }, trace, deps);
  let given: ProviderAnswer | undefined;
  try {
    given = await askTargets(ask, trace, deps);
    const opened = silence.end();
    if (remembered !== undefined) deps.routing.remember(remembered, given.request.target);
    const { references } = build;
    const options = { inbound, opened, references, answer: given, admission, exchange, hold };
    const answered = respond(options, trace, deps);
    const pending = deps.current.config.explainMisses
      ? deps.cacheMisses.read(inbound, given.request, trace)
      : undefined;
    forgetRequest(options);
    trace.outcome = await answered;
    if (pending !== undefined) trace.cacheMiss = deps.cacheMisses.judge(pending, trace);
    exchange.answered = trace.outcome.error === null;
    trace.estimatedInput = estimatedInput(trace.outcome, given, inbound);
  } catch (error) {
    trace.outcome = outcomeOf(error, exchange.sink.opened);
    if (error instanceof GatewayError) trace.message = error.message;
    throw error;
  } finally {
    silence.end();
    given?.leave?.();
    given?.health.ended();
    // Here where nothing was sent, or nobody was there to get it.
    if (hold !== undefined) await hold.settle(trace.outcome, trace);
    finishTrace(trace, deps.clock, deps.observers);
  }
}

/** Requests count when they are admitted, tokens and money when they are settled. */
function isNearLimit({ used, limit }: Admission): boolean {
  return used >= 0.8 * limit;
}

/** The conversation of the request, and the agent within it. */
function identityOf(
  inbound: Inbound,
  headers: Exchange['headers'],
  { accountId, usageLabel: keyLabel }: Key,
  { beginnings, clock }: GatewayDeps,
): Identity {
  const { protocol, endpoint, value } = inbound;
  const { hints } = protocol.client;
  const isAlone = endpoint.does === 'relay' && endpoint.isAlone === true;
  const beginning = isAlone ? undefined : (): string => hints.beginning(inbound);
  return identify(
    { headers, body: hints.names(value), beginning, accountId, keyLabel },
    beginnings,
    clock.now(),
  );
}

/** In a tool loop, a provider of another protocol wants signatures back that the client's protocol has no field for. */
function losesThinking(
  { name, client }: ClientProtocol,
  targets: readonly Target[],
  query: RoutingQuery,
): boolean {
  const { holds } = client;
  const loses = targets.some(
    (target) => protocolFor(target, query.protocol, query.needs) !== name && losesSignatures(holds, target),
  );
  return loses && query.openToolTurn;
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
