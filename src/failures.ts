// What each kind of a provider's failure means: for the next target, for the target's health, and for the client. One row a kind.
import { STATUS, type ErrorKind, type FailureKind } from './errors.ts';

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
  timeout: { next: true, health: 'counts', error: 'upstream' },
  failed: { next: true, health: 'counts', error: 'upstream' },
} as const satisfies Record<FailureKind, Meaning>;

/** Whose fault it is: the request's own (400), the provider's (502), or a provider's that is busy (503). */
export function statusOf(kind: FailureKind): 400 | 502 | 503 {
  return STATUS[FAILURES[kind].error];
}
