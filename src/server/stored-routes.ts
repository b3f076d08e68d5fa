// Stored answers, read and deleted by the account that got them. These requests are not counted.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { authenticate } from '../accounts/access.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange, GatewayDeps, HeaderList } from '../gateway/exchange.ts';
import { deleteStored, findStored } from '../gateway/inbound/stored-references.ts';
import { deleteAtProvider } from '../gateway/outbound/delete-answer.ts';
import type { PathValues, StoredDelete, StoredShow } from '../protocols/interface/endpoint.ts';
import type { ClientProtocol } from '../protocols/interface/protocol.ts';
import { allProtocols } from '../protocols/registry.ts';

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];

const LARGE_TEXT = 1024 * 1024;

interface StoredRoute<E> {
  protocol: ClientProtocol;
  endpoint: E;
  values: PathValues;
}

export async function showStored(
  route: StoredRoute<StoredShow>,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { endpoint } = route;
  const { id, text } = await find(route, exchange, deps);
  const body = endpoint.show(text, new URLSearchParams(exchange.query), id);
  if (body === undefined) throw endpoint.stored.notFound(id);
  // To parse and to write a large one takes long: others are served between.
  if (text.length > LARGE_TEXT) await yieldToOthers();
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function removeStored(
  route: StoredRoute<StoredDelete>,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { endpoint } = route;
  const { stored } = endpoint;
  const { id, text, accountId } = await find(route, exchange, deps);
  const places = stored.placesOf(id, text);
  if (places === undefined) throw stored.notFound(id);
  const { ids, keptAt } = places;
  const provider = deps.routing.providers().find(({ name }) => name === keptAt?.provider);
  const protocol = allProtocols.find(({ name }) => name === route.protocol.name);
  if (keptAt !== undefined && provider !== undefined && protocol !== undefined) {
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
  { protocol, endpoint, values }: StoredRoute<StoredShow | StoredDelete>,
  { headers }: Exchange,
  deps: GatewayDeps,
): Promise<{ id: string; text: string; accountId: number }> {
  const { id = '' } = values;
  const asked = { headers, endpoint: protocol.permission, keyHeaders: protocol.client.keyHeaders };
  const { accountId } = await authenticate(asked, deps.store, deps.clock.now());
  const text = await findStored(id, accountId, deps);
  if (text === undefined) throw endpoint.stored.notFound(id);
  return { id, text, accountId };
}
