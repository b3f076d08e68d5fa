// What answers beside generations: signs of life, which need no key (for supervisors, for Prometheus, and for clients that check whether a
// server is there); the names of models that a key may use; and stored answers, read and deleted by the account that got them, which
// are not counted as requests.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { authenticate } from '../accounts/access.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange, GatewayDeps, HeaderList } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';
import {
  encodeModel,
  encodeModelList,
  LIST_KEY_HEADERS,
  type ListedModel,
} from '../protocols/shared/model-list.ts';
import { faultOfModelName } from '../protocols/shared/client.ts';
import type { ModelEntry } from '../routing/catalog.ts';
import { serverToolsOf } from '../routing/abilities.ts';
import { shuttingDown } from '../gateway/in-flight-limit.ts';
import { deleteStored, findStored } from '../gateway/inbound/stored-references.ts';
import { deleteAtProvider } from '../gateway/outbound/delete-answer.ts';
import type { Protocol } from '../protocols/interface/protocol.ts';
import type { StoredAnswers } from '../protocols/interface/features.ts';

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

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
  await deps.learn(id);
  const entry = faultOfModelName(id) === undefined ? deps.routing.model(id, key.models) : undefined;
  if (entry === undefined) {
    const { message } = deps.routing.unknown(id, key.models);
    throw new GatewayError('model_not_found', message, { status: 404 });
  }
  exchange.sink.send(200, JSON_TYPE, withoutKeys(JSON.stringify(encodeModel(listed(entry)))));
}

function listed({ name, targets, contextWindow, maxOutput }: ModelEntry): ListedModel {
  const [first] = targets;
  return {
    name,
    owner: first?.provider.name ?? 'gateway',
    targets: targets.map(({ key }) => key),
    serverTools: first === undefined ? [] : serverToolsOf(first),
    contextWindow,
    maxOutput,
  };
}

export async function health({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  if (deps.inFlightLimit.closed) throw shuttingDown();
  if (deps.current.config.maintenance) {
    throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
  }
  const database = await deps.database.check();
  if (database === 'away') {
    sink.send(503, [...JSON_TYPE, 'retry-after', '1'], '{"status":"unavailable","database":"away"}');
  } else sink.send(200, JSON_TYPE, `{"status":"ok","database":"${database}"}`);
}

const METRICS_TYPE: HeaderList = ['content-type', 'text/plain; version=0.0.4; charset=utf-8'];

/** Also in maintenance and while the gateway shuts down: that is when it is looked at. */
export async function metrics({ sink }: Exchange, deps: GatewayDeps): Promise<void> {
  sink.send(200, METRICS_TYPE, (await deps.metrics?.read()) ?? '');
}

const HELLO = `This is a gateway for language models. Base URLs: chat completions …/v1, messages … (without /v1).\n`;

export async function probe(exchange: Exchange): Promise<void> {
  exchange.sink.send(200, ['content-type', 'text/plain; charset=utf-8'], HELLO);
}

const LARGE_TEXT = 1024 * 1024;

export interface StoredAnswerRoute {
  protocol: Protocol;
  stored: StoredAnswers;
  id: string;
  what: 'answer' | 'input';
}

export async function showStored(
  { protocol, stored, id, what }: StoredAnswerRoute,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { text } = await find(protocol, stored, id, exchange, deps);
  const query = new URLSearchParams(exchange.query);
  const body = what === 'answer' ? stored.show(text, query) : stored.showInput(id, text, query);
  if (body === undefined) throw stored.notFound(id);
  // To parse and to write a large one takes long: others are served between.
  if (text.length > LARGE_TEXT) await yieldToOthers();
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function removeStored(
  { protocol, stored, id }: StoredAnswerRoute,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { accountId, text } = await find(protocol, stored, id, exchange, deps);
  const places = stored.placesOf(id, text);
  if (places === undefined) throw stored.notFound(id);
  const { ids, keptAt } = places;
  const provider = deps.routing.providers().find(({ name }) => name === keptAt?.provider);
  if (keptAt !== undefined && provider !== undefined) {
    const { cancellation } = exchange;
    await deleteAtProvider({ id: keptAt.id, protocol, provider, cancellation }, deps.client);
  }
  await deleteStored(ids, accountId, deps);
  if (keptAt !== undefined && provider === undefined) throw notDeletedThere(id, keptAt.provider);
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(stored.showDeleted(id)));
}

/** The client must not believe that the answer is gone. */
function notDeletedThere(id: string, provider: string): GatewayError {
  const message = `Response '${id}' is deleted here, but ${provider}, which answered, is not in the configuration any more: it cannot be deleted there`;
  return new GatewayError('upstream', message, { shouldRetry: false });
}

async function find(
  { name, client }: Protocol,
  stored: StoredAnswers,
  id: string,
  { headers }: Exchange,
  deps: GatewayDeps,
): Promise<{ accountId: number; text: string }> {
  const asked = { headers, endpoint: name, keyHeaders: client.keyHeaders };
  const { accountId } = await authenticate(asked, deps.store, deps.clock.now());
  const text = await findStored(id, accountId, deps);
  if (text === undefined) throw stored.notFound(id);
  return { accountId, text };
}
