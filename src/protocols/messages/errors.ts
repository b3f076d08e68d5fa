// Errors of this protocol in both directions: a GatewayError becomes a body or an event for the client; a provider's error, in an
// answer or in its stream, becomes a ProviderFailure.
// https://docs.claude.com/en/api/errors
import type { ErrorKind, GatewayError, OverflowTokens, ProviderFailure } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import type { ErrorHead } from '../interface/answer.ts';
import { gatewayErrorOf } from '../shared/client.ts';
import { createErrorReader, createStrayReader } from '../shared/failures/provider-error.ts';
import { endsOnScreen, rejectedHead } from './screen/limit-headers.ts';

const TYPE = {
  invalid_request: 'invalid_request_error',
  model_not_found: 'invalid_request_error',
  context_overflow: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  forbidden_permission: 'permission_error',
  forbidden_model: 'permission_error',
  forbidden_host: 'permission_error',
  not_found: 'not_found_error',
  method_not_allowed: 'invalid_request_error',
  too_large: 'request_too_large',
  rate_limited: 'rate_limit_error',
  conversation_stopped: 'rate_limit_error',
  internal: 'api_error',
  upstream: 'api_error',
  upstream_account: 'api_error',
  unavailable: 'overloaded_error',
} as const satisfies Record<ErrorKind, string>;

/** Agents that know the second message lower `max_tokens` and try again; they give up if fewer tokens than this are left for it. */
const LEAST_TO_LOWER = 4000;

/** What cloud vendors say of a request that is too large: agents look for this sentence, alone. */
const TOO_LONG = 'Input is too long.';

/** The message that makes agents compact their history. */
function overflowMessage(message: string, tokens: OverflowTokens = {}): string {
  if (message.trim() === TOO_LONG) return TOO_LONG;
  const { sent, limit, output = 0 } = tokens;
  if (sent !== undefined && limit !== undefined) {
    if (output === 0 || limit - sent < LEAST_TO_LOWER) {
      return `prompt is too long: ${sent + output} tokens > ${limit} maximum`;
    }
    return `input length and \`max_tokens\` exceed context limit: ${sent} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`;
  }
  return message.includes('prompt is too long') ? message : `prompt is too long: ${message}`;
}

function errorType(error: GatewayError): string {
  if (endsOnScreen(error)) return 'billing_error';
  if (error.status === 400 && TYPE[error.kind] === 'rate_limit_error') return TYPE.invalid_request;
  return error.status === 404 ? 'not_found_error' : TYPE[error.kind];
}

export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { details, failedGeneration, tokens } = error.options;
  const message = error.kind === 'context_overflow' ? overflowMessage(error.message, tokens) : error.message;
  const body: JsonObject = { type: errorType(error), message };
  if (details !== undefined) body.details = details as JsonValue;
  if (failedGeneration !== undefined) body.failed_generation = failedGeneration;
  return { type: 'error', error: body, request_id: requestId };
}

/** Claude Code with the mark takes another 429 for an overload of the server; without it, it shows the message of each. */
export function errorHead(error: GatewayError): ErrorHead {
  return endsOnScreen(error) ? rejectedHead(error) : {};
}

function errorFrame(body: JsonObject): string {
  return `event: error\ndata: ${JSON.stringify(body)}\n\n`;
}

export function encodeStreamError(error: GatewayError, requestId: string): string {
  return errorFrame(encodeError(error, requestId));
}

/** The frame for a provider's failure that has no GatewayError. */
export function encodeStreamFailure(failure: ProviderFailure): string {
  const { type, error } = encodeError(gatewayErrorOf(failure), '');
  return errorFrame({ type, error });
}

export const { decodeError, failureOf, failureOfEvent } = createErrorReader({
  withoutMessage: (status) =>
    `the provider answered with an error${status === undefined ? '' : ` (HTTP ${status})`}`,
  page(status, title) {
    return title || this.withoutMessage(status);
  },
  showsBody: false,
  numericCodes: true,
});

/** Whether a parsed event reports an error. An event whose name is unknown here counts only by its type or its member `error`. */
export function isError(value: JsonObject, event: string): boolean {
  const { type, error, detail, message, success } = value;
  if (type === 'error' || (error !== undefined && error !== null)) return true;
  return event === '' && (typeof message === 'string' || Boolean(detail) || success === false);
}

/** The error that a frame holds beside its data. */
export const failureOfStray = createStrayReader(isError, failureOf);
