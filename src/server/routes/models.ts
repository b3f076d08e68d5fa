// The names that a key may send, as one object that both protocols' SDKs read.
// https://platform.openai.com/docs/api-reference/models/list, https://docs.anthropic.com/en/api/models-list
import { authenticate } from '../../accounts/authenticate.ts';
import type { JsonObject } from '../../canonical/json.ts';
import { GatewayError } from '../../errors.ts';
import type { Exchange } from '../../gateway/exchange.ts';
import type { GatewayDeps } from '../../gateway/deps.ts';
import { withoutKeys } from '../../log.ts';
import { faultOfName } from '../../protocols/shared/model-name.ts';
import type { ModelEntry } from '../../routing/routing.ts';

const JSON_TYPE = ['content-type', 'application/json'];

export async function listModels(exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list' },
    deps.store,
    deps.clock.now(),
  );
  await deps.discovered;
  const all = deps.routing.models(key.models).map(wireModel);
  const { data, more } = page(all, new URLSearchParams(exchange.query));
  const body = {
    object: 'list',
    data,
    has_more: more,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function showModel(exchange: Exchange, deps: GatewayDeps, id: string): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list' },
    deps.store,
    deps.clock.now(),
  );
  await deps.discovered;
  const entry = faultOfName(id) === undefined ? deps.routing.model(id, key.models) : undefined;
  if (entry === undefined) {
    const message = `the model ${JSON.stringify(id.slice(0, 200))} does not exist here, or this key may not use it`;
    throw new GatewayError('model_not_found', message, { status: 404 });
  }
  exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(wireModel(entry))));
}

/** The messages protocol's word for a release date that is not known. */
const UNKNOWN_TIME = '1970-01-01T00:00:00Z';

function wireModel(entry: ModelEntry): JsonObject & { id: string } {
  return {
    id: entry.name,
    object: 'model',
    created: 0,
    owned_by: entry.targets[0]?.provider.name ?? 'gateway',
    type: 'model',
    display_name: entry.name,
    created_at: UNKNOWN_TIME,
    max_input_tokens: entry.contextWindow,
    max_tokens: entry.maxOutput,
    context_window: entry.contextWindow,
  };
}

type Model = ReturnType<typeof wireModel>;

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
