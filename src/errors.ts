// Every failure that a client can see, as closed kinds. Each protocol writes them in its own shape from a table over ErrorKind.
import type { Period } from './calendar.ts';
import type { LimitState } from './limit-state.ts';

/** A failure of the gateway's own. Its kind fixes its status (see STATUS; docs/http.md lists them for clients). */
export type ErrorKind =
  | 'invalid_request'
  | 'model_not_found'
  | 'context_overflow'
  | 'unauthenticated'
  | 'forbidden_permission'
  | 'forbidden_model'
  | 'forbidden_host'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_large'
  | 'rate_limited'
  /** A brake stopped the conversation: no retry helps before a person lets it go on. */
  | 'conversation_stopped'
  | 'internal'
  | 'upstream'
  /** The provider refuses its own key, or the quota of that key is used up: no retry helps before someone mends it. */
  | 'upstream_account'
  | 'unavailable';

export const STATUS = {
  invalid_request: 400,
  model_not_found: 400,
  context_overflow: 400,
  unauthenticated: 401,
  forbidden_permission: 403,
  forbidden_model: 403,
  forbidden_host: 403,
  not_found: 404,
  method_not_allowed: 405,
  too_large: 413,
  rate_limited: 429,
  conversation_stopped: 429,
  internal: 500,
  upstream: 502,
  upstream_account: 502,
  unavailable: 503,
} as const;

/** Errors that no retry cures. Without `x-should-retry: false` some clients repeat even these, Claude Code for three minutes. */
export const FINAL: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'unauthenticated',
  'forbidden_permission',
  'forbidden_model',
  'forbidden_host',
  'conversation_stopped',
  'upstream_account',
]);

export interface ErrorOptions {
  /** The status, if it is not the kind's own (`GET /v1/models/{id}` answers 404 with `model_not_found`). */
  status?: number;
  /** The request's field at fault, as a wire path of the client's protocol: `messages[0].role`. */
  param?: string;
  /** The provider's own code; without it, the protocol's table gives one. */
  code?: string;
  /** Further members of the provider's error (`details.error_code`). */
  details?: unknown;
  /** The model's text that the provider could not parse as a tool call (Groq). */
  failedGeneration?: string;
  /** With `context_overflow`, for the wording that agents of each protocol look for. */
  tokens?: OverflowTokens;
  /** Whole seconds until a retry can help: becomes `Retry-After`. */
  retryAfter?: number;
  /** `false`: the SDKs' own retries cannot help (`x-should-retry: false`). */
  shouldRetry?: false;
  /** The methods of a path, for 405. */
  allow?: string;
  /** Targets contacted before this failure: `x-gateway-attempts`. */
  attempts?: number;
  /** With `rate_limited`: the requests of the hour, for the limit headers. */
  admission?: Admission;
  /** With `rate_limited`: when the limit that is used up begins anew, in milliseconds since the epoch. */
  resetsAt?: number;
  /** The period of that limit. */
  per?: Period;
  /** With `rate_limited`: how all limits of the account stand. */
  limits?: readonly LimitState[];
  /** With `rate_limited`: no limit is used up; requests under way hold what is left. */
  held?: true;
  cause?: unknown;
}

/** Whose request was refused, and what is known of it. null: unknown, or the client does not say. */
export interface Asked {
  accountId: number;
  keyId: string | null;
  /** The client's protocol. */
  endpoint: string | undefined;
  model: string | null;
  conversation: string | null;
  label: string | null;
  client: string | null;
}

/** An error with a message that may be shown to the client; it never holds a secret or an address. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly kind: ErrorKind;
  /** What only a person can end is no 429 to programs that ask again after each. */
  status: number;
  readonly options: ErrorOptions;
  /** Whose request failed, if its key was accepted. */
  account: string | undefined = undefined;
  /** The same, with what was read of it. */
  asked: Asked | undefined = undefined;
  /** Its client shows limits on its own screen (`Key.native`). */
  native = false;

  constructor(kind: ErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.status = options.status ?? STATUS[kind];
    this.options = options;
  }
}

/** What went wrong at a provider, read from its status, its body or an error inside its stream. */
export type FailureKind =
  | 'invalid_request'
  | 'context_overflow'
  | 'provider_key'
  | 'billing'
  | 'not_found'
  | 'too_large'
  | 'rate_limited'
  | 'overloaded'
  | 'timeout'
  /** The gateway itself has no descriptor left for a connection: says nothing about the provider. */
  | 'exhausted'
  /** A tape has no such request. */
  | 'off_tape'
  | 'failed';

/** The numbers of a context overflow: tokens sent, and tokens allowed. */
export interface OverflowTokens {
  sent?: number;
  /** `sent` is no more than a lower bound: the provider stopped counting. */
  atLeast?: boolean;
  limit?: number;
  /** Tokens of output that were asked for, if the input would fit without them. */
  output?: number;
}

/** Tokens. If less room is left for the output, the history should be compacted: the answer would be cut. */
export const LEAST_OUTPUT = 1024;

/** Seconds: longer than a person would wait; the SDKs sleep for any time silently. */
export const LONG_WAIT_S = 60;

/** A provider's failure. `message` is the provider's: it is redacted and cut before it is shown. */
export interface ProviderFailure {
  kind: FailureKind;
  message: string;
  /** The provider's HTTP status; absent for failures of the connection. */
  status?: number;
  param?: string;
  code?: string;
  details?: unknown;
  failedGeneration?: string;
  /** Milliseconds that the provider asks to wait. */
  retryAfterMs?: number;
  /** With `context_overflow`, if the provider reports them. */
  tokens?: OverflowTokens;
  /** What broke, for the log; `signature`: the request's own thinking was refused. `refused`, `reset`, `dns`, `tls`, `connect_timeout`, `first_byte_timeout`, `idle_timeout`, `whole_timeout`, `truncated`, `empty`, `malformed`, … */
  reason?: string;
}

/** A provider's failure as an exception: decoders of whole replies and the client of providers throw it. */
export class FailureError extends Error {
  override readonly name = 'FailureError';
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** An account's current hour after a request was admitted or refused. */
export interface Admission {
  /** Requests an hour; Infinity: no limit. */
  limit: number;
  used: number;
  /** Milliseconds since the epoch: the next full hour (UTC). */
  resetsAt: number;
}

/** Of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
