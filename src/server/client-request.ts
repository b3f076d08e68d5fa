// One request from its head to the end of its answer, as the gateway and the connections see it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CancellationSource } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import { ClientGone, type Exchange } from '../gateway/exchange.ts';
import { readBody } from './body.ts';
import type { Connections, UnderWay } from './connections.ts';
import { ClientResponse } from './respond.ts';

interface ClientRequestOptions {
  requestId: string;
  clock: Clock;
  connections: Connections;
  /** Bytes of a body, decompressed. */
  maxBody: number;
  /** The connection is not used again. */
  closing: () => boolean;
  /** The client expects something else than `100-continue`. */
  unexpected: boolean;
}

const ignore = (): void => undefined;

/** A class, as all that is made for each request: literals with getters or closures cost a hidden class each. */
export class ClientRequest implements Exchange, UnderWay {
  readonly requestId: string;
  readonly path: string;
  readonly query: string;
  readonly cancellation = new CancellationSource();
  readonly sink: ClientResponse;
  readonly response: ServerResponse;
  readonly unexpected: boolean;
  readonly #request: IncomingMessage;
  readonly #connections: Connections;
  readonly #maxBody: number;
  #over = false;
  #afterwards: () => void = ignore;

  constructor(request: IncomingMessage, response: ServerResponse, options: ClientRequestOptions) {
    const url = request.url ?? '/';
    const at = url.indexOf('?');
    this.requestId = options.requestId;
    this.path = at < 0 ? url : url.slice(0, at);
    this.query = at < 0 ? '' : url.slice(at);
    this.sink = new ClientResponse(response, options);
    this.response = response;
    this.unexpected = options.unexpected;
    this.#request = request;
    this.#connections = options.connections;
    this.#maxBody = options.maxBody;
    options.connections.begin(this);
    response.on('error', ignore);
    response.on('close', () => this.closed());
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  readBody(): Buffer | Promise<Buffer> {
    return readBody(this.#request, this.#maxBody, this.cancellation);
  }

  whenDelivered(task: () => void): void {
    if (this.#over) task();
    else this.#afterwards = task;
  }

  closed(): void {
    if (this.#over) return;
    this.#over = true;
    this.#connections.end(this);
    this.#afterwards();
    if (!this.response.writableFinished) this.cancellation.cancel(new ClientGone());
  }
}
