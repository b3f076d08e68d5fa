// Errors of this protocol in both directions: a GatewayError becomes a body, an event or a failed Response for the client; a
// provider's error becomes a ProviderFailure. Codex acts on the codes: with a wrong one it repeats the request for half a minute, or
// sleeps for the rest of the hour (`errorHead` too).
// https://platform.openai.com/docs/guides/error-codes
import type { JsonObject } from '../../canonical/json.ts';
import type { ErrorKind, GatewayError } from '../../errors.ts';
import type { ErrorHead } from '../interface/answer.ts';
import { createErrorReader, createStrayReader } from '../shared/failures/provider-error.ts';
import {
  errorBody,
  openAiError,
  SHARED_ERRORS,
  type ErrorWords,
  type OpenAiError,
} from '../shared/openai/errors.ts';
import { codexHeaders, codexSentence } from './limit-headers.ts';
import { responseOf } from './reply/response.ts';

const ERRORS = {
  ...SHARED_ERRORS,
  forbidden_model: { type: 'permission_error', code: 'model_not_found' },
  too_large: { type: 'invalid_request_error', code: 'context_length_exceeded' },
  conversation_stopped: { type: 'invalid_request_error', code: 'conversation_stopped' },
  internal: { type: 'server_error', code: null },
  // Not the word for an overload, which clients tell their users: something broke.
  upstream: { type: 'server_error', code: 'server_error' },
  upstream_account: { type: 'insufficient_quota', code: 'insufficient_quota' },
  unavailable: { type: 'server_error', code: 'server_is_overloaded' },
} as const satisfies Record<ErrorKind, ErrorWords>;

/** Errors whose code a provider's own word may replace. */
const OPEN_CODE: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['invalid_request', 'not_found', 'internal']);

function wireError(error: GatewayError): OpenAiError {
  return openAiError(error, ERRORS[error.kind], OPEN_CODE.has(error.kind));
}

export function encodeError(error: GatewayError, _requestId: string): JsonObject {
  const { admission, held, resetsAt = admission?.resetsAt } = error.options;
  const wire = wireError(error);
  if (error.kind === 'rate_limited' && resetsAt !== undefined && held !== true) {
    // Codex shows the time and stops; after a `rate_limit_error` it sleeps until then without a word.
    wire.type = 'usage_limit_reached';
    wire.resets_at = Math.ceil(resetsAt / 1000);
  }
  return errorBody(wire, error);
}

/**
 * After a 413 Codex asks five times more, after a 502 thirty times whatever stands in it; a 429 for a quota that is used up it shows
 * at once. A 503 whose wait stands in seconds it asks again thirty times. After any other 429 it sleeps, and hides the sentence.
 */
export function errorHead({ kind, message, options: { limits } }: GatewayError): ErrorHead {
  if (kind === 'too_large' || kind === 'conversation_stopped') return { status: 400 };
  if (kind === 'upstream_account') return { status: 429 };
  if (limits !== undefined) return { headers: [...codexHeaders(limits), ...codexSentence(message)] };
  return kind === 'unavailable' ? { retryAfter: 'milliseconds' } : {};
}

/** The members of an `error` event beside its type and its number: flat, and once more inside, as readers of either form want. */
export function errorEvent(error: GatewayError): JsonObject {
  const { message, type, param, code } = wireError(error);
  return { code, message, param, error: { type, code, message, param } };
}

const FAILED_CODE: Partial<Record<ErrorKind, string>> = {
  invalid_request: 'invalid_prompt',
  model_not_found: 'invalid_prompt',
  context_overflow: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
  conversation_stopped: 'invalid_prompt',
  upstream_account: 'insufficient_quota',
};

/** `error` of a failed Response: clients ask again after a `server_error`. */
export function responseError(error: GatewayError): JsonObject {
  return { code: FAILED_CODE[error.kind] ?? 'server_error', message: wireError(error).message };
}

/** A stream that fails before anything of its Response was written. */
export function encodeStreamError(error: GatewayError, requestId: string, now: number): string {
  const head = { id: `resp_${requestId}`, created: Math.floor(now / 1000), model: '' };
  const created = responseOf(head, { status: 'in_progress', output: [] });
  const failed = responseOf(head, { status: 'failed', output: [], error: responseError(error) });
  return (
    event('response.created', { sequence_number: 0, response: created }) +
    event('response.in_progress', { sequence_number: 1, response: created }) +
    event('error', { sequence_number: 2, ...errorEvent(error) }) +
    event('response.failed', { sequence_number: 3, response: failed }) +
    'data: [DONE]\n\n'
  );
}

function event(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** `failureOf`: of a parsed value that is known to be an error. */
export const { decodeError, failureOf, failureOfEvent } = createErrorReader();

/** Whether the data of an event is an error, in this protocol's form or in another server's own; `event`: the event's name. */
export function isError(value: JsonObject, event: string): boolean {
  const { type, error, detail, message, success } = value;
  if (typeof type === 'string' && type.startsWith('response.')) return false;
  if (type === 'error' || event === 'error') return true;
  if (error !== undefined && error !== null) return true;
  return event === '' && (typeof message === 'string' || Boolean(detail) || success === false);
}

/** The error that a frame holds beside its data. */
export const failureOfStray = createStrayReader(isError, failureOf);
