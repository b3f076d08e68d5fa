// One message of a WebSocket as a request: the line of the gateway sees no difference from one over HTTP.
import type { Socket } from 'node:net';
import { CancellationSource } from '../../cancellation.ts';
import type { GatewayError } from '../../errors.ts';
import { type AnswerMemory, ClientGone, type Exchange } from '../../gateway/exchange.ts';
import type { Connections, OpenRequest } from '../connections.ts';
import { MessageSink } from './message-sink.ts';

/** What all messages of a connection share: its upgrade was a request, too. */
export interface OfConnection {
  readonly socket: Socket;
  readonly path: string;
  readonly headers: Exchange['headers'];
  readonly query: string;
  readonly memory: AnswerMemory;
  readonly connections: Connections;
}

type SinkOptions = Omit<ConstructorParameters<typeof MessageSink>[0], 'onDelivered' | 'headers'>;

const ignore = (): void => undefined;

export class MessageExchange implements Exchange, OpenRequest {
  readonly requestId: string;
  readonly socket: Socket;
  readonly path: string;
  readonly headers: Exchange['headers'];
  readonly query: string;
  readonly memory: AnswerMemory;
  readonly arrivedInTime: boolean;
  readonly isOpenToAnswers = false;
  /** Whoever opened the connection has sent a key. */
  readonly isLocal = false;
  readonly cancellation = new CancellationSource();
  readonly sink: MessageSink;
  /** Resolves when the last byte of the answer has left, or the connection is closed. */
  readonly over: Promise<void>;
  admitted = false;
  answered = false;
  /** Set before the line reads it. */
  body: Buffer = Buffer.alloc(0);
  readonly #connections: Connections;
  #isOver = false;
  #afterwards: () => void = ignore;
  #onOver: () => void = ignore;

  constructor(connection: OfConnection, arrivedInTime: boolean, options: SinkOptions) {
    this.requestId = options.requestId;
    this.socket = connection.socket;
    this.path = connection.path;
    this.headers = connection.headers;
    this.query = connection.query;
    this.memory = connection.memory;
    this.arrivedInTime = arrivedInTime;
    this.#connections = connection.connections;
    this.over = new Promise((resolve) => (this.#onOver = resolve));
    this.sink = new MessageSink({ ...options, headers: connection.headers, onDelivered: () => this.#end() });
    this.#connections.begin(this);
  }

  get isGone(): boolean {
    return this.socket.destroyed;
  }

  readBody(): Buffer {
    return this.body;
  }

  whenDelivered(task: () => void): void {
    if (this.#isOver) task();
    else this.#afterwards = task;
  }

  fail(error: GatewayError): void {
    this.sink.fail(error);
  }

  /** The connection is closed. */
  closed(): void {
    this.sink.abandon();
    if (this.#isOver) return;
    this.#end();
    this.cancellation.cancel(new ClientGone());
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connections.end(this);
    this.#afterwards();
    this.#onOver();
  }
}
