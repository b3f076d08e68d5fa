// Where a request may go: what routing is asked about it, and the targets that routing answers with. Stored items that the body refers
// to count, too.
import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Identity } from '../../conversations/identity.ts';
import { GatewayError } from '../../errors.ts';
import { servedPath, type Relayed, type ServedAt } from '../../protocols/interface/endpoint.ts';
import { protocolFor, type Target } from '../../routing/catalog.ts';
import type { RoutingQuery, Resolution } from '../../routing/resolve.ts';
import type { Key } from '../../store/store.ts';
import type { AnswerMemory, GatewayDeps } from '../exchange.ts';
import type { Inbound } from './read-request.ts';
import { type StoredReferences, resolveReferences } from './stored-references.ts';

/** Who asks, beside the body. */
export interface Asking {
  key: Pick<Key, 'models' | 'accountId'>;
  /** The name that is meant, if it is not as the client wrote it. */
  model?: string;
  /** The client's headers ask for the long context window. */
  longContext?: boolean;
  /** The conversation of the request, and the agent within it; undefined: routing does not depend on it. */
  identify?: (inbound: Inbound) => Identity;
  /** What the connection remembers. */
  memory?: AnswerMemory | undefined;
}

export function routingQuery(inbound: Inbound, asking: Asking): RoutingQuery {
  return new InboundQuery(inbound, asking);
}

class InboundQuery implements RoutingQuery {
  readonly protocol: RoutingQuery['protocol'];
  readonly model: string;
  readonly needs: RoutingQuery['needs'];
  readonly allowed: RoutingQuery['allowed'];
  readonly accountId: number;
  readonly longContext: boolean;
  readonly #inbound: Inbound;
  readonly #identify: Asking['identify'];
  #identity: Identity | undefined;
  #openToolTurn: boolean | undefined;

  constructor(inbound: Inbound, { key, model = inbound.model, longContext = false, identify }: Asking) {
    this.longContext = longContext;
    this.protocol = inbound.protocol.spoken;
    this.model = model;
    this.needs = inbound.needs;
    this.allowed = key.models;
    this.accountId = key.accountId;
    this.#inbound = inbound;
    this.#identify = identify;
  }

  estimate(): number {
    return this.#inbound.estimate();
  }

  get openToolTurn(): boolean {
    const inbound = this.#inbound;
    return (this.#openToolTurn ??= inbound.protocol.client.hints.hasOpenToolTurn(inbound));
  }

  get identity(): Identity | undefined {
    return (this.#identity ??= this.#identify?.(this.#inbound));
  }
}

/**
 * A request that is relayed or not served has the targets that speak its protocol and have its endpoint. Throws GatewayError
 * `not_found` or `invalid_request` if none does.
 */
function relayedTo(
  resolution: Resolution,
  { protocol, model, endpoint }: Inbound,
  { routing }: Pick<GatewayDeps, 'routing'>,
  allowed: Key['models'],
): Resolution {
  if (endpoint.does !== 'relay') return resolution;
  const has = (target: Target): boolean => isServedAt(target, protocol.spoken, endpoint);
  const served = resolution.targets.filter(has);
  const [first] = served;
  const targets = endpoint.at?.oneModel ? served.filter((target) => target.model === first?.model) : served;
  if (first !== undefined) return { ...resolution, targets, lone: targets.length === 1 };
  const shown = JSON.stringify(model.slice(0, 200));
  if (endpoint.at !== undefined) {
    const others = routing.models(allowed).filter(({ targets: known }) => known.some(has));
    throw new GatewayError('invalid_request', noneServes(shown, endpoint.at, others), { param: 'model' });
  }
  throw new GatewayError(
    'not_found',
    `${servedPath(endpoint)} is only relayed, and no provider of ${shown} speaks ${protocol.name}`,
  );
}

/** Whether one of them has the endpoint of a relayed request. */
export function isServed(targets: readonly Target[], { protocol, endpoint }: Inbound): boolean {
  return endpoint.does !== 'relay' || targets.some((target) => isServedAt(target, protocol.spoken, endpoint));
}

function isServedAt(target: Target, client: RoutingQuery['protocol'], { at, carrier }: Relayed): boolean {
  const name = carrier?.protocol ?? client;
  if (protocolFor(target, name) !== name || target.provider.source === 'builtin') return false;
  return at === undefined || at.pathOf(target.traits) !== undefined;
}

const MOST_NAMED = 5;

function noneServes(shown: string, { ability }: ServedAt, others: readonly { name: string }[]): string {
  const names = others.slice(0, MOST_NAMED).map(({ name }) => `\`${name}\``);
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  const known = names.length === 0 ? 'no model here is known to' : `these do: ${names.join(', ')}${more}`;
  return `The model ${shown} does not ${ability}; ${known}`;
}

/** Where a request may go. */
export interface Route {
  query: RoutingQuery;
  resolution: Resolution;
  /** What the body refers to; undefined: nothing. */
  references: StoredReferences | undefined;
}

type RouteDeps = Pick<GatewayDeps, 'routing' | 'clock' | 'learn' | 'store' | 'items' | 'log' | 'current'>;

/**
 * The targets in the order to try. Throws or rejects with GatewayError as `routing.resolve` and `resolveReferences` do, and with the
 * cancellation's reason. A promise only if something has to be waited for.
 */
export function route(
  inbound: Inbound,
  asking: Asking,
  cancellation: Cancellation,
  deps: RouteDeps,
): Route | Promise<Route> {
  const query = routingQuery(inbound, asking);
  const found = resolveTargets(query, cancellation, deps);
  const next = (resolution: Resolution): Route | Promise<Route> =>
    withReferences({ query, resolution }, inbound, asking, cancellation, deps);
  return found instanceof Promise ? found.then(next) : next(found);
}

function withReferences(
  found: Omit<Route, 'references'>,
  inbound: Inbound,
  asking: Asking,
  cancellation: Cancellation,
  deps: RouteDeps,
): Route | Promise<Route> {
  const { stored } = inbound.protocol.client;
  const { accountId } = asking.key;
  const resolving = stored && resolveReferences(inbound, stored, accountId, deps, asking.memory);
  const going = ({ query, resolution }: typeof found, references: Route['references']): Route => {
    const relayed = relayedTo(resolution, inbound, deps, asking.key.models);
    const [first] = relayed.targets;
    if (first !== undefined) resolution.took?.(first.key);
    return { query, resolution: relayed, references };
  };
  if (resolving === undefined) return going(found, undefined);
  return resolving.then(async (references) => {
    if (references.routed === undefined) return going(found, references);
    const query = routingQuery(references.routed, asking);
    return going({ query, resolution: await resolveTargets(query, cancellation, deps) }, references);
  });
}

function resolveTargets(
  query: RoutingQuery,
  cancellation: Cancellation,
  deps: RouteDeps,
): Resolution | Promise<Resolution> {
  const { routing, learn } = deps;
  const learning = learn(query.model);
  if (learning !== undefined || isUnknown(query, routing))
    return resolveLater(learning, query, cancellation, deps);
  return afterCooling(routing.resolve(query), query, cancellation, deps);
}

/** Whether it matters which target answered the conversation before, and this process does not know. */
function isUnknown(query: RoutingQuery, routing: GatewayDeps['routing']): boolean {
  return routing.targetsOf(query.model).length > 1 && routing.affinity.isNew(query);
}

async function resolveLater(
  learning: Promise<void> | undefined,
  query: RoutingQuery,
  cancellation: Cancellation,
  deps: RouteDeps,
): Promise<Resolution> {
  const { routing } = deps;
  await learning;
  if (isUnknown(query, routing)) await recallAnswers(query, deps);
  return afterCooling(routing.resolve(query), query, cancellation, deps);
}

/** Where all targets cool, once more when the first of them is asked again. */
function afterCooling(
  resolution: Resolution,
  query: RoutingQuery,
  cancellation: Cancellation,
  { routing, clock }: Pick<GatewayDeps, 'routing' | 'clock'>,
): Resolution | Promise<Resolution> {
  if (resolution.waitMs === undefined) return resolution;
  return pause(resolution.waitMs, cancellation, clock).then(() => routing.resolve(query));
}

/** Rows of a conversation that are read: its agents and models take turns. */
const MOST_ROWS = 20;

/** Which targets answered the conversation when another gateway on the database served it, or this one before its start. */
async function recallAnswers(
  query: RoutingQuery,
  { routing, store }: Pick<GatewayDeps, 'routing' | 'store'>,
): Promise<void> {
  const { identity } = query;
  if (identity === undefined) return;
  const { conversation, agent } = identity;
  if (conversation === null) return;
  // Without a database the request continues without these rows.
  const rows = await store.listRequests({ conversation, limit: MOST_ROWS }).catch(() => []);
  for (const { agent: of, provider, model, modelAsked, error } of rows.reverse()) {
    if (of !== agent || provider === null || error !== null) continue;
    const target = routing.targetsOf(modelAsked).find(({ key }) => key === `${provider}/${model ?? ''}`);
    if (target !== undefined) routing.affinity.remember({ identity, model: modelAsked }, target);
  }
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
