// Reads a provider's error from any status and any body: servers agree on neither shape nor words. All protocols share
// this reader; they differ in the wording for errors without a message.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { FailureError, type FailureKind, type ProviderFailure } from '../../../errors.ts';
import { likeness } from '../../json/raw-json.ts';
import { type Frame, strayObject } from '../../sse/frame.ts';
import { isOverflow, overflowTokens } from './context-overflow.ts';

interface ErrorWording {
  /** `status` undefined: the error came inside a stream or a 200. */
  withoutMessage(status: number | undefined): string;
  /** `title` may be empty. */
  page(status: number | undefined, title: string): string;
  /** A JSON body without a message is shown as the message. */
  showsBody: boolean;
  /** Digits in `code` are forwarded as a code; else they count only as the status. */
  numericCodes: boolean;
}

type Headers = ReadonlyMap<string, string>;

interface ErrorReader {
  /** An error answer. */
  decodeError: (status: number, headers: Headers, body: string) => ProviderFailure;
  /** A parsed value that is known to be an error. */
  failureOf: (value: unknown, status?: number) => ProviderFailure;
  /** The error of an `event: error`, whose data may be anything, or nothing. */
  failureOfEvent: (data: string) => ProviderFailure;
}

const SENTENCES: ErrorWording = {
  withoutMessage: (status) => `${subject(status)} without a message.`,
  page: (status, title) => `${subject(status)} with a page of HTML${title && `: ${title}`}.`,
  showsBody: true,
  numericCodes: false,
};

function subject(status: number | undefined): string {
  return status === undefined ? 'The provider reported an error' : `The provider answered ${status}`;
}

export function createErrorReader(wording: ErrorWording = SENTENCES): ErrorReader {
  function readText(body: string, status: number | undefined): ProviderFailure {
    const value = parse(body);
    const read = readBody(value);
    const message = read.message.trim() || messageOf(value, body.trim(), status, wording);
    return toFailure({ ...read, message }, status, body, wording);
  }

  return {
    decodeError(status, headers, body) {
      const failure = readText(body, status);
      const wait = retryAfterMs(headers) ?? retryDelayMs(body);
      // A number that is too large is ignored.
      if (Number.isSafeInteger(wait)) failure.retryAfterMs = wait;
      return failure;
    },
    failureOf(value, status) {
      const read = readBody(value);
      const message = read.message.trim() || wording.withoutMessage(undefined);
      return toFailure({ ...read, message }, status, value, wording);
    },
    failureOfEvent: (data) => readText(data, undefined),
  };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The message for a body without a message. */
function messageOf(value: unknown, body: string, status: number | undefined, wording: ErrorWording): string {
  if (typeof value === 'string' && value !== '') return value;
  if (body.startsWith('<')) return wording.page(status, pageTitle(body));
  const shown = value === undefined || (wording.showsBody && !isBlank(value));
  return shown && body !== '' ? body : wording.withoutMessage(status);
}

/** JSON that holds nothing: `null`, `{}`, `[]`. */
function isBlank(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

// -- the members of a body --

interface ErrorBody {
  message: string;
  type: string;
  code: string;
  param?: string;
  details?: JsonValue;
  failedGeneration?: string;
}

/** Reads any of the known shapes; a text that is missing is empty. */
function readBody(value: unknown): ErrorBody {
  const body: unknown = Array.isArray(value) ? value[0] : value; // Gemini puts an array around it.
  if (!isObject(body)) return { message: '', type: '', code: '' };
  const { error, errors, detail } = body;
  if (isObject(error)) return readMembers(error);
  if (typeof error === 'string' && error !== '') {
    return { ...readMembers(body), message: text(body.message) || error };
  }
  if (isObject(detail)) return readMembers(detail);
  if (Array.isArray(detail)) return readFieldList(detail);
  if (isObject(body.base_resp)) return readBaseResp(body.base_resp);
  if (body.message === undefined && Array.isArray(errors) && isObject(errors[0])) {
    return readMembers(errors[0]);
  }
  return readMembers(body);
}

/** MiniMax's codes, as the words of others. */
const BASE_RESP_TYPES: ReadonlyMap<JsonValue | undefined, string> = new Map([
  [1002, 'rate_limit_error'],
  [1004, 'authentication_error'],
  [1008, 'insufficient_quota'],
  [1039, 'rate_limit_error'],
  [2013, 'invalid_request_error'],
  [2056, 'insufficient_quota'],
]);

/** MiniMax's error inside a 200. The code is written behind the words, as it does itself in errors of other statuses. */
function readBaseResp({ status_code: code, status_msg: words }: JsonObject): ErrorBody {
  const message = text(words);
  const shown =
    message === '' || message.includes(`(${text(code)})`) ? message : `${message} (${text(code)})`;
  return { message: shown, type: BASE_RESP_TYPES.get(code) ?? '', code: text(code) };
}

function readMembers(error: JsonObject): ErrorBody {
  const message = text(error.message) || text(error.msg) || text(error.detail) || text(error.error);
  const { metadata, param } = error;
  // OpenRouter: "Provider returned error", and what it was in metadata.raw.
  const raw = isObject(metadata) && typeof metadata.raw === 'string' ? metadata.raw : '';
  return {
    message: [message, raw].filter((part) => part !== '').join(': '),
    type: text(error.type) || text(error.status),
    code: text(error.code),
    param: typeof param === 'string' && param !== '' ? param : undefined,
    details: errorDetails(error.details),
    failedGeneration: failedGeneration(error),
  };
}

function text(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

/** FastAPI's list of fields that it refuses. */
function readFieldList(detail: readonly JsonValue[]): ErrorBody {
  const lines: string[] = [];
  for (const item of detail) {
    if (typeof item === 'string') lines.push(item);
    else if (isObject(item)) lines.push([fieldPath(item.loc), text(item.msg)].filter(Boolean).join(': '));
  }
  const [first] = detail;
  const param = isObject(first) ? fieldPath(first.loc) : '';
  return { message: lines.join('; '), type: '', code: '', param: param === '' ? undefined : param };
}

/** FastAPI names the field as a list: ["body", "messages", 0, "role"]. */
function fieldPath(loc: JsonValue | undefined): string {
  if (!Array.isArray(loc)) return '';
  let path = '';
  for (const step of loc) {
    if (step === 'body' && path === '') continue;
    if (typeof step === 'number') path += `[${step}]`;
    else if (typeof step === 'string') path += path === '' ? step : `.${step}`;
  }
  return path;
}

/** Characters of a text, or of JSON. */
const MOST_TEXT = 16_384;

/** Forwarded to the client unchanged: an object, a list or a text. */
function errorDetails(value: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(value) && !(Array.isArray(value) && value.length > 0)) {
    return typeof value === 'string' && value !== '' ? value.slice(0, MOST_TEXT) : undefined;
  }
  const { length } = errorJson(value);
  return length > 0 && length <= MOST_TEXT ? value : undefined;
}

/** The model's text that Groq could not parse as a call: programs repair it, or show it to the model. */
function failedGeneration({ failed_generation: written }: JsonObject): string | undefined {
  return typeof written === 'string' && written !== '' ? written.slice(0, MOST_TEXT) : undefined;
}

/** '' for a value with too many levels. */
function errorJson(value: unknown): string {
  return likeness(value as JsonValue) === 'deep' ? '' : JSON.stringify(value);
}

/** The title is looked for in this many characters of a page. */
const PAGE_HEAD = 4000;

/** The title of an HTML page: the only part that may help a client. */
export function pageTitle(page: string): string {
  const head = page.slice(0, PAGE_HEAD);
  const lower = head.toLowerCase();
  const open = lower.indexOf('<title');
  const start = open === -1 ? -1 : lower.indexOf('>', open);
  const end = start === -1 ? -1 : lower.indexOf('</title>', start);
  return end === -1 ? '' : head.slice(start + 1, end).trim();
}

// -- the kind of failure --

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

/** By the type or the code. A map, since the words are the provider's: an object would know `constructor`. */
const BY_WORD: ReadonlyMap<string, FailureKind> = new Map(
  Object.entries<FailureKind>({
    invalid_request_error: 'invalid_request',
    invalid_argument: 'invalid_request',
    bad_request: 'invalid_request',
    invalid_prompt: 'invalid_request',
    invalid_encrypted_content: 'invalid_request',
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
    too_many_requests: 'rate_limited',
    usage_limit_reached: 'rate_limited',
    resource_exhausted: 'rate_limited',
    overloaded_error: 'overloaded',
    server_is_overloaded: 'overloaded',
    slow_down: 'overloaded',
    service_unavailable: 'overloaded',
    unavailable: 'overloaded',
    timeout_error: 'timeout',
    deadline_exceeded: 'timeout',
  }),
);

/** Thinking that came back to its provider is not what it had signed or encrypted. */
const REFUSED_THINKING =
  /invalid\W+(?:signature|data)\W+in\W+(?:redacted_)?thinking\W+block|encrypted content .{0,200}could not be (?:verified|decrypted)/i;
/** Those words are looked for in this many characters of a message. */
const REFUSAL_HEAD = 1000;

function refusesThinking({ message, code }: ErrorBody, kind: FailureKind): boolean {
  if (kind !== 'invalid_request') return false;
  return code === 'invalid_encrypted_content' || REFUSED_THINKING.test(message.slice(0, REFUSAL_HEAD));
}

const BILLING_WORDS = /credit balance|insufficient (?:credits|balance|quota)/i;

function kindOf({ message, ...body }: ErrorBody, answered: number | undefined): FailureKind {
  const code = body.code.toLowerCase();
  const type = body.type.toLowerCase();
  // OpenRouter and Gemini give the status as a number in `code`, also inside a stream.
  const inBody = /^[1-5]\d\d$/.test(code) ? Number(code) : undefined;
  const status = answered === undefined || answered === 200 ? inBody : answered;
  const word = BY_WORD.get(code) ?? BY_WORD.get(type);
  const isRate = word === 'rate_limited' || word === 'overloaded' || word === 'billing';
  if (!isRate && isOverflow({ message, type, code }, status)) return 'context_overflow';
  if (word === 'billing' || BILLING_WORDS.test(message)) return 'billing';
  if (status === undefined) return word ?? 'failed';
  if (word === 'not_found' && status < 500) return 'not_found';
  if (word === 'overloaded') return 'overloaded';
  return BY_STATUS[status] ?? 'failed';
}

/** The numbers of a context overflow are looked for in this many characters of a body. */
const MOST_NUMBERS = 8000;

/** `source`: the body, as text or parsed. */
function toFailure(
  body: ErrorBody,
  status: number | undefined,
  source: unknown,
  { numericCodes }: ErrorWording,
): ProviderFailure {
  const kind = kindOf(body, status);
  const { message, code, param, details, failedGeneration: written } = body;
  // redact() cuts it again, to far fewer characters: a secret that is split here is never shown.
  const failure: ProviderFailure = { kind, message: message.slice(0, MOST_TEXT) };
  if (status !== undefined) failure.status = status;
  if (refusesThinking(body, kind)) failure.reason = 'signature';
  if (param !== undefined) failure.param = param;
  if (code !== '' && (numericCodes || !/^\d+$/.test(code))) failure.code = code;
  if (details !== undefined) failure.details = details;
  if (written !== undefined) failure.failedGeneration = written;
  if (kind === 'rate_limited' || kind === 'overloaded') {
    const wait = waitInWords(message);
    if (wait !== undefined) failure.retryAfterMs = wait;
  }
  if (kind === 'context_overflow') {
    const whole = typeof source === 'string' ? source : errorJson(source);
    const tokens = overflowTokens(message, whole.slice(0, MOST_NUMBERS));
    if (tokens !== undefined) failure.tokens = tokens;
  }
  return failure;
}

// -- how long to wait --

/** Milliseconds. A date is compared with the answer's own `date` header, since it is a time of the provider's clock. */
function retryAfterMs(headers: Headers): number | undefined {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (precise >= 0) return Math.ceil(precise);
  const wait = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(wait)) return Math.ceil(Number(wait) * 1000);
  const ms = Date.parse(wait) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Google's RetryInfo: `"retryDelay": "37s"` among the error's details. */
function retryDelayMs(body: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

/** A wait is looked for in this many characters of a message. */
const MOST_WAIT = 2000;
const WAIT = /try again in ((?:\d{1,9}(?:\.\d{1,9})?(?:ms|[hms]) ?){1,4})/i;
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** "Please try again in 1m12.5s": inside a stream no header says how long to wait, and some servers send none beside a 429 either. */
function waitInWords(message: string): number | undefined {
  const words = WAIT.exec(message.slice(0, MOST_WAIT))?.[1];
  if (words === undefined) return undefined;
  let wait = 0;
  for (const [, digits, unit] of words.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[hms])/gi)) {
    wait += Number(digits) * UNIT_MS[unit?.toLowerCase() as keyof typeof UNIT_MS];
  }
  return Math.ceil(wait);
}

export function throwFailure(failure: ProviderFailure): never {
  throw new FailureError(failure);
}

/** Reads the error that a frame holds beside its data; `isError` tells an error from everything else that stands there. */
export function createStrayReader(
  isError: (value: JsonObject, event: string) => boolean,
  failureOf: ErrorReader['failureOf'],
): (frame: Frame) => ProviderFailure | undefined {
  return (frame) => {
    const value = strayObject(frame);
    return value !== undefined && isError(value, '') ? failureOf(value) : undefined;
  };
}
