// Errors that responses clients read, and those of responses providers.
import type { JsonObject } from '../../canonical/json.ts';
import type { GatewayError, ProviderFailure } from '../../errors.ts';

export function encodeError(error: GatewayError, _requestId: string): JsonObject {
  return { error: { type: 'invalid_request_error', code: null, message: error.message, param: null } };
}

export function encodeStreamError(_error: GatewayError, _requestId: string): string {
  throw new Error('not built yet');
}

export function decodeError(
  _status: number,
  _headers: ReadonlyMap<string, string>,
  _body: string,
): ProviderFailure {
  throw new Error('not built yet');
}
