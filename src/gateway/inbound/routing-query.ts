// What routing asks about a request: its needs, and which conversation it belongs to.
import { createHash } from 'node:crypto';
import { isObject, type JsonValue } from '../../canonical/json.ts';
import type { Key } from '../../store/store.ts';
import type { RoutingQuery } from '../../routing/routing.ts';
import type { Inbound } from './read-request.ts';

/** `beta`: of the client's headers. */
export function routingQuery(
  inbound: Inbound,
  key: Pick<Key, 'models' | 'accountId'>,
  beta?: string,
): RoutingQuery {
  return new InboundQuestion(inbound, key, beta);
}

const LONG_CONTEXT = 'context-1m-';

class InboundQuestion implements RoutingQuery {
  readonly protocol: RoutingQuery['protocol'];
  readonly model: string;
  readonly needs: RoutingQuery['needs'];
  readonly allowed: RoutingQuery['allowed'];
  readonly accountId: number;
  readonly openToolTurn: boolean;
  readonly longContext: boolean;
  readonly #inbound: Inbound;
  #conversation: string | undefined;

  constructor(inbound: Inbound, key: Pick<Key, 'models' | 'accountId'>, beta: string | undefined) {
    this.longContext = beta?.includes(LONG_CONTEXT) === true;
    this.protocol = inbound.protocol.name;
    this.model = inbound.model;
    this.needs = inbound.needs;
    this.allowed = key.models;
    this.accountId = key.accountId;
    this.openToolTurn = endsWithToolResult(inbound.value.messages);
    this.#inbound = inbound;
  }

  estimate(): number {
    return this.#inbound.estimate();
  }

  /** Hashed only where several targets make it matter. */
  get conversation(): string {
    return (this.#conversation ??= beginningOf(this.#inbound));
  }
}

/** System text is long and often shared; what tells conversations apart is at its end and in the first user message. */
const SYSTEM_END = 2000;

/**
 * A hash of what stays while a conversation grows: the client's own word for requests that share a cache, else system text and
 * messages up to the first user message.
 */
function beginningOf({ value }: Inbound): string {
  const { prompt_cache_key: key } = value;
  if (typeof key === 'string' && key !== '') return createHash('sha256').update(key).digest('base64url');
  const messages = Array.isArray(value.messages) ? value.messages : [];
  const first = messages.findIndex((message) => isObject(message) && message.role === 'user');
  const hash = createHash('sha256');
  hash.update((JSON.stringify(value.system) ?? '').slice(-SYSTEM_END));
  for (const message of messages.slice(0, first + 1)) hash.update(JSON.stringify(message));
  return hash.digest('base64url');
}

function endsWithToolResult(messages: JsonValue | undefined): boolean {
  // Some clients put system text behind the results.
  const last = Array.isArray(messages)
    ? messages.findLast((message) => !isObject(message) || message.role !== 'system')
    : undefined;
  if (!isObject(last)) return false;
  if (last.role === 'tool' || last.role === 'function') return true;
  return (
    Array.isArray(last.content) && last.content.some((part) => isObject(part) && part.type === 'tool_result')
  );
}
