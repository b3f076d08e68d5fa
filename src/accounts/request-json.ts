// A request as JSON: the shape that `gateway requests --json` prints, that the admin API sends and that live events hold.
import { isoTime } from '../clock.ts';
import type { StoredRequest } from '../store/store.ts';

export interface AttemptDetail {
  target: string;
  protocol: string;
  /** Of the provider. Absent: there was no answer. */
  status?: number;
  /** What failed: an error kind and, if known, its reason. Absent: this target answered, or was asked last. */
  error?: string;
  message?: string;
  ms: number;
}

/** What is to be noted of a request; the JSON of a usage row's `detail`. */
export interface RequestDetail {
  attempts?: AttemptDetail[];
  passed_over?: { target: string; why: string }[];
  /** Fields of the request that were left out, or changed in form; parts of the answer that were left out. */
  dropped?: string[];
  changed?: string[];
  lost?: string[];
  /** Tool calls of a local model that were made whole. */
  repaired?: string[];
  /** The input tokens that the client got are the gateway's estimate. */
  estimated_input?: number;
  /** The error's message, as the client got it. */
  message?: string;
}

/** One request: the shape that `gateway requests --json` prints and a running gateway sends. Never a key or a body. */
export interface RequestJson {
  /** null: an older gateway recorded it. */
  id: string | null;
  /** When it ended. */
  at: string;
  /** Refused before admission: not stored, not counted against the limit. */
  refused: boolean;
  account: string | null;
  key: string | null;
  endpoint: string;
  model_asked: string | null;
  /** Who answered, or was asked last. */
  provider: string | null;
  model: string | null;
  status: number;
  error: string | null;
  stream: boolean;
  /** With the tokens of the next two. null: unknown, here and below. */
  input_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  cost_usd: number | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  /** Targets that were contacted. */
  attempts: number | null;
  detail: RequestDetail;
}

export function requestJson(row: Omit<StoredRequest, 'rowId'>): RequestJson {
  const { input, cacheRead, cacheWrite } = row;
  return {
    id: row.requestId,
    at: isoTime(row.at),
    refused: false,
    account: row.account,
    key: row.keyId,
    endpoint: row.endpoint,
    model_asked: row.modelAsked,
    provider: row.provider,
    model: row.model,
    status: row.status,
    error: row.error,
    stream: row.streamed,
    input_tokens: input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    output_tokens: row.output,
    reasoning_tokens: row.reasoning,
    cost_usd: row.costUsd,
    first_byte_ms: row.firstByteMs === null ? null : rounded(row.firstByteMs),
    duration_ms: rounded(row.durationMs),
    attempts: row.attempts,
    detail: readDetail(row.detail),
  };
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

/** A request that was refused before admission. */
export interface RefusedRequest {
  at: number;
  requestId: string;
  /** Known from a key that was accepted. */
  account: string | undefined;
  path: string;
  status: number;
  kind: string;
  message: string;
}

export function refusedJson({
  at,
  requestId,
  account,
  path,
  status,
  kind,
  message,
}: RefusedRequest): RequestJson {
  return {
    id: requestId,
    at: isoTime(at),
    refused: true,
    account: account ?? null,
    key: null,
    endpoint: path,
    model_asked: null,
    provider: null,
    model: null,
    status,
    error: kind,
    stream: false,
    input_tokens: null,
    cache_read_tokens: null,
    cache_write_tokens: null,
    output_tokens: null,
    reasoning_tokens: null,
    cost_usd: null,
    first_byte_ms: null,
    duration_ms: null,
    attempts: null,
    detail: { message },
  };
}

/** Members that are not as this gateway writes them are left out: another version may have written the row. */
function readDetail(text: string | null): RequestDetail {
  if (text === null) return {};
  const { attempts, passed_over: passedOver, estimated_input: estimated, message, ...lists } = parse(text);
  const detail: RequestDetail = {};
  if (Array.isArray(attempts)) detail.attempts = attempts.filter(isAttempt);
  if (Array.isArray(passedOver)) detail.passed_over = passedOver.filter(isPassedOver);
  for (const name of ['dropped', 'changed', 'lost', 'repaired'] as const) {
    const list = lists[name];
    if (Array.isArray(list)) detail[name] = list.filter((item) => typeof item === 'string');
  }
  if (typeof estimated === 'number') detail.estimated_input = estimated;
  if (typeof message === 'string') detail.message = message;
  return detail;
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function isAttempt(value: unknown): value is AttemptDetail {
  const { target, protocol, status, error, message, ms } = Object(value) as Record<string, unknown>;
  const isText = (member: unknown): boolean => member === undefined || typeof member === 'string';
  const isNumber = status === undefined || typeof status === 'number';
  const isComplete = typeof target === 'string' && typeof protocol === 'string' && typeof ms === 'number';
  return isComplete && isNumber && isText(error) && isText(message);
}

function isPassedOver(value: unknown): value is { target: string; why: string } {
  const { target, why } = Object(value) as Record<string, unknown>;
  return typeof target === 'string' && typeof why === 'string';
}
