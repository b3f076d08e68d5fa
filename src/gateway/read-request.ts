// The body of a request, read once: one scan of its bytes, one parse, validated; what the request needs is found on the way.
import { isAscii, isUtf8 } from 'node:buffer';
import { estimateBody } from '../canonical/estimate.ts';
import { isObject, type JsonObject } from '../canonical/json.ts';
import type { Needs } from '../canonical/needs.ts';
import type { Request } from '../canonical/request.ts';
import { GatewayError } from '../errors.ts';
import { scanMembers, type Members } from '../protocols/json-members.ts';
import type { Envelope, Protocol } from '../protocols/protocol.ts';

const MAX_DEPTH = 512;

export interface Inbound {
  readonly protocol: Protocol;
  readonly bytes: Buffer;
  readonly members: Members;
  readonly value: JsonObject;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: Needs;
  /** The canonical request: computed at the first target that crosses protocols, and once. */
  readonly decode: () => Request;
  /** Tokens of the input, roughly; computed once. */
  readonly estimate: () => number;
}

/** Throws GatewayError `invalid_request` for bytes that are not a JSON object of the protocol. */
export function readRequest(
  protocol: Protocol,
  bytes: Buffer,
  readEnvelope: (value: JsonObject) => Envelope = (value) => protocol.readEnvelope(value),
): Inbound {
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) throw new GatewayError('invalid_request', 'the body is not valid UTF-8');
  const text = bytes.toString(ascii ? 'latin1' : 'utf8');
  const members = scanMembers(bytes, MAX_DEPTH, ascii ? text : undefined);
  if (members.tooDeep) {
    throw new GatewayError('invalid_request', `the body is nested deeper than ${MAX_DEPTH} levels`);
  }
  const value = parse(text);
  const [twice] = members.duplicates;
  if (twice !== undefined) {
    throw new GatewayError('invalid_request', `the field ${JSON.stringify(twice)} is given twice`, {
      param: twice,
    });
  }
  const { model, stream, needs } = readEnvelope(value);
  let request: Request | undefined;
  let tokens: number | undefined;
  return {
    protocol,
    bytes,
    members,
    value,
    model,
    stream,
    needs,
    decode: () => (request ??= protocol.decodeRequest(value)),
    estimate: () => (tokens ??= estimateBody(value)),
  };
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
