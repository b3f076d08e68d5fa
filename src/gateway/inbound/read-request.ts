// Reads a request's body once: one scan of its bytes, one parse, validated; what the request needs is found on the way.
import { isAscii, isUtf8 } from 'node:buffer';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { Needs } from '../../canonical/traits.ts';
import type { GenerationRequest } from '../../canonical/request.ts';
import { GatewayError } from '../../errors.ts';
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { scanMembers, type Members } from '../../protocols/json/splice.ts';
import type { ReplyOptions, Envelope, Protocol } from '../../protocols/protocol.ts';
import { plural } from '../../plural.ts';

/** A request that was read. */
export class Inbound {
  readonly protocol: Protocol;
  readonly bytes: Buffer;
  readonly members: Members;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: Needs;
  /** The client itself asks for usage in its stream. */
  readonly usageAsked: boolean;
  /** The client wants its answer to be stored. */
  readonly storing: boolean;
  /** Where it goes in place of the protocol's own path: it is relayed or not served. */
  readonly relayedPath: string | undefined;
  #value: JsonObject | undefined;
  #request: GenerationRequest | undefined;
  #asked: ReplyOptions | undefined;
  #tokens: number | undefined;

  constructor(
    protocol: Protocol,
    { model, stream, needs }: Envelope,
    body: { bytes: Buffer; members: Members; value: JsonObject },
    relayedPath?: string,
  ) {
    this.protocol = protocol;
    this.model = model;
    this.stream = stream && relayedPath === undefined;
    this.relayedPath = relayedPath;
    this.needs = needs;
    this.bytes = body.bytes;
    this.members = body.members;
    this.#value = body.value;
    this.usageAsked = protocol.client.hints.asksForUsage(body.value);
    this.storing = relayedPath === undefined && (protocol.client.stored?.isWanted(body.value) ?? false);
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
    if (this.#request !== undefined) this.#asked ??= askedOf(this.#request);
    this.#value = undefined;
    this.#request = undefined;
  }
}

function askedOf(request: GenerationRequest): ReplyOptions {
  const { includeUsage, legacyFunctions, reasoning, responseFormat, asked } = request;
  return { includeUsage, legacyFunctions, reasoning, responseFormat, asked };
}

/** Throws GatewayError `invalid_request` for bytes that are not a JSON object of the protocol, `too_large` for too many values. */
export function readRequest(
  protocol: Protocol,
  bytes: Buffer,
  maxValues = Infinity,
  readEnvelope: (value: JsonObject) => Envelope = (value) => protocol.client.readEnvelope(value),
  relayedPath?: string,
): Inbound {
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
  return new Inbound(protocol, readEnvelope(value), { bytes, members, value }, relayedPath);
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
