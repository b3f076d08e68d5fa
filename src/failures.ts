// What each kind of a provider's failure means, one row a kind; and the failures that the gateway finds in an answer.
import { STATUS, type ErrorKind, type FailureKind, type ProviderFailure } from './errors.ts';

interface Meaning {
  /** Another target may be able to answer. */
  next: boolean;
  /** `cools` after a rate limit or overload, `counts` for the breaker, `neither`: it says nothing about the target. */
  health: 'cools' | 'counts' | 'neither';
  /** The error that the client gets. */
  error: ErrorKind;
}

export const FAILURES = {
  invalid_request: { next: false, health: 'neither', error: 'invalid_request' },
  too_large: { next: false, health: 'neither', error: 'invalid_request' },
  context_overflow: { next: false, health: 'neither', error: 'context_overflow' },
  not_found: { next: true, health: 'neither', error: 'model_not_found' },
  provider_key: { next: true, health: 'counts', error: 'upstream_account' },
  billing: { next: true, health: 'counts', error: 'upstream_account' },
  rate_limited: { next: true, health: 'cools', error: 'unavailable' },
  overloaded: { next: true, health: 'cools', error: 'unavailable' },
  exhausted: { next: true, health: 'neither', error: 'unavailable' },
  off_tape: { next: true, health: 'neither', error: 'invalid_request' },
  timeout: { next: true, health: 'counts', error: 'upstream' },
  failed: { next: true, health: 'counts', error: 'upstream' },
} as const satisfies Record<FailureKind, Meaning>;

/** Whose fault it is: the request's own (400), the provider's (502), or a provider's that is busy (503). */
export function statusOf(kind: FailureKind): 400 | 502 | 503 {
  return STATUS[FAILURES[kind].error];
}

type Fault = 'empty' | 'malformed' | 'truncated' | 'too_large';

/** A failure that no provider reported: its answer is at fault. */
export function faulty(reason: Fault, message: string): ProviderFailure {
  return { kind: 'failed', reason, message };
}

export const BROKEN_OFF = faulty('truncated', "the provider's stream ended before the answer was complete");
export const NO_ANSWER = faulty('empty', "the provider's stream ended before any content");
export const EMPTY_ANSWER = faulty('empty', 'the provider sent an empty answer');
export const NOT_JSON = faulty('malformed', 'the provider sent no valid JSON');
export const EVENT_NOT_JSON = faulty('malformed', "the provider's stream holds an event that is not JSON");
export const NAMELESS_CALL = faulty('malformed', 'the provider called a tool without a name');
