// Stored answers, read and deleted by the account that got them. They are not counted as requests.
import { authenticate } from '../../accounts/authenticate.ts';
import { GatewayError } from '../../errors.ts';
import type { Exchange, GatewayDeps } from '../../gateway/exchange.ts';
import type { Protocol, StoredAnswers } from '../../protocols/protocol.ts';
import { StoreError } from '../../store/store.ts';

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
  const body = what === 'answer' ? stored.show(text) : stored.showInput(id, text, query);
  if (body === undefined) throw stored.notFound(id);
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(body));
}

export async function deleteStored(
  { protocol, stored, id }: StoredAnswerRoute,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { accountId, text } = await find(protocol, stored, id, exchange, deps);
  const ids = stored.idsOf(id, text);
  if (ids === undefined) throw stored.notFound(id);
  await readable(deps.items.delete(accountId, ids));
  exchange.sink.send(200, JSON_TYPE, JSON.stringify(stored.showDeleted(id)));
}

const JSON_TYPE = ['content-type', 'application/json'];

async function find(
  { name, client }: Protocol,
  stored: StoredAnswers,
  id: string,
  { headers }: Exchange,
  { store, items, clock }: GatewayDeps,
): Promise<{ accountId: number; text: string }> {
  const { keyHeaders } = client;
  const { accountId } = await authenticate({ headers, endpoint: name, keyHeaders }, store, clock.now());
  const text = (await readable(items.find(accountId, [id]))).get(id);
  if (text === undefined) throw stored.notFound(id);
  return { accountId, text };
}

async function readable<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    const message = 'stored answers cannot be read now; try again';
    throw new GatewayError('unavailable', message, { retryAfter: 1, cause });
  }
}
