// How many tokens a messages request has: asked of the provider where it can tell, else estimated. Never a provider's error.
import { authenticate } from '../accounts/authenticate.ts';
import { isObject } from '../canonical/json.ts';
import { GatewayError } from '../errors.ts';
import { messages } from '../protocols/messages/index.ts';
import { readCountEnvelope } from '../protocols/messages/request/envelope.ts';
import type { Target } from '../routing/catalog.ts';
import type { RoutingQuery } from '../routing/routing.ts';
import { routingQuery } from './inbound/routing-query.ts';
import { ClientGone, type Exchange } from './exchange.ts';
import type { GatewayDeps } from './deps.ts';
import { forwardedHeaders } from './inbound/forwarded-headers.ts';
import { buildRequest } from './outbound/build-request.ts';
import { readRequest, type Inbound } from './inbound/read-request.ts';
import { readBody } from '../providers/read-body.ts';

const TIMEOUT_MS = 5000;
const MAX_REPLY = 64 * 1024;

/** Writes `{input_tokens}`. Throws GatewayError for the client's own mistakes. */
export async function countTokens(exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const endpoint = 'messages';
  const key = await authenticate({ headers: exchange.headers, endpoint }, deps.store, deps.clock.now());
  const config = deps.config();
  const leave = deps.gate.enter(config);
  try {
    const inbound = readRequest(
      messages,
      await exchange.readBody(),
      config.limits.maxValues,
      readCountEnvelope,
    );
    const passed = forwardedHeaders(exchange, messages);
    await deps.discovered;
    const target = targetOf(routingQuery(inbound, key, passed.beta), deps);
    const counted = target === undefined ? undefined : await ask(inbound, target);
    const head = ['content-type', 'application/json'];
    if (counted === undefined) head.push('x-gateway-estimated', 'true');
    exchange.sink.send(200, head, counted ?? JSON.stringify({ input_tokens: inbound.estimate() }));

    /** The provider's answer as it came. */
    async function ask(request: Inbound, to: Target): Promise<Buffer | undefined> {
      if (!to.provider.protocols.includes('messages')) return undefined;
      try {
        const prepared = buildRequest(request, to, passed, false);
        const reply = await deps.client.open(
          {
            url: prepared.url.replace(/\/messages(?=\?|$)/, '/messages/count_tokens'),
            method: 'POST',
            headers: prepared.headers,
            body: prepared.bytes,
            stream: false,
            timeout: { ...to.provider.timeout, connect: TIMEOUT_MS, whole: TIMEOUT_MS },
          },
          exchange.cancellation,
        );
        const body = await readBody(reply.body, MAX_REPLY);
        if (reply.status !== 200) return undefined;
        const value: unknown = JSON.parse(body.toString('utf8'));
        return isObject(value) && typeof value.input_tokens === 'number' ? body : undefined;
      } catch (error) {
        if (error instanceof ClientGone) throw error;
        return undefined;
      }
    }
  } finally {
    exchange.whenDelivered(leave);
  }
}

/** Undefined where every target cools down: the count is estimated then. */
function targetOf(question: RoutingQuery, { routing }: GatewayDeps): Target | undefined {
  try {
    return routing.resolve(question).targets[0];
  } catch (error) {
    if (error instanceof GatewayError && error.kind === 'unavailable') return undefined;
    throw error;
  }
}
