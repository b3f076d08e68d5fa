// Errors of this protocol, both ways: our own failures as its bodies and frames, and whatever a provider answers as a failure.
// https://docs.claude.com/en/api/errors
import type { ErrorKind, FailureKind, GatewayError, OverflowTokens, ProviderFailure } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { errorDetails, errorJson, errorMessage, failedGeneration, pageTitle } from '../shared/error-body.ts';
import { isOverflow, overflowTokens } from '../shared/context-overflow.ts';
import { count, list, text } from './wire-types.ts';

const TYPE = {
  invalid_request: 'invalid_request_error',
  model_not_found: 'invalid_request_error',
  context_overflow: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  forbidden_permission: 'permission_error',
  forbidden_model: 'permission_error',
  forbidden_host: 'permission_error',
  not_found: 'not_found_error',
  method_not_allowed: 'invalid_request_error',
  too_large: 'request_too_large',
  rate_limited: 'rate_limit_error',
  internal: 'api_error',
  upstream: 'api_error',
  unavailable: 'overloaded_error',
} as const satisfies Record<ErrorKind, string>;

/** What a client reads when a provider fails in mid-stream: by kind, as the status would be before the stream. */
const FAILURE_TYPE = {
  invalid_request: 'invalid_request_error',
  context_overflow: 'invalid_request_error',
  provider_key: 'api_error',
  billing: 'api_error',
  not_found: 'invalid_request_error',
  too_large: 'invalid_request_error',
  rate_limited: 'overloaded_error',
  overloaded: 'overloaded_error',
  exhausted: 'overloaded_error',
  timeout: 'api_error',
  failed: 'api_error',
} as const satisfies Record<FailureKind, string>;

/** Agents that know the second words lower their limit and ask again, and give up where less is left for it. */
const LEAST_TO_LOWER = 4000;

/** The words after which agents begin to compact their history. */
function overflowMessage(message: string, tokens: OverflowTokens = {}): string {
  const { sent, limit, output = 0 } = tokens;
  if (sent !== undefined && limit !== undefined) {
    if (output === 0 || limit - sent < LEAST_TO_LOWER) {
      return `prompt is too long: ${sent + output} tokens > ${limit} maximum`;
    }
    return `input length and \`max_tokens\` exceed context limit: ${sent} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`;
  }
  return message.includes('prompt is too long') ? message : `prompt is too long: ${message}`;
}

function errorType(error: GatewayError): string {
  return error.status === 404 ? 'not_found_error' : TYPE[error.kind];
}

export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { details, failedGeneration, tokens } = error.options;
  const message = error.kind === 'context_overflow' ? overflowMessage(error.message, tokens) : error.message;
  const body: JsonObject = { type: errorType(error), message };
  if (details !== undefined) body.details = details as JsonValue;
  if (failedGeneration !== undefined) body.failed_generation = failedGeneration;
  return { type: 'error', error: body, request_id: requestId };
}

function errorFrame(body: JsonObject): string {
  return `event: error\ndata: ${JSON.stringify(body)}\n\n`;
}

export function encodeStreamError(error: GatewayError, requestId: string): string {
  return errorFrame(encodeError(error, requestId));
}

/** The frame of a provider's failure where nobody made a GatewayError of it. */
export function encodeStreamFailure(failure: ProviderFailure): string {
  const message =
    failure.kind === 'context_overflow' ? overflowMessage(failure.message, failure.tokens) : failure.message;
  return errorFrame({ type: 'error', error: { type: FAILURE_TYPE[failure.kind], message } });
}

const KIND_OF_STATUS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid_request',
  401: 'provider_key',
  402: 'billing',
  403: 'provider_key',
  404: 'not_found',
  408: 'timeout',
  413: 'too_large',
  422: 'invalid_request',
  429: 'rate_limited',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded',
};

/** By type, where no status says it: an error inside a stream or inside a 200. */
const KIND_OF_TYPE: ReadonlyMap<string, FailureKind> = new Map<string, FailureKind>(
  Object.entries({
    invalid_request_error: 'invalid_request',
    authentication_error: 'provider_key',
    permission_error: 'provider_key',
    billing_error: 'billing',
    not_found_error: 'not_found',
    request_too_large: 'too_large',
    rate_limit_error: 'rate_limited',
    timeout_error: 'timeout',
    overloaded_error: 'overloaded',
  }),
);

interface ErrorBody {
  message?: string;
  type?: string;
  code?: string;
  param?: string;
  details?: JsonValue;
  failedGeneration?: string;
  /** The object that held the message, for numbers beside it. */
  source: JsonObject;
}

function readErrorObject(value: JsonObject): ErrorBody {
  const body: ErrorBody = { source: value };
  body.message = text(value.message) ?? text(value.detail);
  // OpenRouter: "Provider returned error", and what it was in metadata.raw.
  const raw = isObject(value.metadata) ? text(value.metadata.raw) : undefined;
  if (raw !== undefined) body.message = body.message === undefined ? raw : `${body.message}: ${raw}`;
  body.type = text(value.type);
  body.code = text(value.code) ?? (typeof value.code === 'number' ? String(value.code) : undefined);
  body.param = text(value.param);
  const details = errorDetails(value.details);
  if (details !== undefined) body.details = details;
  body.failedGeneration = failedGeneration(value);
  if (body.message === undefined && Array.isArray(value.detail)) body.message = errorJson(value.detail);
  return body;
}

/** The variants that compatible servers write: an object, a string, an array around it, or its members at top level. */
function readErrorBody(value: unknown): ErrorBody {
  if (Array.isArray(value)) return readErrorBody(value[0]);
  if (typeof value === 'string') return { message: value, source: {} };
  if (!isObject(value)) return { source: {} };
  const { error } = value;
  if (typeof error === 'string') {
    const body = readErrorObject(value);
    return { ...body, message: body.message ?? error, type: undefined };
  }
  if (isObject(error)) return readErrorObject(error);
  const [first] = list(value.errors);
  return readErrorObject(value.message === undefined && isObject(first) ? first : value);
}

function kindOf(status: number | undefined, body: ErrorBody): FailureKind {
  const { type = '', code = '', message = '' } = body;
  if (code === 'insufficient_quota' || type === 'insufficient_quota' || type === 'billing_error')
    return 'billing';
  if (/credit balance|insufficient (?:credits|balance|quota)/i.test(message)) return 'billing';
  if (code === 'model_not_found') return 'not_found';
  if (type === 'overloaded_error') return 'overloaded';
  if (status !== undefined && status >= 300) return KIND_OF_STATUS[status] ?? 'failed';
  const numeric = count(body.source.code);
  if (numeric !== undefined) return KIND_OF_STATUS[numeric] ?? 'failed';
  return KIND_OF_TYPE.get(type) ?? 'failed';
}

/** Reads an error that is already parsed; `status` undefined where it came inside a stream or a 200. */
export function readFailure(value: unknown, status?: number): ProviderFailure {
  const body = readErrorBody(value);
  const message = errorMessage((body.message ?? '').trim());
  const failure: ProviderFailure = {
    kind: kindOf(status, body),
    message:
      message === ''
        ? `the provider answered with an error${status === undefined ? '' : ` (HTTP ${status})`}`
        : message,
  };
  if (status !== undefined) failure.status = status;
  if (body.param !== undefined) failure.param = body.param;
  if (body.code !== undefined) failure.code = body.code;
  if (body.details !== undefined) failure.details = body.details;
  if (body.failedGeneration !== undefined) failure.failedGeneration = body.failedGeneration;
  if (!MEANS_OTHER.has(failure.kind) && isOverflow({ ...body, message }, told(body, status))) {
    failure.kind = 'context_overflow';
    const tokens = overflowTokens(message, errorJson(body.source));
    if (tokens !== undefined) failure.tokens = tokens;
  }
  return failure;
}

/** Their texts may speak of tokens, too. */
const MEANS_OTHER: ReadonlySet<FailureKind> = new Set<FailureKind>(['rate_limited', 'overloaded', 'billing']);

/** The status, or the one that a body with 200 speaks of. */
function told({ source }: ErrorBody, status: number | undefined): number | undefined {
  return status === undefined || status === 200 ? count(source.code) : status;
}

function plainText(body: string): string {
  const trimmed = body.trim();
  return trimmed.startsWith('<') ? pageTitle(trimmed) : trimmed;
}

/** Milliseconds that the provider asks to wait. A date counts from the answer's own `date`: no clock of ours is asked. */
function readRetryAfter(headers: ReadonlyMap<string, string>): number | undefined {
  const exact = headers.get('retry-after-ms');
  if (exact !== undefined && exact.trim() !== '' && Number(exact) >= 0) return Math.ceil(Number(exact));
  const value = headers.get('retry-after')?.trim() ?? '';
  if (value === '') return undefined;
  if (Number(value) >= 0) return Math.ceil(Number(value) * 1000);
  const wait = Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return wait >= 0 ? wait : undefined;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return plainText(body);
  }
}

/** The error of an `event: error`, whose data may be anything, or nothing. */
export function failureOfEvent(data: string): ProviderFailure {
  return readFailure(parsed(data));
}

export function decodeError(
  status: number,
  headers: ReadonlyMap<string, string>,
  body: string,
): ProviderFailure {
  const failure = readFailure(parsed(body), status);
  const retryAfterMs = readRetryAfter(headers);
  // No number that a header could say is no wait.
  if (Number.isSafeInteger(retryAfterMs)) failure.retryAfterMs = retryAfterMs;
  return failure;
}
