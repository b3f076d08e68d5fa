// Errors of this protocol in both directions: a GatewayError becomes a body or a frame for the client; a provider's error, in an
// answer or in its stream, becomes a ProviderFailure.
// https://platform.openai.com/docs/guides/error-codes
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import type { ErrorKind, GatewayError, ProviderFailure } from '../../errors.ts';
import { gatewayErrorOf, overflowMessage } from '../shared/client.ts';
import { createErrorReader } from '../shared/failures/provider-error.ts';

interface WireError {
  type: string;
  code: string | null;
}

const ERRORS = {
  invalid_request: { type: 'invalid_request_error', code: null },
  model_not_found: { type: 'invalid_request_error', code: 'model_not_found' },
  context_overflow: { type: 'invalid_request_error', code: 'context_length_exceeded' },
  unauthenticated: { type: 'authentication_error', code: 'invalid_api_key' },
  forbidden_permission: { type: 'permission_error', code: 'insufficient_permissions' },
  forbidden_model: { type: 'permission_error', code: 'model_not_allowed' },
  forbidden_host: { type: 'permission_error', code: 'insufficient_permissions' },
  not_found: { type: 'invalid_request_error', code: 'not_found' },
  method_not_allowed: { type: 'invalid_request_error', code: 'method_not_allowed' },
  too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  rate_limited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  internal: { type: 'api_error', code: null },
  upstream: { type: 'upstream_error', code: 'upstream_error' },
  upstream_account: { type: 'upstream_error', code: 'upstream_error' },
  unavailable: { type: 'overloaded_error', code: 'service_unavailable' },
} as const satisfies Record<ErrorKind, WireError>;

// Agents match these codes, so that a provider's own word must not take their place.
const FIXED_CODE: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['model_not_found', 'context_overflow']);

export function encodeError(error: GatewayError, _requestId: string): JsonObject {
  const { type, code } = ERRORS[error.kind];
  const { param, code: own, details, failedGeneration, tokens } = error.options;
  const wire: JsonObject = {
    message: error.kind === 'context_overflow' ? overflowMessage(error.message, tokens) : error.message,
    type,
    param: param ?? null,
    code: FIXED_CODE.has(error.kind) ? code : (own ?? code),
  };
  if (details) wire.details = details as JsonValue;
  if (failedGeneration !== undefined) wire.failed_generation = failedGeneration;
  return { error: wire };
}

/** No `[DONE]` follows: a reader must not treat a broken answer as a complete one. */
export function encodeStreamError(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(encodeError(error, requestId))}\n\n`;
}

/** The frame of a provider's failure for which nobody made a GatewayError. */
export function encodeStreamFailure(failure: ProviderFailure): string {
  return encodeStreamError(gatewayErrorOf(failure), '');
}

export const { decodeError, failureOf, failureOfEvent } = createErrorReader();
