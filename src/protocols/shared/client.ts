// What clients of several protocols send and get in the same form: the name of a model, the key and the hourly limit in headers, and
// errors: of a refused request, and of a provider's failure.
import { GatewayError, type ProviderFailure, type Admission } from '../../errors.ts';
import { FAILURES } from '../../failures.ts';
import { wellFormed, type JsonObject } from '../../canonical/json.ts';
import type { ReplyIds } from '../interface/answer.ts';
import type { ForwardedHeaders, KeyHeader } from '../interface/outline.ts';

/** Undefined: the client has the provider's id. */
export function replyIdsOf(theirs: string, ours: string): ReplyIds | undefined {
  return theirs === ours ? undefined : { theirs, ours };
}

/** The client's error for a provider's failure inside an answer. */
export function gatewayErrorOf({ kind, message, param, code, tokens }: ProviderFailure): GatewayError {
  return new GatewayError(FAILURES[kind].error, message, { param, code, tokens });
}

/** A 400 that names the field in its message and as `param`. `path` undefined: no field of the client is wrong. */
export function refuse(path: string | undefined, problem: string, details?: Record<string, unknown>): never {
  if (path === undefined) throw new GatewayError('invalid_request', problem, { details });
  throw new GatewayError('invalid_request', `${path}: ${problem}`, { param: path, details });
}

/** Why a job at a provider is refused before every provider. */
export const ANSWERS_LATER =
  'must not be true: the gateway cannot fetch an answer that the provider gives later; leave it out, and stream';

/** Characters: a model's name is written into headers, the log and the database. */
const LONGEST_NAME = 256;

/** Why no model can have this name; undefined: it can. */
export function faultOfModelName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `must have at most ${LONGEST_NAME} characters`;
  return wellFormed(name) === name ? undefined : 'must not hold half of a surrogate pair';
}

export function readModelName({ model }: JsonObject): string {
  if (typeof model !== 'string' || model === '') refuse('model', 'must be a non-empty string');
  const fault = faultOfModelName(model);
  if (fault !== undefined) refuse('model', fault);
  return model;
}

// Every endpoint takes a key in both headers, each protocol's own first.
export const BEARER: KeyHeader = { name: 'authorization', bearer: true, shown: 'Authorization: Bearer KEY' };
export const API_KEY: KeyHeader = { name: 'x-api-key', bearer: false, shown: 'x-api-key: KEY' };

export const NOTHING_FORWARDED: ForwardedHeaders = { headers: [], query: '', longContext: false };

/** For a protocol none of whose headers is meant for a provider. */
export function noneForwarded(): ForwardedHeaders {
  return NOTHING_FORWARDED;
}

/** The standard header that sends a key to a provider, as a flat list: name, value. */
export function bearerHeaders(apiKey: string): string[] {
  return ['authorization', `Bearer ${apiKey}`];
}

/** OpenAI's durations: `45s`, `17m3s`, `1h0m0s`. Rounded up, so that a client that waits that long is admitted. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}

/** The account's hourly limit in the headers that clients of OpenAI's protocols read. */
export function requestLimitHeaders(admission: Admission, now: number): string[] {
  return [
    'x-ratelimit-limit-requests',
    String(admission.limit),
    'x-ratelimit-remaining-requests',
    String(Math.max(0, admission.limit - admission.used)),
    'x-ratelimit-reset-requests',
    formatDuration(admission.resetsAt - now),
  ];
}
