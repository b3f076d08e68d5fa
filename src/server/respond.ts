// Writes answers to clients; the only place where a head is written: ids, the gateway's headers and the answer's own in one flat list.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { FINAL, type GatewayError } from '../errors.ts';
import type { HeaderList, Sink } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';
import type { ClientProtocol } from '../protocols/interface/protocol.ts';
import type { StreamNotices } from '../protocols/interface/stream.ts';
import { endInWriteBatch, joinWriteBatch } from '../write-batch.ts';
import { originHeaders } from './cross-origin.ts';
import { linger } from './linger.ts';

const KEEP_ALIVE_MS = 10_000;
const ONE_WRITE_BYTES = 16 * 1024;
/** The SDKs read milliseconds first and sleep for any time: sent only for waits that a person would accept. */
const SHORT_WAIT_S = 60;

interface ResponseWriter extends Sink {
  /** Reports the error to the client: by a status, or by its protocol's error event if the head was written. */
  fail(error: GatewayError, protocol: ClientProtocol): void;
}

/** A class, since a literal with a getter gets a new hidden class for each request. */
export class ClientResponse implements ResponseWriter {
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #clock: Clock;
  /** The connection is not used again. */
  readonly #closing: () => boolean;
  #lastWriteAt = 0;
  #cancelKeepAlive: (() => void) | undefined;
  /** Since the stream was opened. */
  #notices: Required<StreamNotices> | undefined;
  /** The last bytes were given; they leave with the batch. */
  #ended = false;
  /** The head was written, and the connection ends with the answer. */
  #closes = false;
  /** The page at this origin may read the answer. */
  #origin: string | undefined;
  /** Since the first large write. */
  #pieces: Pieces | undefined;

  constructor(
    response: ServerResponse,
    options: { requestId: string; clock: Clock; closing: () => boolean },
  ) {
    this.#response = response;
    this.#requestId = options.requestId;
    this.#clock = options.clock;
    this.#closing = options.closing;
  }

  get opened(): boolean {
    return this.#response.headersSent;
  }

  /** Of a web page that may read the answer. */
  allowOrigin(origin: string): void {
    this.#origin = origin;
  }

  send(status: number, headers: HeaderList, body: Buffer | string): void {
    const length = Buffer.byteLength(body);
    // A 304 has the length of what the client holds already, a 204 none.
    if (status === 304 || status === 204) this.#head(status, headers);
    else this.#head(status, headers, 'content-length', String(length));
    if (this.#closes && !this.#response.req.complete) this.#sendUnread(body);
    else if (length > PIECE_BYTES) this.#inPieces().end(bufferOf(body));
    // As a string, a small body leaves in one write with its head. A string of as many bytes as characters is ASCII, which needs no
    // conversion.
    else if (typeof body === 'string') this.#endWhole(body, length === body.length ? 'latin1' : 'utf8');
    else if (length > ONE_WRITE_BYTES) this.#end(body);
    else this.#endWhole(body.toString('latin1'), 'latin1');
  }

  open(headers: HeaderList, notices: Required<StreamNotices>): void {
    this.#notices = notices;
    if (this.#response.headersSent) return;
    this.#head(200, headers, ...STREAM_HEADERS);
    this.#lastWriteAt = this.#clock.monotonic();
    this.#keepAlive(KEEP_ALIVE_MS);
  }

  write(bytes: Buffer | string): boolean {
    this.#lastWriteAt = this.#clock.monotonic();
    if (bytes.length === 0) return true;
    this.#joinBatch();
    if (bytes.length > PIECE_BYTES || this.#pieces?.busy === true)
      return this.#inPieces().write(bufferOf(bytes));
    return this.#response.write(bytes, encodingOf(bytes));
  }

  onDrain(listener: () => void): void {
    if (this.#pieces?.busy === true) this.#pieces.onDrain(listener);
    else this.#response.once('drain', listener);
  }

  end(last: Buffer | string = ''): void {
    this.#cancelKeepAlive?.();
    if (last.length > PIECE_BYTES || this.#pieces?.busy === true) this.#inPieces().end(bufferOf(last));
    else this.#end(last, encodingOf(last));
  }

  breakOff(last: Buffer | string): void {
    this.#cancelKeepAlive?.();
    if (this.#ended) return;
    this.#ended = true;
    const cut = (): void => void setTimeout(() => cutConnection(this.#response), EVENT_AHEAD_MS);
    if (last.length > PIECE_BYTES || this.#pieces?.busy === true) {
      if (this.#inPieces().write(bufferOf(last))) cut();
      else this.#inPieces().onDrain(cut);
    } else this.#response.write(last, encodingOf(last), cut);
  }

  fail(error: GatewayError, protocol: ClientProtocol): void {
    if (this.#ended) return;
    this.#cancelKeepAlive?.();
    if (this.#response.headersSent) {
      const event = withoutKeys(this.#notices?.fail(error, this.#requestId, this.#clock.now()) ?? '');
      if (protocol.client.cutsBrokenStreams) this.breakOff(event);
      else this.end(event);
      return;
    }
    const body = withoutKeys(JSON.stringify(protocol.client.encodeError(error, this.#requestId)));
    const headers = ['content-type', 'application/json', ...errorHeaders(error, protocol, this.#clock)];
    // Its client would wait for the other protocol on this connection.
    if (error.status === 426 && !this.#closing()) {
      headers.push('connection', 'close');
      this.#closes = true;
    }
    this.send(protocol.client.errorHead?.(error).status ?? error.status, headers, body);
  }

  #end(last: Buffer | string, encoding: BufferEncoding = 'utf8'): void {
    this.#inBatch(() => void this.#response.end(last, encoding));
  }

  /** As one write to the socket: `end` with a body adds an empty one, and sending a list of two costs more. */
  #endWhole(body: string, encoding: BufferEncoding): void {
    this.#inBatch((socket) => {
      socket?.cork();
      this.#response.write(body, encoding);
      socket?.uncork();
      this.#response.end();
    });
  }

  /** The client still sends its body, and its connection ends with this answer. */
  #sendUnread(body: Buffer | string): void {
    const response = this.#response;
    const { socket } = response.req;
    this.#ended = true;
    response.flushHeaders();
    // node:http hands what was written in a turn of the event loop to the socket at its end.
    response.write(body, () => setImmediate(() => socket.end()));
    response.req.resume();
    linger(socket, this.#clock, () => void response.end(), response.req);
  }

  #inBatch(end: (socket: Socket | null) => void): void {
    const { socket } = this.#response;
    this.#ended = true;
    if (socket === null) end(null);
    else endInWriteBatch(socket, end);
  }

  #inPieces(): Pieces {
    this.#pieces ??= new Pieces(this.#response);
    return this.#pieces;
  }

  #joinBatch(): void {
    const { socket } = this.#response;
    if (socket !== null) joinWriteBatch(socket);
  }

  #head(status: number, headers: HeaderList, ...own: HeaderList): void {
    const list = ['x-request-id', this.#requestId, 'request-id', this.#requestId];
    if (this.#closing()) list.push('connection', 'close');
    list.push(...own, ...headers);
    if (this.#origin !== undefined) list.push(...originHeaders(this.#origin, list));
    this.#closes ||= this.#closing() || !this.#response.shouldKeepAlive;
    this.#response.writeHead(status, list);
  }

  /** One timer per stream: it checks the time of the last write and is not set again for each. */
  #keepAlive(inMs: number): void {
    this.#cancelKeepAlive = this.#clock.after(inMs, () => {
      const silent = this.#clock.monotonic() - this.#lastWriteAt;
      if (silent < KEEP_ALIVE_MS) return this.#keepAlive(KEEP_ALIVE_MS - silent);
      if (!this.#response.writableNeedDrain) this.write(this.#notices?.keepAlive() ?? '');
      this.#keepAlive(KEEP_ALIVE_MS);
    });
  }
}

/** Some readers drop what they hold when a connection breaks: the error event is ahead of that. */
const EVENT_AHEAD_MS = 100;

function cutConnection({ socket, chunkedEncoding }: ServerResponse): void {
  // Without chunks the end of the connection would be the proper end of the body.
  if (chunkedEncoding) socket?.destroySoon();
  else socket?.resetAndDestroy();
}

/** A string of as many bytes as characters is ASCII, which needs no conversion. */
function encodingOf(bytes: Buffer | string): BufferEncoding {
  return typeof bytes === 'string' && Buffer.byteLength(bytes) === bytes.length ? 'latin1' : 'utf8';
}

function bufferOf(bytes: Buffer | string): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

const STREAM_HEADERS = ['cache-control', 'no-cache', 'x-accel-buffering', 'no'] as const;

/** What a provider may ask clients to wait; one that says a day means "much later". */
const LONGEST_WAIT_S = 3600;

/** Of an error answer, flat. */
export function errorHeaders(error: GatewayError, protocol: ClientProtocol, clock: Clock): HeaderList {
  const { options, status } = error;
  const headers: HeaderList = [];
  const { retryAfter, allow, admission } = options;
  const head = protocol.client.errorHead?.(error) ?? {};
  // No target was contacted, unless the error tells how many.
  const { attempts = status === 502 || status === 503 ? 0 : undefined } = options;
  if (retryAfter !== undefined) {
    // Our own limits say how long they last.
    const seconds = error.kind === 'rate_limited' ? retryAfter : Math.min(retryAfter, LONGEST_WAIT_S);
    const { retryAfter: unit } = head;
    if (unit !== 'milliseconds') headers.push('retry-after', String(seconds));
    if (unit === 'milliseconds' || retryAfter < SHORT_WAIT_S)
      headers.push('retry-after-ms', String(seconds * 1000));
  }
  if (options.shouldRetry === false || FINAL.has(error.kind) || head.isFinal === true)
    headers.push('x-should-retry', 'false');
  if (allow !== undefined) headers.push('allow', allow);
  if (attempts !== undefined) headers.push('x-gateway-attempts', String(attempts));
  if (admission !== undefined) headers.push(...protocol.client.limitHeaders(admission, clock.now()));
  if (head.headers !== undefined) headers.push(...head.headers);
  return headers;
}

/** What is written at once. */
const PIECE_BYTES = 64 * 1024;

/**
 * Writes a large answer in pieces, each after the client took the one before: Node reports a write only when all of it is over, so a
 * client that reads a large one slowly would look like a client that reads nothing.
 */
class Pieces {
  readonly #response: ServerResponse;
  #waiting: Buffer[] = [];
  #needsDrain = false;
  #ended = false;
  #onDrain: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Bytes wait for the client. */
  get busy(): boolean {
    return this.#needsDrain || this.#waiting.length > 0;
  }

  /** `false`: wait for `onDrain`. */
  write(bytes: Buffer): boolean {
    if (this.#ended) return false;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#flush();
    return !this.busy;
  }

  /** Ignores all later writes. */
  end(bytes: Buffer): void {
    if (this.#ended) return;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#ended = true;
    this.#flush();
  }

  /** Calls `listener` once, when no bytes wait any more. */
  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  #flush(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#needsDrain) return;
      const piece = first.subarray(0, PIECE_BYTES);
      if (piece.length < first.length) this.#waiting[0] = first.subarray(PIECE_BYTES);
      else this.#waiting.shift();
      if (this.#ended && this.#waiting.length === 0) {
        this.#response.end(piece);
        return;
      }
      this.#write(piece);
    }
    if (this.#ended) this.#response.end();
  }

  #write(piece: Buffer): void {
    if (this.#response.write(piece)) return;
    this.#needsDrain = true;
    this.#response.once('drain', () => {
      this.#needsDrain = false;
      this.#flush();
      if (this.busy || this.#ended) return;
      const listener = this.#onDrain;
      this.#onDrain = undefined;
      listener?.();
    });
  }
}
