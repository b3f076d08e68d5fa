// The list of models at `GET /models`, in one form that the SDKs of all protocols read, and how such a list is read.
// https://platform.openai.com/docs/api-reference/models/list, https://docs.anthropic.com/en/api/models-list
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { KeyHeader } from '../interface/outline.ts';
import { API_KEY, BEARER } from './client.ts';

/** The headers with the key, of clients of all protocols. */
export const LIST_KEY_HEADERS: readonly KeyHeader[] = [API_KEY, BEARER];

export interface ListedModel {
  name: string;
  owner: string;
  /** `provider/model` of each target, in their order. */
  targets: readonly string[];
  /** Protocols of clients that may offer the first target tools of the provider's own, such as a web search. */
  serverTools: readonly string[];
  /** It makes embeddings, and no answers. */
  embeddings: boolean;
  /** Tokens. */
  contextWindow: number | null;
  maxOutput: number | null;
}

/** The messages protocol's value for an unknown release date. */
const UNKNOWN_TIME = '1970-01-01T00:00:00Z';

/** The messages SDKs of typed languages refuse a model without these. What a null stands for, no provider's list says for all. */
const UNKNOWN_LIFE = {
  lifecycle: 'active',
  line: null,
  capabilities: null,
  deprecated_at: null,
  retires_at: null,
} as const;

export function encodeModel(model: ListedModel) {
  const { name, owner, targets, serverTools, embeddings, contextWindow, maxOutput } = model;
  return {
    id: name,
    object: 'model',
    created: 0,
    owned_by: owner,
    type: 'model',
    display_name: name,
    created_at: UNKNOWN_TIME,
    max_input_tokens: contextWindow,
    max_tokens: maxOutput,
    context_window: contextWindow,
    ...UNKNOWN_LIFE,
    targets: [...targets],
    server_tools: [...serverTools],
    kind: embeddings ? 'embedding' : 'generation',
  } satisfies JsonObject;
}

export function encodeModelList(models: readonly ListedModel[], query: URLSearchParams): JsonObject {
  const { data, more } = page(models.map(encodeModel), query);
  return {
    object: 'list',
    data,
    has_more: more,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

type Model = ReturnType<typeof encodeModel>;

/** Reads what `encodeModel` wrote; undefined: another program wrote it. */
export function decodeModel(value: unknown): Omit<ListedModel, 'owner'> | undefined {
  if (!isObject(value) || typeof value.id !== 'string' || !Array.isArray(value.targets)) return undefined;
  const texts = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [];
  const tokens = (limit: unknown): number | null => (typeof limit === 'number' ? limit : null);
  return {
    name: value.id,
    targets: texts(value.targets),
    // Older gateways do not say it.
    serverTools: texts(value.server_tools),
    embeddings: value.kind === 'embedding',
    contextWindow: tokens(value.max_input_tokens),
    maxOutput: tokens(value.max_tokens),
  };
}

/** `limit`, `after_id` and `before_id` of the messages protocol; without them everything. */
function page(all: readonly Model[], query: URLSearchParams): { data: Model[]; more: boolean } {
  const limit = Number(query.get('limit') ?? all.length);
  const size = Number.isInteger(limit) && limit > 0 ? limit : all.length;
  const before = query.get('before_id');
  if (before !== null) {
    const end = indexOf(all, before) ?? all.length;
    return { data: all.slice(Math.max(0, end - size), end), more: end > size };
  }
  const after = query.get('after_id');
  const start = after === null ? 0 : (indexOf(all, after) ?? -1) + 1;
  return { data: all.slice(start, start + size), more: start + size < all.length };
}

function indexOf(all: readonly Model[], id: string): number | undefined {
  const index = all.findIndex((model) => model.id === id);
  return index < 0 ? undefined : index;
}

/** The list is in `data`, or is the whole answer; Ollama without models sends null. */
export function listIn(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value as unknown[];
  if (!isObject(value)) return undefined;
  if (value.data === null && value.object === 'list') return [];
  return Array.isArray(value.data) ? value.data : undefined;
}

/** The query of the next page; undefined: that was the last. */
export function nextModels(value: unknown): string | undefined {
  if (!isObject(value) || value.has_more !== true || typeof value.last_id !== 'string') return undefined;
  return `?limit=1000&after_id=${encodeURIComponent(value.last_id)}`;
}
