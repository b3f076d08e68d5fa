// What routing is asked about a request, and the targets that it answers with. If all of several targets cool down for a short
// time, the request waits for the first of them.
import type { Key } from '../../store/store.ts';
import type { RoutingQuery, Resolution, Routing } from '../../routing/routing.ts';
import type { Inbound } from './read-request.ts';
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import { GatewayError } from '../../errors.ts';
import { protocolFor } from '../../routing/catalog.ts';

/** `longContext`: the client's headers ask for the long context window. */
export function routingQuery(
  inbound: Inbound,
  key: Pick<Key, 'models' | 'accountId'>,
  longContext = false,
): InboundQuery {
  return new InboundQuery(inbound, key, longContext);
}

class InboundQuery implements RoutingQuery {
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

  /** The same, if it was hashed. */
  get knownConversation(): string | undefined {
    return this.#conversation;
  }
}

/** A request that is relayed or not served has the targets that speak its protocol; throws GatewayError `not_found` if none does. */
export function relayedTo(resolution: Resolution, { protocol, model, relayedPath }: Inbound): Resolution {
  if (relayedPath === undefined) return resolution;
  const targets = resolution.targets.filter((target) => protocolFor(target, protocol.name) === protocol.name);
  if (targets.length > 0) return { ...resolution, targets, lone: targets.length === 1 };
  const shown = JSON.stringify(model.slice(0, 200));
  throw new GatewayError(
    'not_found',
    `/v1${relayedPath} is relayed alone, and no provider of ${shown} speaks ${protocol.name}`,
  );
}

/** The targets in the order to try. Throws GatewayError as `routing.resolve` does; rejects with the cancellation's reason. */
export async function resolveTargets(
  query: RoutingQuery,
  cancellation: Cancellation,
  { routing, clock }: { routing: Routing; clock: Clock },
): Promise<Resolution> {
  const resolution = routing.resolve(query);
  if (resolution.waitMs === undefined) return resolution;
  await pause(resolution.waitMs, cancellation, clock);
  return routing.resolve(query);
}

function pause(ms: number, cancellation: Cancellation, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const cancelTimer = clock.after(ms, () => {
      cancellation.unsubscribe(onCancel);
      resolve();
    });
    function onCancel(): void {
      cancelTimer();
      reject(cancellation.reason ?? new Error('cancelled'));
    }
    cancellation.subscribe(onCancel);
  });
}
