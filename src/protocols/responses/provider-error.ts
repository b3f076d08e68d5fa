// What went wrong at a responses provider: as an error answer, as an `error` event, or as the `error` of a failed Response.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { FailureKind, ProviderFailure } from '../../errors.ts';
import { errorMessage } from '../shared/error-body.ts';
import { isOverflow } from '../shared/context-overflow.ts';

const KINDS: ReadonlyMap<string, FailureKind> = new Map(
  Object.entries<FailureKind>({
    rate_limit_exceeded: 'rate_limited',
    server_is_overloaded: 'overloaded',
  }),
);

export function failureOf(value: JsonValue, status?: number): ProviderFailure {
  const error = isObject(value) && isObject(value.error) ? value.error : isObject(value) ? value : {};
  const code = typeof error.code === 'string' ? error.code : '';
  const message = typeof error.message === 'string' ? error.message : 'The provider reported an error.';
  const overflow = isOverflow({ message, code }, status);
  const kind = KINDS.get(code) ?? (overflow ? 'context_overflow' : 'failed');
  return {
    kind,
    message: errorMessage(message),
    ...(status !== undefined && { status }),
    ...(code !== '' && { code }),
  };
}

export function failureOfEvent(data: string): ProviderFailure {
  try {
    return failureOf(JSON.parse(data) as JsonObject);
  } catch {
    return failureOf({ error: { message: data } });
  }
}

export function decodeError(
  status: number,
  _headers: ReadonlyMap<string, string>,
  body: string,
): ProviderFailure {
  return { ...failureOfEvent(body), status };
}
