// Errors as Ollama writes them: one text, as a body or as a line of the stream.
// https://docs.ollama.com/api/errors
import type { JsonObject } from '../../canonical/json.ts';
import type { GatewayError } from '../../errors.ts';
import type { ErrorHead } from '../interface/answer.ts';

export function encodeError({ message }: GatewayError): JsonObject {
  return { error: message };
}

/** Its clients know the line: the stream ends in order behind it. */
export function encodeStreamError(error: GatewayError): string {
  return `${JSON.stringify(encodeError(error))}\n`;
}

/** Clients offer to pull a model that they get this status for. */
export function errorHead({ kind }: GatewayError): ErrorHead {
  return kind === 'model_not_found' ? { status: 404 } : {};
}
