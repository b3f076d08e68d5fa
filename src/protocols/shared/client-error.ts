// Errors that clients of several protocols get in the same words: a refused request, and a failure of a provider.
import { GatewayError, type ErrorKind, type FailureKind, type ProviderFailure } from '../../errors.ts';
import { wellFormed, type JsonObject } from '../../canonical/json.ts';

/** The words after which agents of the chat and responses protocols begin to compact their history. */
export function overflowMessage(message: string, tokens: ProviderFailure['tokens']): string {
  const { sent, limit, output } = tokens ?? {};
  if (sent === undefined || limit === undefined) return message;
  const most = `This model's maximum context length is ${limit} tokens.`;
  if (output === undefined) return `${most} However, your messages resulted in ${sent} tokens.`;
  return `${most} However, you requested ${sent + output} tokens (${sent} in the messages, ${output} in the completion).`;
}

const KIND_TO_CLIENT = {
  invalid_request: 'invalid_request',
  context_overflow: 'context_overflow',
  provider_key: 'upstream',
  billing: 'upstream',
  not_found: 'model_not_found',
  too_large: 'invalid_request',
  rate_limited: 'unavailable',
  overloaded: 'unavailable',
  exhausted: 'unavailable',
  timeout: 'upstream',
  failed: 'upstream',
} as const satisfies Record<FailureKind, ErrorKind>;

/** The client's error for a provider's failure inside an answer. */
export function gatewayErrorOf({ kind, message, param, code, tokens }: ProviderFailure): GatewayError {
  return new GatewayError(KIND_TO_CLIENT[kind], message, { param, code, tokens });
}

/** A 400 that names the field in its message and as `param`. `path` undefined: no field of the client is wrong. */
export function refuse(path: string | undefined, problem: string, details?: Record<string, unknown>): never {
  if (path === undefined) throw new GatewayError('invalid_request', problem, { details });
  throw new GatewayError('invalid_request', `${path}: ${problem}`, { param: path, details });
}

/** Characters: a model's name is written into headers, the log and the database. */
const LONGEST_NAME = 256;

/** Why no model can have this name; undefined: it can. */
export function faultOfModelName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `must have at most ${LONGEST_NAME} characters`;
  return wellFormed(name) === name ? undefined : 'must not hold half of a surrogate pair';
}

export function readModelName({ model }: JsonObject): string {
  if (typeof model !== 'string' || model === '') refuse('model', 'must be a non-empty string');
  const fault = faultOfModelName(model);
  if (fault !== undefined) refuse('model', fault);
  return model;
}
