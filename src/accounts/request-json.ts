// A request as JSON, in one shape for `gateway requests --json`, the admin API and live events; and the list of those that ended and those
// that were refused, in one order.
import { isoTime } from '../clock.ts';
import type { Asked } from '../errors.ts';
import type { StoredRefusal } from '../store/holds/refusals.ts';
import type {
  RefusalStore,
  RequestIdQuery,
  RequestPlace,
  RequestQuery,
  StoredRequest,
  UsageStore,
} from '../store/store.ts';
import {
  inputOf,
  SHOWN_COLUMNS,
  type ShownColumns,
  type UsageKind,
  type UsageRow,
} from '../store/usage-columns.ts';

export interface AttemptDetail {
  target: string;
  protocol: string;
  /** The number of the provider's key, if it has several. */
  provider_key?: number;
  /** Of the provider. Absent: there was no answer. */
  status?: number;
  /** What failed: an error kind and, if known, its reason. Absent: this target answered, or was asked last. */
  error?: string;
  message?: string;
  ms: number;
}

/** What is to be noted of a request; the JSON of a usage row's `detail`. */
export interface RequestDetail {
  /** The rule of the route that chose the first targets: `class compaction`. */
  rule?: string;
  attempts?: AttemptDetail[];
  passed_over?: { target: string; why: string }[];
  /** Fields of the request that were left out, or changed in form; parts of the answer that were left out. */
  dropped?: string[];
  changed?: string[];
  lost?: string[];
  /** Tool calls of a local model that were made whole. */
  repaired?: string[];
  /** Flags that a provider's refusal of its form taught. */
  learnt?: string[];
  /** How long it waited before the only attempt; absent: hardly. */
  waited_ms?: number;
  /** How long the client's last tools took, if it says so. */
  tools?: { name: string; ms: number }[];
  /** The input tokens that the client got are the gateway's estimate. */
  estimated_input?: number;
  /** The error's message, as the client got it. */
  message?: string;
  /** Like ones were refused in the same minute: how many requests this one stands for. */
  times?: number;
}

type Columns = Omit<ShownColumns, 'endpoint'> & {
  /** The path of a request that was refused, where no protocol was found. */
  endpoint: string;
  status: number;
  stream: boolean;
};

/** One request: the shape that `gateway requests --json` prints and a running gateway sends. Never a key or a body. Its other members
 *  are the columns that store/usage-columns.ts shows; null: unknown. */
export interface RequestJson extends Columns {
  /** When it ended. */
  at: string;
  /** Refused before admission: not counted in usage nor against a limit. */
  refused: boolean;
  account: string | null;
  cache: CacheJson;
  detail: RequestDetail;
}

interface CacheJson {
  /** Of all input, the part that was read from the provider's cache: 0 to 1. null: unknown. */
  share: number | null;
  /** Input that the cache had and that was read anew. null: none. */
  miss: { cause: string; detail: string | null; tokens: number | null; cost_usd: number | null } | null;
}

export function requestJson(row: Omit<StoredRequest, 'rowId'>): RequestJson {
  const { endpoint, status, streamed: stream, account } = row;
  const columns = { ...columnsOf(row), endpoint, status, stream, input_tokens: inputOf(row) };
  return inOrder({
    refused: false,
    account,
    ...columns,
    cache: cacheOf(row),
    detail: readDetail(row.detail),
  });
}

const NO_CACHE: CacheJson = { share: null, miss: null };

function cacheOf(row: UsageRow): CacheJson {
  const { cacheRead, cacheMiss: cause, cacheMissDetail, cacheMissTokens, cacheMissCostUsd } = row;
  const input = inputOf(row);
  const miss =
    cause === null
      ? null
      : { cause, detail: cacheMissDetail, tokens: cacheMissTokens, cost_usd: cacheMissCostUsd };
  const share = input === null || cacheRead === null || input === 0 ? null : cacheRead / input;
  return share === null && miss === null ? NO_CACHE : { share, miss };
}

/** What tells one request from another stands first. */
function inOrder({ id, at, refused, account, ...rest }: RequestJson): RequestJson {
  return { id, at, refused, account, ...rest };
}

function columnsOf(row: UsageRow): ShownColumns {
  const shown = SHOWN_COLUMNS.map(({ member, kind, shown }) => [shown, jsonOf(kind, row[member])]);
  return Object.fromEntries(shown) as ShownColumns;
}

function jsonOf(kind: UsageKind, value: UsageRow[keyof UsageRow]): UsageRow[keyof UsageRow] {
  if (typeof value !== 'number') return value;
  if (kind === 'time') return isoTime(value);
  return kind === 'milliseconds' ? Math.round(value * 10) / 10 : value;
}

const NOTHING = Object.fromEntries(SHOWN_COLUMNS.map(({ shown }) => [shown, null])) as Record<
  keyof ShownColumns,
  null
>;

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
  /** Known from a key that was accepted. */
  asked?: Asked | undefined;
  /** Requests that it stands for. */
  times?: number;
}

export function refusedJson(request: RefusedRequest): RequestJson {
  const { at, requestId, account = null, path, status, kind, message, asked, times = 1 } = request;
  const { keyId: key = null, model: model_asked = null, conversation = null, label = null } = asked ?? {};
  const endpoint = asked?.endpoint ?? path;
  return inOrder({
    ...NOTHING,
    ...{ id: requestId, at: isoTime(at), refused: true, account, key, model_asked, conversation, label },
    ...{ endpoint, status, error: kind, stream: false, client: asked?.client ?? null, cache: NO_CACHE },
    detail: times > 1 ? { message, times } : { message },
  });
}

/** Members that are not as this gateway writes them are left out: another version may have written the row. */
export function readDetail(text: string | null): RequestDetail {
  if (text === null) return {};
  const {
    attempts,
    passed_over: passedOver,
    estimated_input: estimated,
    message,
    tools,
    rule,
    waited_ms: waited,
    ...lists
  } = parse(text);
  const detail: RequestDetail = {};
  if (typeof rule === 'string') detail.rule = rule;
  if (Array.isArray(attempts)) detail.attempts = attempts.filter(isAttempt);
  if (Array.isArray(passedOver)) detail.passed_over = passedOver.filter(isPassedOver);
  for (const name of ['dropped', 'changed', 'lost', 'repaired', 'learnt'] as const) {
    const list = lists[name];
    if (Array.isArray(list)) detail[name] = list.filter((item) => typeof item === 'string');
  }
  if (Array.isArray(tools)) detail.tools = tools.filter(isToolTime);
  if (typeof waited === 'number') detail.waited_ms = waited;
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
  const {
    target,
    protocol,
    provider_key: key,
    status,
    error,
    message,
    ms,
  } = Object(value) as Record<string, unknown>;
  const isText = (member: unknown): boolean => member === undefined || typeof member === 'string';
  const isNumber = [status, key].every((member) => member === undefined || typeof member === 'number');
  const isComplete = typeof target === 'string' && typeof protocol === 'string' && typeof ms === 'number';
  return isComplete && isNumber && isText(error) && isText(message);
}

function isToolTime(value: unknown): value is { name: string; ms: number } {
  const { name, ms } = Object(value) as Record<string, unknown>;
  return typeof name === 'string' && typeof ms === 'number';
}

function isPassedOver(value: unknown): value is { target: string; why: string } {
  const { target, why } = Object(value) as Record<string, unknown>;
  return typeof target === 'string' && typeof why === 'string';
}

/** `429`, or `4xx`: all of its class. undefined: neither. */
export function statusRange(text: string): { from: number; to: number } | undefined {
  if (!/^[1-5](?:\d\d|xx)$/.test(text)) return undefined;
  if (!text.endsWith('xx')) return { from: Number(text), to: Number(text) };
  const from = 100 * Number(text[0]);
  return { from, to: from + 99 };
}

export interface ListedRequest extends RequestPlace {
  json: RequestJson;
}

/** Newest first, at most `query.limit`. Rejects with StoreError. */
export async function listAllRequests(
  store: Pick<UsageStore, 'listRequests'> & Pick<RefusalStore, 'listRefusals'>,
  query: RequestQuery,
): Promise<ListedRequest[]> {
  const [ended, refused] = await Promise.all([store.listRequests(query), store.listRefusals(query)]);
  const listed = ended.map(listedRequest);
  if (refused.length === 0) return listed;
  const newestFirst = (a: RequestPlace, b: RequestPlace): number => b.at - a.at || b.rowId - a.rowId;
  return [...listed, ...refused.map(listedRefusal)].sort(newestFirst).slice(0, query.limit);
}

/** By the beginning of their ids, oldest first. Rejects with StoreError. */
export async function findAnyRequests(
  store: Pick<UsageStore, 'findRequests'> & Pick<RefusalStore, 'findRefusals'>,
  query: RequestIdQuery,
): Promise<RequestJson[]> {
  const refused = await store.findRefusals(query);
  const ended = refused.length >= query.limit ? [] : await store.findRequests(query);
  const oldestFirst = (a: RequestPlace, b: RequestPlace): number => a.at - b.at;
  return [...ended.map(listedRequest), ...refused.map(listedRefusal)]
    .sort(oldestFirst)
    .slice(0, query.limit)
    .map(({ json }) => json);
}

const listedRequest = (row: StoredRequest): ListedRequest => ({
  at: row.at,
  rowId: row.rowId,
  json: requestJson(row),
});

function listedRefusal(row: StoredRefusal): ListedRequest {
  const { at, rowId, requestId, account, endpoint, status, error: kind, message, times } = row;
  const { accountId, keyId, modelAsked: model, conversation, label, client } = row;
  const asked = { accountId, keyId, endpoint, model, conversation, label, client };
  const refused = { at, requestId, account: account ?? undefined, path: endpoint, status, kind, message };
  return { at, rowId, json: refusedJson({ ...refused, asked, times }) };
}
