// Reads a request's body once: one scan of its bytes judges it; what the request needs is found by the spans of its values.
import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '../../canonical/json.ts';
import type { Needs } from '../../canonical/traits.ts';
import type { EndpointName, GenerationRequest, Permission } from '../../canonical/request.ts';
import { GatewayError } from '../../errors.ts';
import { bodyIn, readJson, type JsonBody, type JsonNode } from '../../protocols/json/body.ts';
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
import type { ClientProtocol } from '../../protocols/interface/protocol.ts';
import { estimateText, outputLimit } from '../../protocols/shared/hints.ts';
import { plural } from '../../plural.ts';

/** An endpoint whose requests have a body. */
type BodyEndpoint = Generation | Relayed | TokenCount;

/** Where a request arrived. */
export interface Arrival {
  protocol: ClientProtocol;
  endpoint: BodyEndpoint;
  /** What stands in its path. */
  values: PathValues;
}

/** The permission that a key needs at it. */
export function permissionAt({ protocol, endpoint }: Arrival): Permission {
  return endpoint.permission ?? protocol.permission;
}

/** What rows of usage name. */
export function recordedAt({ protocol, endpoint }: Arrival): EndpointName {
  return (endpoint.does === 'relay' ? endpoint.recordedAs : undefined) ?? protocol.name;
}

/** At the protocol's own path. */
export function ownArrival(protocol: ClientProtocol): Arrival {
  return { protocol, endpoint: protocol.client.endpoints[0], values: {} };
}

/** A request that was read. */
export class Inbound {
  readonly protocol: ClientProtocol;
  readonly endpoint: BodyEndpoint;
  readonly values: PathValues;
  #bytes: Buffer;
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
  /** Nothing is asked of the model but that it is there. */
  readonly readyAnswer: Envelope['readyAnswer'];
  readonly #outputLimit: number | undefined;
  #body: JsonBody | undefined;
  #request: GenerationRequest | undefined;
  #asked: ReplyOptions | undefined;
  #tokens: number | undefined;

  constructor(
    { protocol, endpoint, values }: Arrival,
    { model, stream, needs, kept, outputLimit: limit, readyAnswer }: Envelope,
    body: JsonBody,
  ) {
    this.protocol = protocol;
    this.endpoint = endpoint;
    this.values = values;
    this.model = model;
    this.stream = stream;
    this.needs = needs;
    this.kept = kept;
    this.readyAnswer = readyAnswer;
    this.#outputLimit = limit;
    this.#bytes = body.bytes;
    this.members = body.members;
    this.#body = body;
    this.usageAsked = protocol.client.hints.asksForUsage(body.value);
    this.storing = endpoint.does === 'generate' && (protocol.client.stored?.isWanted(body.value) ?? false);
  }

  /** None after `forget`. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  get value(): JsonObject {
    return this.#read.value;
  }

  member(name: string): JsonNode | undefined {
    return this.#read.member(name);
  }

  /** The elements of a member; undefined: the member is not a list. */
  list(name: string): readonly JsonNode[] | undefined {
    return this.#read.list(name);
  }

  get types(): ReadonlySet<string> {
    return this.#read.types;
  }

  hasName(name: string): boolean {
    return this.#read.hasName(name);
  }

  get #read(): JsonBody {
    return (this.#body ??= bodyIn(this.bytes));
  }

  /** The canonical request; made once, for the first target of another protocol. */
  decode(): GenerationRequest {
    return (this.#request ??= this.protocol.client.decodeRequest(this.#read.whole(), this.#read));
  }

  /** Stays after `release`. */
  asked(): ReplyOptions {
    return (this.#asked ??= this.protocol.client.readAsked(this));
  }

  /** The estimated input tokens; counted once. */
  estimate(): number {
    return (this.#tokens ??= this.protocol.client.hints.estimate(this.value));
  }

  /** The most output tokens that the client wants. */
  outputLimit(): number | undefined {
    return this.#outputLimit ?? outputLimit(this.value);
  }

  /** Frees what was read of the body, which else stays in memory as long as the stream. If it is needed again, it is read again. */
  release(): void {
    if (this.#request !== undefined) this.#asked ??= askedIn(this.#request);
    this.#body?.release();
    this.#body = undefined;
    this.#request = undefined;
  }

  /** Frees the bytes, too: nothing reads the body again. An estimate that was not made is of their number from now on. */
  forget(): void {
    this.release();
    this.#tokens ??= estimateText(this.#bytes.length);
    this.#bytes = NO_BYTES;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** What stays of a canonical request when the body is released. */
function askedIn(request: GenerationRequest): ReplyOptions {
  const { includeUsage, legacyFunctions, readsReasoning, reasoning, responseFormat, asked } = request;
  return { includeUsage, legacyFunctions, readsReasoning, reasoning, responseFormat, asked };
}

/** Throws GatewayError `invalid_request` for bytes that are not a JSON object of the protocol, `too_large` for too many values. */
export function readRequest(arrival: Arrival, bytes: Buffer, maxValues = Infinity): Inbound {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'the body is not valid UTF-8');
  const body = readJson(bytes, { maxDepth: MAX_LEVELS, maxValues }) ?? refuseBody(bytes, maxValues);
  const { list, duplicates } = body.members;
  const [twice] = duplicates;
  if (twice !== undefined) {
    const isSame = list.filter(({ name }) => name === twice).length > 1;
    const why = isSame ? '' : ', since some servers ignore the case of its letters';
    throw new GatewayError('invalid_request', `the field ${JSON.stringify(twice)} is given twice${why}`, {
      param: twice,
    });
  }
  const { protocol, values } = arrival;
  const endpoint = servingEndpoint(arrival.endpoint, body);
  const envelope = endpoint.readEnvelope(body, values);
  if (envelope.stream && endpoint.does === 'relay' && !canStream(endpoint)) {
    const message = `stream: ${servedPath(endpoint)} answers whole; leave it out`;
    throw new GatewayError('invalid_request', message, { param: 'stream' });
  }
  return new Inbound({ protocol, endpoint, values }, envelope, body);
}

/** Mostly that at which it arrived. */
function servingEndpoint(endpoint: BodyEndpoint, body: JsonBody): BodyEndpoint {
  return (endpoint.does === 'generate' ? endpoint.elsewhere?.(body) : undefined) ?? endpoint;
}

function canStream(endpoint: Relayed): boolean {
  const { carrier } = endpoint;
  return carrier === undefined
    ? endpoint.createClassifier !== undefined
    : carrier.createStreamDecoder !== undefined;
}

/** Says why a body cannot be read. */
function refuseBody(bytes: Buffer, maxValues: number): never {
  const { tooDeep, values } = scanMembers(bytes, MAX_LEVELS);
  if (tooDeep) {
    throw new GatewayError('invalid_request', `the body is nested deeper than ${MAX_LEVELS} levels`);
  }
  if (values > maxValues) {
    const message = `the body holds more than ${plural(maxValues, 'JSON value')} (limits.max_values)`;
    throw new GatewayError('too_large', message);
  }
  const text = bytes.toString();
  try {
    JSON.parse(text);
  } catch (error) {
    const hint = text.trim() === '' ? 'it is empty' : (error as Error).message;
    throw new GatewayError('invalid_request', `the body is not valid JSON: ${hint.slice(0, 200)}`);
  }
  throw new GatewayError('invalid_request', 'the body must be a JSON object');
}
