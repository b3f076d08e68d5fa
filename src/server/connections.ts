// Connections of clients, the requests under way on them, and their bodies. Node counts an answer as delivered once it was handed
// over, and does not tell a response that waits behind others that its connection has ended; a slow reader and a client that pipelines
// need both. A client that takes nothing of what waits for it is dropped, else it would hold memory, a slot and a provider for as long
// as it likes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { CancellationSource, type Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import { ClientGone, type SiteExchange } from '../gateway/exchange.ts';
import { ClientResponse } from './respond.ts';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Transform } from 'node:stream';
import { GatewayError } from '../errors.ts';
import { plural } from '../plural.ts';

export interface Connections {
  add(socket: Socket): void;
  begin(request: ClientRequest): void;
  /** Called once for each request that began. */
  end(request: ClientRequest): void;
  /** Whether bytes that are no HTTP may be answered: no other answer is, or will be, written on the socket. */
  isSilent(socket: Socket): boolean;
  /** Closes the connections without a request, and without a part of one; the others when their last answer has left. */
  closeAsIdle(): void;
  /** Closes idle connections that served a request, the oldest first, `most` of them. Returns how many. */
  closeServed(most: number): number;
  cancelAll(reason: Error): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface Connection {
  /** More than one only if the client pipelines. */
  requests: ClientRequest[];
  /** Bytes that the client had sent when its last request ended. */
  restedAt: number;
  /** Bytes that the client had taken at the last check. */
  taken: number;
  /** Milliseconds without a byte taken while bytes wait. */
  stalledMs: number;
}

interface ConnectionsOptions {
  clock: Clock;
  /** Milliseconds without a byte taken after which a client is dropped: `limits.write_timeout` as it is set now. */
  writeTimeout: () => number;
  /** Called with the requests whose client was dropped. */
  onDropped: (requestIds: readonly string[]) => void;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const open = new Map<Socket, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;
  let closing = false;
  const watchStalls = createStallWatch(open, () => underWay > 0, options);

  return {
    add(socket) {
      const connection: Connection = { requests: [], restedAt: 0, taken: 0, stalledMs: 0 };
      open.set(socket, connection);
      socket.on('close', () => {
        open.delete(socket);
        for (const request of [...connection.requests]) request.closed();
      });
    },
    begin(request) {
      underWay += 1;
      watchStalls();
      open.get(request.response.req.socket)?.requests.push(request);
    },
    end(request) {
      const { socket } = request.response.req;
      const connection = open.get(socket);
      underWay -= 1;
      if (connection !== undefined) {
        const at = connection.requests.indexOf(request);
        if (at >= 0) connection.requests.splice(at, 1);
        if (connection.requests.length === 0) {
          connection.restedAt = socket.bytesRead;
          // The answer's head may be older than the end of the server, and promise to keep the connection.
          if (closing) socket.destroySoon();
        }
      }
      if (underWay === 0) onEmpty();
    },
    isSilent(socket) {
      const requests = open.get(socket)?.requests ?? [];
      // An error in a request's body is that request's answer; after a complete request it would be taken for its answer.
      return requests.every(({ response }) => !response.headersSent && !response.req.complete);
    },
    closeAsIdle() {
      closing = true;
      for (const [socket, { requests, restedAt }] of open) {
        if (requests.length === 0 && socket.bytesRead === restedAt) socket.destroy();
      }
    },
    closeServed(most) {
      let closed = 0;
      for (const [socket, { requests, restedAt }] of open) {
        if (closed >= most) break;
        // A new connection's first request may be on its way.
        if (restedAt === 0 || requests.length > 0 || socket.bytesRead !== restedAt) continue;
        socket.destroy();
        closed += 1;
      }
      return closed;
    },
    cancelAll(reason) {
      for (const { requests } of open.values())
        for (const { cancellation } of [...requests]) cancellation.cancel(reason);
    },
    allAnswered() {
      return new Promise((resolve) => {
        onEmpty = resolve;
        if (underWay === 0) resolve();
      });
    },
  };
}

/** Milliseconds between two checks, at most; shorter time-outs are checked more often. */
const CHECK_MS = 1000;
const LEAST_CHECK_MS = 10;

/** The returned function starts checks of `open` that go on while `isNeeded`; it does nothing while they run. */
function createStallWatch(
  open: ReadonlyMap<Socket, Connection>,
  isNeeded: () => boolean,
  { clock, writeTimeout, onDropped }: ConnectionsOptions,
): () => void {
  let running = false;

  function checkLater(): void {
    running = true;
    const checkMs = Math.max(Math.min(CHECK_MS, writeTimeout() / 4), LEAST_CHECK_MS);
    const since = clock.monotonic();
    clock.after(checkMs, () => {
      // What a process that was stopped could not write was not refused by the client.
      const elapsedMs = Math.min(clock.monotonic() - since, 2 * checkMs);
      for (const [socket, connection] of open) {
        countStall(socket, connection, elapsedMs);
        if (connection.stalledMs === 0 || connection.stalledMs < writeTimeout()) continue;
        onDropped(connection.requests.map(({ requestId }) => requestId));
        // Not closed gently: the system would keep what waits.
        socket.resetAndDestroy();
      }
      if (isNeeded()) checkLater();
      else running = false;
    });
  }

  return () => {
    if (!running) checkLater();
  };
}

function countStall(socket: Socket, connection: Connection, elapsedMs: number): void {
  const taken = bytesTaken(socket);
  if (socket.writableLength > 0 && taken === connection.taken) {
    connection.stalledMs += elapsedMs;
    return;
  }
  connection.taken = taken;
  connection.stalledMs = 0;
}

/** Bytes that the system took over for the client. Node counts a write once it is over: `Pieces` makes each one short. */
function bytesTaken(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

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
}

const ignore = (): void => undefined;

/** One request from its head to the end of its answer. A class, as all that is made for each request is: it costs least. */
export class ClientRequest implements SiteExchange {
  readonly requestId: string;
  readonly path: string;
  readonly query: string;
  readonly cancellation = new CancellationSource();
  readonly sink: ClientResponse;
  readonly response: ServerResponse;
  readonly unexpected: boolean;
  readonly arrivedInTime: boolean;
  admitted = false;
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
    this.arrivedInTime = options.arrivedInTime;
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

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  readBody(most = this.#maxBody): Buffer | Promise<Buffer> {
    return readBody(this.#request, Math.min(most, this.#maxBody), this.cancellation);
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

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function tooLarge(limit: number): GatewayError {
  return new GatewayError('too_large', `the body is larger than ${plural(limit, 'byte')} (limits.max_body)`);
}

/**
 * Reads a request's body into memory: decompressed, and never more bytes than the limit allows. Throws or rejects with GatewayError 413
 * or 400; rejects with the cancellation's reason if the client left.
 */
function readBody(
  request: IncomingMessage,
  limit: number,
  cancellation: Cancellation,
): Buffer | Promise<Buffer> {
  const { headers } = request;
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const type = headers['content-type'];
  if (type !== 'application/json') checkType(type);
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') {
    return request.complete && cancellation.reason === undefined
      ? arrived(request, limit)
      : gather(request, request, limit, cancellation);
  }
  const decoder = DECODERS.get(encoding)?.();
  if (decoder === undefined) {
    throw new GatewayError(
      'invalid_request',
      `content-encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported; send gzip, br, deflate or none`,
    );
  }
  request.pipe(decoder);
  return gather(decoder, request, limit, cancellation);
}

/** Another type than JSON is an error; no type at all is taken as JSON. */
function checkType(type: string | undefined): void {
  if (type === undefined || type.trim() === '') return;
  const essence = (type.split(';')[0] ?? '').trim().toLowerCase();
  if (essence === 'application/json' || /^application\/[\w.-]+\+json$/.test(essence)) return;
  throw new GatewayError(
    'invalid_request',
    `content-type must be application/json, not ${JSON.stringify(essence.slice(0, 80))}`,
  );
}

/** A small body arrives with its head: reading it at once costs less than waiting for its events. */
function arrived(request: IncomingMessage, limit: number): Buffer {
  // Since Node 26, `read()` without a size gives one chunk of what is buffered.
  const body = (request.read(request.readableLength) as Buffer | null) ?? Buffer.alloc(0);
  // Only now the request ends.
  request.read(0);
  if (body.length > limit) throw tooLarge(limit);
  return body;
}

/** Does not remove its listeners, since that costs more than all the rest. */
function gather(
  source: IncomingMessage | Transform,
  request: IncomingMessage,
  limit: number,
  cancellation: Cancellation,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    let settled = false;
    function settle(): void {
      settled = true;
      chunks = [];
      cancellation.unsubscribe(onCancel);
    }
    /** Discards the rest of the body, so that the client can read the answer, and ignores its errors. */
    function fail(error: Error): void {
      if (settled) return;
      settle();
      if (source !== request) {
        request.unpipe();
        source.destroy();
      }
      request.resume();
      reject(error);
    }
    function onCancel(): void {
      fail(cancellation.reason ?? new Error('cancelled'));
    }
    if (cancellation.reason !== undefined) return onCancel();
    cancellation.subscribe(onCancel);
    source.on('data', (chunk: Buffer) => {
      if (settled) return;
      length += chunk.length;
      if (length > limit) fail(tooLarge(limit));
      else chunks.push(chunk);
    });
    source.on('end', () => {
      if (settled) return;
      const [only] = chunks;
      const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
      settle();
      resolve(body);
    });
    source.on('error', () => {
      const message = 'the body could not be decoded as its content-encoding says';
      fail(cancellation.reason ?? new GatewayError('invalid_request', message));
    });
  });
}
