// Endpoints that are relayed where a target has them, and else done by any model: the request becomes one of the protocol's own path, which
// is counted and priced as such, and its answer the endpoint's.
import { authenticate } from '../../accounts/access.ts';
import type { JsonObject } from '../../canonical/json.ts';
import { parseJson } from '../../protocols/json/values.ts';
import { ownArrival, permissionAt, readRequest, type Arrival, type Inbound } from './read-request.ts';
import { BufferedExchange } from './buffered-exchange.ts';
import { isServed, routingQuery } from './route.ts';
import type { Instead } from '../../protocols/interface/endpoint.ts';
import type { Key } from '../../store/store.ts';
import type { Exchange, GatewayDeps, HeaderList, Sink } from '../exchange.ts';
import { infer } from '../inference.ts';

/** As `infer`. */
export function inferOrInstead(arrival: Arrival, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { endpoint } = arrival;
  if (endpoint.does !== 'relay' || endpoint.instead === undefined) return infer(arrival, exchange, deps);
  return chosen(endpoint.instead, arrival, exchange, deps);
}

async function chosen(
  instead: Instead,
  arrival: Arrival,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  const { client } = arrival.protocol;
  const asked = { headers: exchange.headers, endpoint: permissionAt(arrival), keyHeaders: client.keyHeaders };
  const key = await authenticate(asked, deps.store, deps.clock.now());
  const { limits } = deps.current.config;
  const release = deps.inFlightLimit.enter(deps.current.config, exchange.arrivedInTime);
  let inbound: Inbound;
  try {
    inbound = readRequest(arrival, await exchange.readBody(), limits.maxValues);
    await deps.learn(inbound.model);
  } finally {
    release();
  }
  const { targets } = deps.routing.resolve(routingQuery(inbound, { key }));
  if (isServed(targets, inbound)) {
    return infer(arrival, new BufferedExchange(exchange, inbound.bytes, exchange.sink), deps);
  }
  const body = Buffer.from(JSON.stringify(instead.ask(inbound.value)));
  const sink = new InsteadSink(exchange.sink, (reply) =>
    instead.answer(reply, inbound.value, makerOf(key, deps)),
  );
  return infer(ownArrival(arrival.protocol), new BufferedExchange(exchange, body, sink), deps);
}

function makerOf({ accountId }: Key, { ids, items, clock }: GatewayDeps): Parameters<Instead['answer']>[2] {
  return { ids, now: () => clock.now(), seal: (text) => items.seal(accountId, text) };
}

/** Takes the whole answer of the model, and sends what it stands for. */
class InsteadSink implements Sink {
  readonly #sink: Sink;
  readonly #answer: (reply: JsonObject) => JsonObject;

  constructor(sink: Sink, answer: (reply: JsonObject) => JsonObject) {
    this.#sink = sink;
    this.#answer = answer;
  }

  get opened(): boolean {
    return this.#sink.opened;
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    const reply = parseJson(body.toString()) as JsonObject;
    this.#sink.send(status, headers, JSON.stringify(this.#answer(reply)));
  }

  open(headers: HeaderList, notices: Parameters<Sink['open']>[1]): void {
    this.#sink.open(headers, notices);
  }

  write(bytes: Buffer | string): boolean {
    return this.#sink.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener);
  }

  end(last?: Buffer | string): void {
    this.#sink.end(last);
  }

  breakOff(last: Buffer | string): void {
    this.#sink.breakOff(last);
  }
}
