// Reads a request's body once: one scan of its bytes, one parse, validated; what the request needs is found on the way. And what
// routing is asked about it, with the targets that it answers with.
import { isAscii, isUtf8 } from 'node:buffer';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Needs } from '../../canonical/traits.ts';
import type { GenerationRequest } from '../../canonical/request.ts';
import { GatewayError } from '../../errors.ts';
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { scanMembers, type Members } from '../../protocols/json/splice.ts';
import type { ReplyOptions } from '../../protocols/interface/answer.ts';
import type { Envelope } from '../../protocols/interface/bodies.ts';
import {
  servedPath,
  type Generation,
  type PathValues,
  type Relayed,
  type TokenCount,
} from '../../protocols/interface/endpoint.ts';
import type { Protocol } from '../../protocols/interface/protocol.ts';
import { plural } from '../../plural.ts';
import type { Key } from '../../store/store.ts';
import type { RoutingQuery, Resolution } from '../../routing/resolve.ts';
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { GatewayDeps } from '../exchange.ts';
import { protocolFor } from '../../routing/catalog.ts';

/** An endpoint whose requests have a body. */
type BodyEndpoint = Generation | Relayed | TokenCount;

/** Where a request arrived. */
export interface Arrival {
  protocol: Protocol;
  endpoint: BodyEndpoint;
  /** What stands in its path. */
  values: PathValues;
}

/** At the protocol's own path. */
export function ownArrival(protocol: Protocol): Arrival {
  return { protocol, endpoint: protocol.client.endpoints[0], values: {} };
}

/** A request that was read. */
export class Inbound {
  readonly protocol: Protocol;
  readonly endpoint: BodyEndpoint;
  readonly values: PathValues;
  readonly bytes: Buffer;
  readonly members: Members;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: Needs;
  /** The path of a member that names what a provider keeps for everyone with its key. */
  readonly kept: string | undefined;
  /** The client itself asks for usage in its stream. */
  readonly usageAsked: boolean;
  /** The client wants its answer to be stored. */
  readonly storing: boolean;
  #value: JsonObject | undefined;
  #request: GenerationRequest | undefined;
  #asked: ReplyOptions | undefined;
  #tokens: number | undefined;

  constructor(
    { protocol, endpoint, values }: Arrival,
    { model, stream, needs, kept }: Envelope,
    body: { bytes: Buffer; members: Members; value: JsonObject },
  ) {
    this.protocol = protocol;
    this.endpoint = endpoint;
    this.values = values;
    this.model = model;
    this.stream = stream;
    this.needs = needs;
    this.kept = kept;
    this.bytes = body.bytes;
    this.members = body.members;
    this.#value = body.value;
    this.usageAsked = protocol.client.hints.asksForUsage(body.value);
    this.storing = endpoint.does === 'generate' && (protocol.client.stored?.isWanted(body.value) ?? false);
  }

  get value(): JsonObject {
    return (this.#value ??= JSON.parse(this.bytes.toString()) as JsonObject);
  }

  /** The canonical request; made once, for the first target of another protocol. */
  decode(): GenerationRequest {
    return (this.#request ??= this.protocol.client.decodeRequest(this.value, this.bytes));
  }

  /** Stays after `release`. */
  asked(): ReplyOptions {
    return (this.#asked ??= this.protocol.client.readAsked(this.value));
  }

  /** The estimated input tokens; counted once. */
  estimate(): number {
    return (this.#tokens ??= this.protocol.client.hints.estimate(this.value));
  }

  /** Frees the parsed body, which else stays in memory as long as the stream. If it is needed again, it is made again. */
  release(): void {
    if (this.#request !== undefined) this.#asked ??= new Asked(this.#request);
    this.#value = undefined;
    this.#request = undefined;
  }
}

/** What stays of a canonical request when the body is released. A class: docs/decisions/0014. */
class Asked implements ReplyOptions {
  readonly includeUsage: ReplyOptions['includeUsage'];
  readonly legacyFunctions: ReplyOptions['legacyFunctions'];
  readonly reasoning: ReplyOptions['reasoning'];
  readonly responseFormat: ReplyOptions['responseFormat'];
  readonly asked: ReplyOptions['asked'];

  constructor({ includeUsage, legacyFunctions, reasoning, responseFormat, asked }: GenerationRequest) {
    this.includeUsage = includeUsage;
    this.legacyFunctions = legacyFunctions;
    this.reasoning = reasoning;
    this.responseFormat = responseFormat;
    this.asked = asked;
  }
}

/** Throws GatewayError `invalid_request` for bytes that are not a JSON object of the protocol, `too_large` for too many values. */
export function readRequest(arrival: Arrival, bytes: Buffer, maxValues = Infinity): Inbound {
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) throw new GatewayError('invalid_request', 'the body is not valid UTF-8');
  const text = bytes.toString(ascii ? 'latin1' : 'utf8');
  const members = scanMembers(bytes, MAX_LEVELS, ascii ? text : undefined);
  if (members.tooDeep) {
    throw new GatewayError('invalid_request', `the body is nested deeper than ${MAX_LEVELS} levels`);
  }
  if (members.values > maxValues) {
    const message = `the body holds more than ${plural(maxValues, 'JSON value')} (limits.max_values)`;
    throw new GatewayError('too_large', message);
  }
  const value = parse(text);
  const [twice] = members.duplicates;
  if (twice !== undefined) {
    throw new GatewayError('invalid_request', `the field ${JSON.stringify(twice)} is given twice`, {
      param: twice,
    });
  }
  const { endpoint, values } = arrival;
  const envelope = endpoint.readEnvelope(value, values);
  if (envelope.stream && endpoint.does === 'relay') {
    const message = `stream: ${servedPath(endpoint)} answers whole; leave it out`;
    throw new GatewayError('invalid_request', message, { param: 'stream' });
  }
  return new Inbound(arrival, envelope, { bytes, members, value });
}

function parse(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const hint = text.trim() === '' ? 'it is empty' : (error as Error).message;
    throw new GatewayError('invalid_request', `the body is not valid JSON: ${hint.slice(0, 200)}`);
  }
  if (!isObject(value)) throw new GatewayError('invalid_request', 'the body must be a JSON object');
  return value;
}

/** `longContext`: the client's headers ask for the long context window. */
export function routingQuery(
  inbound: Inbound,
  key: Pick<Key, 'models' | 'accountId'>,
  longContext = false,
): InboundQuery {
  return new InboundQuery(inbound, key, longContext);
}

class InboundQuery implements RoutingQuery {
  readonly protocol: RoutingQuery['protocol'];
  readonly model: string;
  readonly needs: RoutingQuery['needs'];
  readonly allowed: RoutingQuery['allowed'];
  readonly accountId: number;
  readonly longContext: boolean;
  readonly #inbound: Inbound;
  #conversation: string | undefined;
  #openToolTurn: boolean | undefined;

  constructor(inbound: Inbound, key: Pick<Key, 'models' | 'accountId'>, longContext: boolean) {
    this.longContext = longContext;
    this.protocol = inbound.protocol.name;
    this.model = inbound.model;
    this.needs = inbound.needs;
    this.allowed = key.models;
    this.accountId = key.accountId;
    this.#inbound = inbound;
  }

  estimate(): number {
    return this.#inbound.estimate();
  }

  get openToolTurn(): boolean {
    const { protocol, value } = this.#inbound;
    return (this.#openToolTurn ??= protocol.client.hints.hasOpenToolTurn(value));
  }

  /** Hashed only where several targets make it matter. */
  get conversation(): string {
    const { protocol, value } = this.#inbound;
    return (this.#conversation ??= protocol.client.hints.conversation(value));
  }

  /** The same, if it was hashed. */
  get knownConversation(): string | undefined {
    return this.#conversation;
  }
}

/** A request that is relayed or not served has the targets that speak its protocol; throws GatewayError `not_found` if none does. */
export function relayedTo(resolution: Resolution, { protocol, model, endpoint }: Inbound): Resolution {
  if (endpoint.does !== 'relay') return resolution;
  const targets = resolution.targets.filter(
    (target) => protocolFor(target, protocol.name) === protocol.name && target.provider.source !== 'builtin',
  );
  if (targets.length > 0) return { ...resolution, targets, lone: targets.length === 1 };
  const shown = JSON.stringify(model.slice(0, 200));
  throw new GatewayError(
    'not_found',
    `${servedPath(endpoint)} is only relayed, and no provider of ${shown} speaks ${protocol.name}`,
  );
}

/**
 * The targets in the order to try; a promise if they must be waited for, since a promise for each request costs half a microsecond.
 * Throws or rejects with GatewayError as `routing.resolve` does; rejects with the cancellation's reason.
 */
export function resolveTargets(
  query: RoutingQuery,
  cancellation: Cancellation,
  deps: Pick<GatewayDeps, 'routing' | 'clock' | 'learn'>,
): Resolution | Promise<Resolution> {
  const learning = deps.learn(query.model);
  return learning === undefined
    ? resolveNow(query, cancellation, deps)
    : learning.then(() => resolveNow(query, cancellation, deps));
}

function resolveNow(
  query: RoutingQuery,
  cancellation: Cancellation,
  { routing, clock }: Pick<GatewayDeps, 'routing' | 'clock'>,
): Resolution | Promise<Resolution> {
  const resolution = routing.resolve(query);
  if (resolution.waitMs === undefined) return resolution;
  return pause(resolution.waitMs, cancellation, clock).then(() => routing.resolve(query));
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
