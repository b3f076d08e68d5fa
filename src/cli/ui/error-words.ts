// What the error of a recorded request means to a person. The database and JSON have its kind.
import type { ErrorKind } from '../../errors.ts';

const WORDS = {
  invalid_request: 'the request is not valid',
  model_not_found: 'there is no such model',
  context_overflow: 'the input is too long for the model',
  unauthenticated: 'the key is not valid',
  forbidden_permission: 'the key lacks the permission',
  forbidden_model: 'the key may not use the model',
  forbidden_host: 'the Host header names another machine',
  not_found: 'there is no such path',
  method_not_allowed: 'the path has another method',
  too_large: 'the request is too large',
  rate_limited: 'a limit is used up',
  conversation_stopped: 'a brake stopped the conversation',
  internal: 'a fault of the gateway',
  upstream: 'the provider failed',
  upstream_account: 'the provider refuses its key, or its quota is used up',
  unavailable: 'no provider was free',
  client_closed: 'the client left',
} as const satisfies Record<ErrorKind | 'client_closed', string>;

/** A newer gateway may have recorded a kind that this one does not know. */
export function errorWords(kind: string): string {
  return Object.hasOwn(WORDS, kind) ? WORDS[kind as keyof typeof WORDS] : kind.replaceAll('_', ' ');
}
