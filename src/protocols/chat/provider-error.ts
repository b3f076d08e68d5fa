// What went wrong at a chat provider, read from whatever body it sent: servers agree on neither shape nor words (PROTOCOL 5.1).
import { FailureError, type FailureKind, type ProviderFailure } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { errorDetails, errorJson, errorMessage, failedGeneration, pageTitle } from '../shared/error-body.ts';
import { isOverflow, overflowTokens } from '../shared/context-overflow.ts';
import type { Frame } from '../sse/splitter.ts';
import { strayObject } from '../sse/stray-json.ts';

export const NO_ANSWER: ProviderFailure = {
  kind: 'failed',
  reason: 'empty',
  message: 'The provider ended its stream without an answer.',
};
export const BROKEN_OFF: ProviderFailure = {
  kind: 'failed',
  reason: 'truncated',
  message: 'The provider broke off its stream.',
};

/** Characters of a body in which the numbers of a context overflow are looked for. */
const LOOKED_AT = 8000;

/** What a body says, whichever of the known shapes it has. */
interface Said {
  message: string;
  type: string;
  code: string;
  param?: string;
  details?: JsonValue;
  failedGeneration?: string;
}

function text(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

function joinDetail(detail: JsonValue[]): string {
  const lines: string[] = [];
  for (const item of detail) {
    if (typeof item === 'string') lines.push(item);
    else if (isObject(item)) lines.push([pathOf(item.loc), text(item.msg)].filter(Boolean).join(': '));
  }
  return lines.join('; ');
}

/** FastAPI names the field as a list: ["body", "messages", 0, "role"]. */
function pathOf(loc: JsonValue | undefined): string {
  if (!Array.isArray(loc)) return '';
  let path = '';
  for (const step of loc) {
    if (step === 'body' && path === '') continue;
    if (typeof step === 'number') path += `[${step}]`;
    else if (typeof step === 'string') path += path === '' ? step : `.${step}`;
  }
  return path;
}

function readError(error: JsonObject): Said {
  const said: Said = {
    message: text(error.message) || text(error.msg) || text(error.error),
    type: text(error.type) || text(error.status),
    code: text(error.code),
  };
  if (typeof error.param === 'string') said.param = error.param;
  const details = errorDetails(error.details);
  if (details) said.details = details;
  said.failedGeneration = failedGeneration(error);
  const metadata = error.metadata;
  // OpenRouter: "Provider returned error", and what it was in metadata.raw.
  if (isObject(metadata) && typeof metadata.raw === 'string' && metadata.raw !== '') {
    said.message = said.message ? `${said.message}: ${metadata.raw}` : metadata.raw;
  }
  return said;
}

/** Undefined: the value has none of the shapes of an error. */
function readBody(value: JsonValue | undefined): Said | undefined {
  const body = Array.isArray(value) ? value[0] : value; // Gemini puts an array around it.
  if (!isObject(body)) return undefined;
  const { error, errors, detail } = body;
  if (isObject(error)) return readError(error);
  if (typeof error === 'string' && error !== '') {
    return { ...readError(body), message: text(body.message) || error };
  }
  if (typeof detail === 'string') return { message: detail, type: text(body.type), code: text(body.code) };
  if (Array.isArray(detail)) {
    const first = detail[0];
    const path = isObject(first) ? pathOf(first.loc) : '';
    return { message: joinDetail(detail), type: '', code: '', ...(path ? { param: path } : {}) };
  }
  if (isObject(detail)) return readError(detail);
  if (typeof body.message === 'string' || body.object === 'error') return readError(body);
  if (Array.isArray(errors) && isObject(errors[0])) return readError(errors[0]);
  return undefined;
}

/** A map, since the words are strangers': an object would know `constructor`. */
const BY_WORD: ReadonlyMap<string, FailureKind> = new Map(
  Object.entries<FailureKind>({
    invalid_request_error: 'invalid_request',
    invalid_argument: 'invalid_request',
    bad_request: 'invalid_request',
    badrequesterror: 'invalid_request',
    authentication_error: 'provider_key',
    permission_error: 'provider_key',
    permission_denied: 'provider_key',
    unauthenticated: 'provider_key',
    invalid_api_key: 'provider_key',
    billing_error: 'billing',
    insufficient_quota: 'billing',
    not_found_error: 'not_found',
    not_found: 'not_found',
    model_not_found: 'not_found',
    request_too_large: 'too_large',
    rate_limit_error: 'rate_limited',
    rate_limit_exceeded: 'rate_limited',
    resource_exhausted: 'rate_limited',
    overloaded_error: 'overloaded',
    service_unavailable: 'overloaded',
    unavailable: 'overloaded',
    timeout_error: 'timeout',
    deadline_exceeded: 'timeout',
  }),
);

const BY_STATUS: Readonly<Record<number, FailureKind | undefined>> = {
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

function kindOf(status: number | undefined, said: Said): FailureKind {
  const code = said.code.toLowerCase();
  const type = said.type.toLowerCase();
  // OpenRouter and Gemini give the status as a number in `code`, also inside a stream.
  const told = /^[1-5]\d\d$/.test(code) ? Number(code) : undefined;
  const outside = status === undefined || status === 200 ? told : status;
  const word = BY_WORD.get(code) ?? BY_WORD.get(type);
  const rate = word === 'rate_limited' || word === 'overloaded' || word === 'billing';
  if (!rate && isOverflow({ message: said.message, type, code }, outside)) return 'context_overflow';
  if (word === 'billing' || /credit balance|insufficient (?:credits|balance|quota)/i.test(said.message)) {
    return 'billing';
  }
  if (outside === undefined) return word ?? 'failed';
  if (word === 'not_found' && outside < 500) return 'not_found';
  if (word === 'overloaded') return 'overloaded';
  return BY_STATUS[outside] ?? 'failed';
}

function toFailure(status: number | undefined, said: Said, whole: string | undefined): ProviderFailure {
  const kind = kindOf(status, said);
  const failure: ProviderFailure = { kind, message: errorMessage(said.message) };
  if (status !== undefined) failure.status = status;
  if (said.param !== undefined && said.param !== '') failure.param = said.param;
  if (said.code !== '' && !/^\d+$/.test(said.code)) failure.code = said.code;
  if (said.details) failure.details = said.details;
  if (said.failedGeneration) failure.failedGeneration = said.failedGeneration;
  if (kind === 'context_overflow') {
    const tokens = overflowTokens(said.message, whole);
    if (tokens) failure.tokens = tokens;
  }
  return failure;
}

/** The error in a value that should have been an answer; undefined where it is none. */
export function failureIn(value: JsonObject, status?: number): ProviderFailure | undefined {
  const { choices, error } = value;
  if (isSaid(error)) return failureOf(value, status);
  // Groq stops a stream early with its reason there.
  if (isObject(value.x_groq) && isSaid(value.x_groq.error)) {
    return failureOf({ error: value.x_groq.error ?? null }, status);
  }
  if (Array.isArray(choices) ? choices.length > 0 : isSaid(choices)) return undefined;
  const bare =
    value.object === 'error' ||
    isSaid(value.detail) ||
    typeof value.message === 'string' ||
    value.success === false;
  return bare ? failureOf(value, status) : undefined;
}

function isSaid(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

/** The error that a frame holds beside its data. */
export function failureOfStray(frame: Frame): ProviderFailure | undefined {
  const value = strayObject(frame);
  return value === undefined ? undefined : failureIn(value);
}

/** A value that is known to be an error (the frame's event said so). */
export function failureOf(value: JsonValue, status?: number): ProviderFailure {
  const said = readBody(value) ?? { message: '', type: '', code: '' };
  said.message ||= 'The provider reported an error without a message.';
  return toFailure(status, said, errorJson(value).slice(0, LOOKED_AT));
}

export function malformed(what: string): ProviderFailure {
  return { kind: 'failed', reason: 'malformed', message: what };
}

export function throwFailure(failure: ProviderFailure): never {
  throw new FailureError(failure);
}

function parse(body: string): JsonValue | undefined {
  try {
    return JSON.parse(body) as JsonValue;
  } catch {
    return undefined;
  }
}

/** `answered`: how a sentence about it begins, where the body has no words of its own. */
function bareText(answered: string, body: string): string {
  const trimmed = body.trim();
  if (trimmed === '') return `${answered} without a message.`;
  if (trimmed.startsWith('<')) {
    const title = pageTitle(trimmed);
    return `${answered} with a page of HTML${title ? `: ${title}` : ''}.`;
  }
  return trimmed;
}

/** The error of an `event: error`, whose data may be anything, or nothing. */
export function failureOfEvent(data: string): ProviderFailure {
  const value = parse(data);
  if (value !== undefined && typeof value !== 'string') return failureOf(value);
  return failureOf({ error: value || bareText('The provider reported an error', data) });
}

export function decodeError(
  status: number,
  headers: ReadonlyMap<string, string>,
  body: string,
): ProviderFailure {
  const value = parse(body);
  const said = readBody(value) ?? { message: '', type: '', code: '' };
  said.message ||=
    typeof value === 'string' && value !== '' ? value : bareText(`The provider answered ${status}`, body);
  const failure = toFailure(status, said, body);
  const wait = retryAfterMs(headers) ?? retryDelayMs(body);
  // No number that a header could say is no wait.
  if (Number.isSafeInteger(wait)) failure.retryAfterMs = wait;
  return failure;
}

function retryAfterMs(headers: ReadonlyMap<string, string>): number | undefined {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (precise >= 0) return Math.ceil(precise);
  const wait = headers.get('retry-after')?.trim();
  if (wait === undefined || wait === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(wait)) return Math.ceil(Number(wait) * 1000);
  // A date is told by the provider's clock, so it is measured against that where it said the time.
  const until = Date.parse(wait);
  const now = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(until)) return undefined;
  return Math.max(0, until - (Number.isNaN(now) ? Date.now() : now));
}

/** Google's RetryInfo: `"retryDelay": "37s"` among the error's details. */
function retryDelayMs(body: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}
