// One request of a client, from its head to the end of its answer.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { CancellationSource } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { GatewayError } from '../errors.ts';
import { ClientGone, type SiteExchange } from '../gateway/exchange.ts';
import { isLoopback, isLoopbackHost } from '../loopback.ts';
import { protocolOfAnyClient, protocolOfClient } from '../protocols/registry.ts';
import type { Connections, OpenRequest } from './connections.ts';
import { readBody } from './request-body.ts';
import { ClientResponse } from './respond.ts';

interface ClientRequestOptions {
  requestId: string;
  clock: Clock;
  connections: Connections;
  /** Bytes of a body, decompressed. */
  maxBody: number;
  /** The connection is not used again. */
  closing: () => boolean;
  /** Before the server stopped. */
  arrivedInTime: boolean;
  /** Its `expect` header is another than `100-continue`. */
  unexpected: boolean;
  /** Protocols of clients without keys are served. */
  keyless: boolean;
  /** The first bytes behind a request for a WebSocket; undefined: it asks for none. */
  upgradeHead: Buffer | undefined;
}

/** Headers that proxies add. */
const FORWARDED = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/;

function isForwarded(headers: IncomingMessage['headers']): boolean {
  return Object.keys(headers).some((name) => FORWARDED.test(name));
}

/** By what name a program asks its own machine: of a proxy that passes on the name that it has itself, no header may tell more. */
function asksThisMachine(host = ''): boolean {
  return isLoopbackHost(host) || /^(?:0\.0\.0\.0|\[::\])(?::\d+)?$/.test(host);
}

const ignore = (): void => undefined;

/** A class, as all that is made for each request is: it costs least. */
export class ClientRequest implements SiteExchange, OpenRequest {
  readonly requestId: string;
  readonly path: string;
  readonly query: string;
  readonly cancellation = new CancellationSource();
  readonly sink: ClientResponse;
  readonly response: ServerResponse;
  readonly unexpected: boolean;
  readonly arrivedInTime: boolean;
  readonly upgradeHead: Buffer | undefined;
  admitted = false;
  answered = false;
  readonly #request: IncomingMessage;
  readonly #connections: Connections;
  readonly #maxBody: number;
  readonly #keyless: boolean;
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
    this.arrivedInTime = options.arrivedInTime;
    this.upgradeHead = options.upgradeHead;
    this.#request = request;
    this.#connections = options.connections;
    this.#maxBody = options.maxBody;
    this.#keyless = options.keyless;
    options.connections.begin(this);
    response.on('error', ignore);
    response.on('close', () => this.closed());
  }

  get socket(): Socket {
    return this.#request.socket;
  }

  get isOpenToAnswers(): boolean {
    return !this.response.headersSent && !this.#request.complete;
  }

  get incoming(): IncomingMessage {
    return this.#request;
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

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get ports(): { remote: number; local: number } | undefined {
    const { remotePort: remote, localPort: local } = this.#request.socket;
    return remote === undefined || local === undefined ? undefined : { remote, local };
  }

  /** Its connection comes from this machine, and nothing shows that a proxy passes on what came from elsewhere. */
  get isLocal(): boolean {
    const { headers } = this;
    const isNear = isLoopback(this.remoteAddress.replace(/^::ffff:/, ''));
    return isNear && asksThisMachine(headers.host) && !isForwarded(headers);
  }

  get isGone(): boolean {
    return this.response.destroyed;
  }

  fail(error: GatewayError): void {
    const find = this.#keyless ? protocolOfAnyClient : protocolOfClient;
    this.sink.fail(error, find(this.path, this.headers));
  }

  readBody(most = this.#maxBody): Buffer | Promise<Buffer> {
    return readBody(this.#request, Math.min(most, this.#maxBody), this.cancellation);
  }

  readForm(most: number): Buffer | Promise<Buffer> {
    return readBody(this.#request, Math.min(most, this.#maxBody), this.cancellation, 'form');
  }

  readBytes(most: number): Buffer | Promise<Buffer> {
    return readBody(this.#request, Math.min(most, this.#maxBody), this.cancellation, 'any');
  }

  whenDelivered(task: () => void): void {
    if (this.#over) task();
    else this.#afterwards = task;
  }

  /** Its answer has left, or its connection is closed. */
  closed(): void {
    if (this.#over) return;
    this.#over = true;
    this.#connections.end(this);
    this.#afterwards();
    if (!this.response.writableFinished) this.cancellation.cancel(new ClientGone());
  }
}
