// `GET /v1/models`: the names that a key may use, all of them or one.
import { authenticate } from '../../accounts/key.ts';
import { GatewayError } from '../../errors.ts';
import type { Exchange, GatewayDeps } from '../../gateway/exchange.ts';
import { withoutKeys } from '../../without-keys.ts';
import {
  encodeModel,
  encodeModelList,
  LIST_KEY_HEADERS,
  type ListedModel,
} from '../../protocols/shared/model-list.ts';
import { faultOfModelName } from '../../protocols/shared/client.ts';
import type { ModelEntry } from '../../routing/catalog.ts';

/** Characters of a name in an error. */
const MOST_SHOWN = 200;

const JSON_TYPE = ['content-type', 'application/json'];

export async function listModels(exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list', keyHeaders: LIST_KEY_HEADERS },
    deps.store,
    deps.clock.now(),
  );
  await deps.discovered;
  const models = deps.routing.models(key.models).map(listed);
  const body = encodeModelList(models, new URLSearchParams(exchange.query));
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function showModel(exchange: Exchange, deps: GatewayDeps, id: string): Promise<void> {
  const key = await authenticate(
    { headers: exchange.headers, endpoint: 'list', keyHeaders: LIST_KEY_HEADERS },
    deps.store,
    deps.clock.now(),
  );
  await deps.discovered;
  const entry = faultOfModelName(id) === undefined ? deps.routing.model(id, key.models) : undefined;
  if (entry === undefined) {
    const shown = id.length > MOST_SHOWN ? `${id.slice(0, MOST_SHOWN)}…` : id;
    const message = `the model ${JSON.stringify(shown)} does not exist here, or this key may not use it`;
    throw new GatewayError('model_not_found', message, { status: 404 });
  }
  exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(encodeModel(listed(entry)))));
}

function listed({ name, targets, contextWindow, maxOutput }: ModelEntry): ListedModel {
  const owner = targets[0]?.provider.name ?? 'gateway';
  return { name, owner, targets: targets.map(({ key }) => key), contextWindow, maxOutput };
}
