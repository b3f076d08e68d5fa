// What the error of a recorded request means to a person, and whose fault it was; and the cause of a cache miss. The database and JSON
// have their kinds.
import type { ErrorKind } from './errors.ts';

type Recorded = ErrorKind | 'client_closed';

/** `limit`: of the account, or a brake. */
type Blamed = 'client' | 'provider' | 'gateway' | 'limit';

const WORDS = {
  invalid_request: ['the request is not valid', 'client'],
  model_not_found: ['there is no such model', 'client'],
  context_overflow: ['the input is too long for the model', 'client'],
  unauthenticated: ['the key is not valid', 'client'],
  forbidden_permission: ['the key lacks the permission', 'client'],
  forbidden_model: ['the key may not use the model', 'client'],
  forbidden_host: ['the Host header names another machine', 'client'],
  not_found: ['there is no such path', 'client'],
  method_not_allowed: ['the path has another method', 'client'],
  too_large: ['the request is too large', 'client'],
  rate_limited: ['a limit is used up', 'limit'],
  conversation_stopped: ['a brake stopped the conversation', 'limit'],
  internal: ['a fault of the gateway', 'gateway'],
  upstream: ['the provider failed', 'provider'],
  upstream_account: ['the provider refuses its key, or its quota is used up', 'provider'],
  unavailable: ['no provider was free', 'provider'],
  client_closed: ['the client left', 'client'],
} as const satisfies Record<Recorded, readonly [words: string, blamed: Blamed]>;

/** Kinds of errors that a row can have. */
export const RECORDED_ERRORS = Object.keys(WORDS) as Recorded[];

const isKnown = (kind: string): kind is Recorded => Object.hasOwn(WORDS, kind);

/** A newer gateway may have recorded a kind that this one does not know. */
export function errorWords(kind: string): string {
  return isKnown(kind) ? WORDS[kind][0] : kind.replaceAll('_', ' ');
}

/** undefined: the kind is not known. `isRefused`: before a provider was asked. */
export function blamedFor(kind: string, isRefused: boolean): Blamed | undefined {
  if (kind === 'unavailable' && isRefused) return 'gateway';
  return isKnown(kind) ? WORDS[kind][1] : undefined;
}

/** What happened to the prompt, by the cause of a cache miss. */
const MISSES: Readonly<Record<string, string>> = {
  model: 'another model',
  parameters: 'parameters changed',
  tools: 'tools changed',
  system: 'system text changed',
  messages: 'messages rewritten',
  pause: 'a long pause',
  target: 'another target',
  key: 'another key',
  evicted: 'the provider forgot it',
};

export const missWords = (cause: string): string => MISSES[cause] ?? cause;
