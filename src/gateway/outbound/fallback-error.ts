// The one error that the client gets for the failures of all targets.
import {
  type ErrorOptions,
  type OverflowTokens,
  type ProviderFailure,
  GatewayError,
  LEAST_OUTPUT,
  LONG_WAIT_S,
} from '../../errors.ts';
import { FAILURES, statusOf } from '../../failures.ts';
import { redact } from '../../providers/redact.ts';
import type { Target } from '../../routing/catalog.ts';

export interface FailedAttempt {
  target: Target;
  failure: ProviderFailure;
}

export function mayTryNext(failure: ProviderFailure): boolean {
  return FAILURES[failure.kind].next;
}

export interface RequestFigures {
  /** The gateway's estimate of the input tokens. */
  estimate: () => number;
  /** Milliseconds that the target still cools down. */
  coolingMs: (target: Target) => number | undefined;
}

/** The one error that the client gets for all attempts of a request: 502 if any failed so, else 503, else 400. */
export function errorOf(attempts: readonly FailedAttempt[], figures: RequestFigures): GatewayError {
  const last = attempts.at(-1);
  if (last === undefined) return new GatewayError('upstream', 'no target could be reached', { attempts: 0 });
  if (!mayTryNext(last.failure)) return clientError(last, figures, attempts.length);
  const failed = attempts.filter(({ failure }) => statusOf(failure.kind) === 502);
  const busy = attempts.filter(({ failure }) => statusOf(failure.kind) === 503);
  const options: ErrorOptions = { attempts: attempts.length };
  if (failed.length > 0) {
    const isPermanent = attempts.every(({ failure }) => FAILURES[failure.kind].error === 'upstream_account');
    const kind = isPermanent ? 'upstream_account' : 'upstream';
    return new GatewayError(kind, messageOf(attempts), keepOne(failed, options));
  }
  if (busy.length > 0) {
    options.retryAfter = shortestWait(busy, figures);
    if (options.retryAfter > LONG_WAIT_S) options.shouldRetry = false;
    return new GatewayError('unavailable', messageOf(attempts), keepOne(busy, options));
  }
  return clientError(last, figures, attempts.length);
}

/** Adds the details of a single attempt; of several, they would be one target's details for all. */
function keepOne(attempts: readonly FailedAttempt[], options: ErrorOptions): ErrorOptions {
  const [only] = attempts;
  if (attempts.length !== 1 || only === undefined || options.attempts !== 1) return options;
  return { ...options, ...furtherOf(only) };
}

/** The provider's error beside its message. */
function furtherOf({ failure, target }: FailedAttempt): ErrorOptions {
  const { details, failedGeneration } = failure;
  const further: ErrorOptions = {};
  if (details !== undefined) further.details = redactAll(details, target);
  if (failedGeneration !== undefined) further.failedGeneration = redact(failedGeneration, target.provider);
  return further;
}

function clientError(
  { target, failure }: FailedAttempt,
  figures: RequestFigures,
  attempts: number,
): GatewayError {
  const options: ErrorOptions = { attempts, ...furtherOf({ target, failure }) };
  if (failure.param !== undefined) options.param = redact(failure.param, target.provider);
  const message = redact(failure.message, target.provider);
  const { error } = FAILURES[failure.kind];
  if (error === 'context_overflow') options.tokens = overflowTokens(target, failure, figures);
  if (error === 'invalid_request' && failure.code !== undefined) {
    options.code = redact(failure.code, target.provider);
  }
  return new GatewayError(error, message, options);
}

/**
 * If the provider reported no numbers, or only a lower bound: its model's window, and the gateway's estimate of what was
 * sent. A client that lowered its limit by a bound would come to know the true number one token a request.
 */
function overflowTokens(
  { traits }: Target,
  { tokens = {} }: ProviderFailure,
  figures: RequestFigures,
): OverflowTokens {
  const { sent, atLeast = false, limit = traits.contextWindow, output } = tokens;
  if (limit === undefined) return tokens;
  if (sent !== undefined && !atLeast) return { ...tokens, limit };
  const estimate = Math.max(sent ?? 0, figures.estimate());
  if (output === undefined || limit - estimate < LEAST_OUTPUT)
    return { sent: Math.max(estimate, limit + 1), limit };
  return { sent: Math.max(estimate, limit - output + 1), limit, output };
}

function messageOf(attempts: readonly FailedAttempt[]): string {
  const lines = attempts.map(
    ({ target, failure }) =>
      `${target.key}: ${redact(failure.message, target.provider)}${keyHint(failure, target)}`,
  );
  return attempts.length === 1 ? (lines[0] ?? '') : `no target could answer (${lines.join('; ')})`;
}

/** ` (its key is from OPENAI_API_KEY)` if the key was refused, since its owner must know which of several keys it is. */
export function keyHint({ kind }: ProviderFailure, { provider }: Pick<Target, 'provider'>): string {
  if (kind !== 'provider_key') return '';
  return provider.keyFrom === undefined ? ' (it has no key)' : ` (its key is from ${provider.keyFrom})`;
}

/** Whole seconds: the shortest of the targets' own waits, else of their cool-downs, else 1. */
function shortestWait(busy: readonly FailedAttempt[], figures: RequestFigures): number {
  const own = busy.flatMap(({ failure }) => failure.retryAfterMs ?? []);
  const waits = own.length > 0 ? own : busy.flatMap(({ target }) => figures.coolingMs(target) ?? []);
  if (waits.length === 0) return 1;
  return Math.max(1, Math.ceil(Math.min(...waits) / 1000));
}

function redactAll(details: unknown, target: Target): unknown {
  const clean = (text: string): string => redact(text, target.provider);
  return JSON.parse(JSON.stringify(details), (_, value: unknown) => {
    if (typeof value === 'string') return clean(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), inner as unknown]));
  });
}
