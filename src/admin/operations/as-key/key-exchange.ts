// A request of the owner's page as one of a key: the line of the gateway sees no difference from one of the key's own client.
import type { ProtocolName } from '../../../canonical/request.ts';
import type { GatewayError } from '../../../errors.ts';
import type { Exchange, Sink, SiteExchange } from '../../../gateway/exchange.ts';
import type { FinishedTrace } from '../../../gateway/trace.ts';
import type { Key } from '../../../store/store.ts';

/** Resolves when the request is over, however it ended: the exchange knows of its failure. */
export type AskAsKey = (
  protocol: ProtocolName,
  exchange: KeyExchange,
  finished: (trace: FinishedTrace) => void,
) => Promise<void>;

/** The label of these requests in usage and conversations. */
const HEADERS = { 'content-type': 'application/json', 'x-gateway-label': 'dashboard' };

export class KeyExchange implements Exchange {
  readonly key: Key;
  readonly sink: Sink;
  readonly path: string;
  /** Nothing that the browser sent, such as its cookie, reaches a provider. */
  readonly headers = HEADERS;
  readonly query = '';
  readonly isLocal = false;
  admitted = false;
  answered = false;
  /** Why there is no answer, or no whole one. */
  failure: GatewayError | undefined;
  readonly #outer: SiteExchange;
  readonly #body: Buffer;

  constructor(outer: SiteExchange, asked: { key: Key; path: string; body: object; sink: Sink }) {
    this.#outer = outer;
    this.#body = Buffer.from(JSON.stringify(asked.body));
    this.key = asked.key;
    this.path = asked.path;
    this.sink = asked.sink;
  }

  get requestId(): string {
    return this.#outer.requestId;
  }

  get cancellation(): Exchange['cancellation'] {
    return this.#outer.cancellation;
  }

  get arrivedInTime(): boolean {
    return this.#outer.arrivedInTime;
  }

  get isGone(): boolean {
    return this.cancellation.reason !== undefined;
  }

  readBody(): Buffer {
    return this.#body;
  }

  fail(error: GatewayError): void {
    this.failure = error;
  }

  whenDelivered(task: () => void): void {
    this.#outer.whenDelivered(task);
  }
}
