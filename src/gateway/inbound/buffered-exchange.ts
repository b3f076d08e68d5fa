// A request whose body was read before the line reads it, and whose answer passes another sink.
import type { AnswerMemory, Exchange, Sink } from '../exchange.ts';

export class BufferedExchange<S extends Sink = Sink> implements Exchange {
  readonly sink: S;
  readonly #exchange: Exchange;
  readonly #body: Buffer;

  constructor(exchange: Exchange, body: Buffer, sink: S) {
    this.sink = sink;
    this.#exchange = exchange;
    this.#body = body;
  }

  get requestId(): string {
    return this.#exchange.requestId;
  }
  get headers(): Exchange['headers'] {
    return this.#exchange.headers;
  }
  get query(): string {
    return this.#exchange.query;
  }
  get cancellation(): Exchange['cancellation'] {
    return this.#exchange.cancellation;
  }
  get memory(): AnswerMemory | undefined {
    return this.#exchange.memory;
  }
  get isLocal(): boolean {
    return this.#exchange.isLocal;
  }
  get arrivedInTime(): boolean {
    return this.#exchange.arrivedInTime;
  }
  get admitted(): boolean {
    return this.#exchange.admitted;
  }
  set admitted(admitted: boolean) {
    this.#exchange.admitted = admitted;
  }
  get answered(): boolean {
    return this.#exchange.answered;
  }
  set answered(answered: boolean) {
    this.#exchange.answered = answered;
  }
  readBody(): Buffer {
    return this.#body;
  }
  whenDelivered(task: () => void): void {
    this.#exchange.whenDelivered(task);
  }
}
