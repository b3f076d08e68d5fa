// Takes in what a later request of the connection continues, without an answer now: the request is read, its model and its references are
// looked up, and the client gets an id. It is not counted.
import { authenticate } from '../../accounts/access.ts';
import type { Exchange, GatewayDeps } from '../exchange.ts';
import { permissionAt, readRequest, type Arrival } from '../inbound/read-request.ts';
import { route } from '../inbound/route.ts';
import { replyContext } from './reply-context.ts';
import { noticesOf } from './silence.ts';

/** Throws GatewayError as `infer` does. */
export async function prepare(arrival: Arrival, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { client } = arrival.protocol;
  const { headers, cancellation, memory } = exchange;
  const asked = { headers, endpoint: permissionAt(arrival), keyHeaders: client.keyHeaders };
  const key = await authenticate(asked, deps.store, deps.clock.now());
  const { config } = deps.current;
  const release = deps.inFlightLimit.enter(config, exchange.arrivedInTime);
  try {
    const inbound = readRequest(arrival, await exchange.readBody(), config.limits.maxValues);
    const { references } = await route(inbound, { key, memory }, cancellation, deps);
    // Throws for an earlier answer that is not there.
    const request = references === undefined ? inbound : references.translated;
    const encoder = client.createStreamEncoder(
      replyContext(inbound, { key, startedAt: deps.clock.monotonic() }, deps, exchange),
    );
    const events =
      encoder.push({ type: 'start', id: '', model: inbound.model }) +
      encoder.push({ type: 'end', stop: { reason: 'end' }, usage: { input: 0, output: 0 } });
    const answer = encoder.answer?.();
    const items = answer && client.stored?.toStore({ request, answer });
    if (items !== undefined) {
      memory?.keep(items);
      if (inbound.storing && config.responses.store) {
        deps.items.put(
          key.accountId,
          items.map((item) => ({ kind: 'answer', ...item })),
        );
      }
    }
    exchange.sink.open([], noticesOf(client, encoder));
    exchange.sink.end(events);
    exchange.answered = true;
  } finally {
    exchange.whenDelivered(release);
  }
}
