// What routing asks about a request: its needs, and which conversation it belongs to.
import type { Key } from '../../store/store.ts';
import type { RoutingQuery } from '../../routing/routing.ts';
import type { Inbound } from './read-request.ts';

/** `longContext`: of the client's headers. */
export function routingQuery(
  inbound: Inbound,
  key: Pick<Key, 'models' | 'accountId'>,
  longContext = false,
): RoutingQuery {
  return new InboundQuestion(inbound, key, longContext);
}

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

  constructor(inbound: Inbound, key: Pick<Key, 'models' | 'accountId'>, longContext: boolean) {
    this.longContext = longContext;
    this.protocol = inbound.protocol.name;
    this.model = inbound.model;
    this.needs = inbound.needs;
    this.allowed = key.models;
    this.accountId = key.accountId;
    this.openToolTurn = inbound.protocol.client.hints.hasOpenToolTurn(inbound.value);
    this.#inbound = inbound;
  }

  estimate(): number {
    return this.#inbound.estimate();
  }

  /** Hashed only where several targets make it matter. */
  get conversation(): string {
    const { protocol, value } = this.#inbound;
    return (this.#conversation ??= protocol.client.hints.conversation(value));
  }
}
