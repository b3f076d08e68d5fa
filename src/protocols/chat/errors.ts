// Errors of this protocol in both directions: a GatewayError becomes a body or a frame for the client; a provider's error, in an
// answer or in its stream, becomes a ProviderFailure.
// https://platform.openai.com/docs/guides/error-codes
import type { JsonObject } from '../../canonical/json.ts';
import type { ErrorKind, GatewayError, ProviderFailure } from '../../errors.ts';
import { gatewayErrorOf } from '../shared/client.ts';
import { createErrorReader } from '../shared/failures/provider-error.ts';
import { errorBody, openAiError, SHARED_ERRORS, type ErrorWords } from '../shared/openai/errors.ts';

const ERRORS = {
  ...SHARED_ERRORS,
  forbidden_model: { type: 'permission_error', code: 'model_not_allowed' },
  too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  conversation_stopped: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  internal: { type: 'api_error', code: null },
  upstream: { type: 'upstream_error', code: 'upstream_error' },
  upstream_account: { type: 'upstream_error', code: 'upstream_error' },
  unavailable: { type: 'overloaded_error', code: 'service_unavailable' },
} as const satisfies Record<ErrorKind, ErrorWords>;

// Agents match these codes, so that a provider's own word must not take their place.
const FIXED_CODE: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['model_not_found', 'context_overflow']);

/** Codes of what is a 400 to clients that ask again after each 429. */
const ENDED: Partial<Record<ErrorKind, string>> = {
  conversation_stopped: 'conversation_stopped',
  rate_limited: 'usage_limit_reached',
};

export function encodeError(error: GatewayError, _requestId: string): JsonObject {
  const { kind, status } = error;
  if (status === 400 && kind in ENDED)
    return errorBody(
      openAiError(error, { ...ERRORS.invalid_request, code: ENDED[kind] ?? null }, false),
      error,
    );
  return errorBody(openAiError(error, ERRORS[kind], !FIXED_CODE.has(kind)), error);
}

/** No `[DONE]` follows: a reader must not treat a broken answer as a complete one. */
export function encodeStreamError(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(encodeError(error, requestId))}\n\n`;
}

/** The frame for a provider's failure that has no GatewayError. */
export function encodeStreamFailure(failure: ProviderFailure): string {
  return encodeStreamError(gatewayErrorOf(failure), '');
}

export const { decodeError, failureOf, failureOfEvent } = createErrorReader();
