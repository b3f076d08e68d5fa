// How many tokens a request has: counted by the provider if it can, else estimated. A provider's error is never the answer.
import { readBody } from '../providers/reply-body.ts';
import { GatewayError } from '../errors.ts';
import type { TokenCount } from '../protocols/interface/endpoint.ts';
import { protocolFor, type Target } from '../routing/catalog.ts';
import type { RoutingQuery } from '../routing/resolve.ts';
import { routingQuery } from './inbound/route.ts';
import { readRequest, type Arrival, type Inbound } from './inbound/read-request.ts';
import { resolveReferences } from './inbound/stored-references.ts';
import { askingKey } from './inbound/asking-key.ts';
import { ClientGone, type Exchange, type GatewayDeps } from './exchange.ts';
import { buildRequest } from './outbound/build-request.ts';
import { keyed } from './outbound/rebuild.ts';

const TIMEOUT_MS = 5000;
const MAX_REPLY = 64 * 1024;

/** Writes the count. Throws GatewayError for the client's own mistakes. */
export async function countTokens(
  arrival: Arrival & { endpoint: TokenCount },
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { protocol, endpoint: counting } = arrival;
  const key = await askingKey(arrival, exchange, deps);
  const config = deps.current.config;
  const release = deps.inFlightLimit.enter(config, exchange.arrivedInTime);
  try {
    const { maxValues } = config.limits;
    const inbound = readRequest(arrival, await exchange.readBody(), maxValues);
    const forwarded = protocol.client.forwardedHeaders(exchange.headers, exchange.query);
    await deps.learn(inbound.model);
    const { stored } = protocol.client;
    const references = stored && (await resolveReferences(inbound, stored, key.accountId, deps));
    const query = routingQuery(references?.routed ?? inbound, { key, longContext: forwarded.longContext });
    const target = targetOf(query, deps);
    const counted = target === undefined ? undefined : await ask(inbound, target);
    const head = ['content-type', 'application/json'];
    if (counted === undefined) head.push('x-gateway-estimated', 'true');
    exchange.sink.send(
      200,
      head,
      counted ?? JSON.stringify(counting.encode((references?.translated ?? inbound).estimate())),
    );

    /** The provider's answer, unchanged; undefined if it gives none. */
    async function ask(request: Inbound, to: Target): Promise<Buffer | undefined> {
      if (protocolFor(to, query.protocol) !== protocol.name) return undefined;
      try {
        const usual = buildRequest(request, to, { forwarded, strict: false, references });
        const providerKey = deps.routing.keys.use(to);
        const built = providerKey === undefined ? usual : keyed(usual, providerKey);
        providerKey?.abandoned();
        const reply = await deps.client.open(
          {
            url: built.url,
            method: 'POST',
            headers: built.headers,
            body: built.bytes,
            stream: false,
            timeout: { ...to.provider.timeout, connect: TIMEOUT_MS, whole: TIMEOUT_MS },
            network: to.provider.network,
          },
          exchange.cancellation,
        );
        const body = await readBody(reply.body, MAX_REPLY);
        if (reply.status !== 200) return undefined;
        return counting.isCount(JSON.parse(body.toString('utf8'))) ? body : undefined;
      } catch (error) {
        if (error instanceof ClientGone) throw error;
        return undefined;
      }
    }
  } finally {
    exchange.whenDelivered(release);
  }
}

/** Undefined if every target cools down: the count is estimated then. */
function targetOf(query: RoutingQuery, { routing }: GatewayDeps): Target | undefined {
  try {
    return routing.resolve(query).targets[0];
  } catch (error) {
    if (error instanceof GatewayError && error.kind === 'unavailable') return undefined;
    throw error;
  }
}
