// Stored answers, read and deleted by the account that got them. They are not counted as requests.
import { authenticate } from '../../accounts/key.ts';
import type { Exchange, GatewayDeps } from '../../gateway/exchange.ts';
import { deleteStored, findStored } from '../../gateway/inbound/stored-references.ts';
import type { Protocol, StoredAnswers } from '../../protocols/protocol.ts';

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
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function removeStored(
  { protocol, stored, id }: StoredAnswerRoute,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { accountId, text } = await find(protocol, stored, id, exchange, deps);
  const ids = stored.idsOf(id, text);
  if (ids === undefined) throw stored.notFound(id);
  await deleteStored(ids, accountId, deps);
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(stored.showDeleted(id)));
}

const JSON_TYPE = ['content-type', 'application/json'];

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
