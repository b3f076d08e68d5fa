// The two sides of a request, as a recording sees them pass: the client's exchange, and the provider's reply.
import type { Exchange, HeaderList, Sink } from '../../gateway/exchange.ts';
import type { StreamNotices } from '../../protocols/interface/stream.ts';
import type { ProviderReply } from '../../providers/exchange.ts';
import type { BodyReader, ReplyBody } from '../../providers/reply-body.ts';
import { pairsOf } from './headers.ts';
import type { TakenAnswer } from './answer.ts';

/** Milliseconds since the request arrived. */
type Elapsed = () => number;

export class WatchedExchange implements Exchange {
  readonly #inner: Exchange;
  readonly sink: Sink;
  /** undefined: it was not read. */
  body: Buffer | undefined;

  constructor(inner: Exchange, answer: TakenAnswer, elapsed: Elapsed) {
    this.#inner = inner;
    this.sink = new WatchedSink(inner.sink, answer, elapsed);
  }

  get requestId(): string {
    return this.#inner.requestId;
  }

  get headers(): Exchange['headers'] {
    return this.#inner.headers;
  }

  get query(): string {
    return this.#inner.query;
  }

  get cancellation(): Exchange['cancellation'] {
    return this.#inner.cancellation;
  }

  get memory(): Exchange['memory'] {
    return this.#inner.memory;
  }

  get isLocal(): boolean {
    return this.#inner.isLocal;
  }

  get arrivedInTime(): boolean {
    return this.#inner.arrivedInTime;
  }

  get admitted(): boolean {
    return this.#inner.admitted;
  }

  set admitted(value: boolean) {
    this.#inner.admitted = value;
  }

  get answered(): boolean {
    return this.#inner.answered;
  }

  set answered(value: boolean) {
    this.#inner.answered = value;
  }

  readBody(): Buffer | Promise<Buffer> {
    const body = this.#inner.readBody();
    if (!(body instanceof Promise)) return (this.body = body);
    return body.then((bytes) => (this.body = bytes));
  }

  whenDelivered(task: () => void): void {
    this.#inner.whenDelivered(task);
  }
}

class WatchedSink implements Sink {
  readonly #inner: Sink;
  readonly #answer: TakenAnswer;
  readonly #elapsed: Elapsed;

  constructor(inner: Sink, answer: TakenAnswer, elapsed: Elapsed) {
    this.#inner = inner;
    this.#answer = answer;
    this.#elapsed = elapsed;
  }

  get opened(): boolean {
    return this.#inner.opened;
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    this.#answer.begin(status, Object.fromEntries(pairsOf(headers)));
    this.#take(body);
    this.#answer.end = 'whole';
    this.#inner.send(status, headers, body);
  }

  open(headers: HeaderList, notices: Required<StreamNotices>): void {
    if (!this.opened) {
      this.#answer.begin(200, {
        ...Object.fromEntries(pairsOf(headers)),
        'content-type': 'text/event-stream',
      });
    }
    this.#inner.open(headers, notices);
  }

  write(bytes: Buffer | string): boolean {
    this.#take(bytes);
    return this.#inner.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#inner.onDrain(listener);
  }

  end(last?: Buffer | string): void {
    if (last !== undefined) this.#take(last);
    this.#answer.end = 'whole';
    this.#inner.end(last);
  }

  breakOff(last: Buffer | string): void {
    this.#take(last);
    this.#answer.end = 'broken';
    this.#inner.breakOff(last);
  }

  #take(bytes: Buffer | string): void {
    this.#answer.take(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, this.#elapsed());
  }
}

/** The reply, with its body passing by. */
export function watchedReply(reply: ProviderReply, answer: TakenAnswer, elapsed: Elapsed): ProviderReply {
  answer.begin(reply.status, Object.fromEntries(reply.headers()));
  return {
    status: reply.status,
    body: watchedBody(reply.body, answer, elapsed),
    header: (name) => reply.header(name),
    headers: () => reply.headers(),
  };
}

function watchedBody(body: ReplyBody, answer: TakenAnswer, elapsed: Elapsed): ReplyBody {
  return {
    start: (reader) => body.start(watchedReader(reader, answer, elapsed)),
    pause: () => body.pause(),
    resume: () => body.resume(),
    abort: () => body.abort(),
    release: () => body.release(),
  };
}

function watchedReader(reader: BodyReader, answer: TakenAnswer, elapsed: Elapsed): BodyReader {
  return {
    chunk(bytes) {
      answer.take(bytes, elapsed());
      reader.chunk(bytes);
    },
    end(clean) {
      answer.end = 'whole';
      reader.end(clean);
    },
    fail(failure) {
      answer.end = 'broken';
      reader.fail(failure);
    },
  };
}
