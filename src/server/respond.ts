// The only place where a head is written: ids, the gateway's headers and the answer's own in one flat list.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { GatewayError } from '../errors.ts';
import type { HeaderList, Sink } from '../gateway/exchange.ts';
import type { Protocol } from '../protocols/protocol.ts';

const KEEP_ALIVE_MS = 10_000;
/** The SDKs read milliseconds first, and sleep any length: only for waits that a person would sit through. */
const SHORT_WAIT_S = 60;

export interface Response extends Sink {
  /** Whatever was said so far, the client learns of the error: as a status, or as its protocol's error event. */
  fail(error: GatewayError, protocol: Protocol): void;
}

export function createResponse(
  response: ServerResponse,
  options: {
    requestId: string;
    clock: Clock;
    /** The connection is not used again. */ closing: () => boolean;
  },
): Response {
  const { requestId, clock } = options;
  let lastWriteAt = 0;
  let cancelKeepAlive = (): void => undefined;

  function head(status: number, headers: HeaderList): void {
    const ids = ['x-request-id', requestId, 'request-id', requestId];
    if (options.closing()) ids.push('connection', 'close');
    response.writeHead(status, [...ids, ...headers]);
  }

  /** One timer a stream: it looks at the time of the last write instead of being set anew for each. */
  function keepAlive(text: string, inMs: number): void {
    cancelKeepAlive = clock.after(inMs, () => {
      const silent = clock.monotonic() - lastWriteAt;
      if (silent < KEEP_ALIVE_MS) return keepAlive(text, KEEP_ALIVE_MS - silent);
      if (!response.writableNeedDrain) write(text);
      keepAlive(text, KEEP_ALIVE_MS);
    });
  }

  function write(bytes: Buffer | string): boolean {
    lastWriteAt = clock.monotonic();
    return response.write(bytes);
  }

  function send(status: number, headers: HeaderList, body: Buffer | string): void {
    head(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
    response.end(body);
  }

  function end(): void {
    cancelKeepAlive();
    response.end();
  }

  return {
    get opened() {
      return response.headersSent;
    },
    send,
    open(headers, text) {
      if (response.headersSent) return;
      head(200, [
        'content-type',
        'text/event-stream; charset=utf-8',
        'cache-control',
        'no-cache',
        'x-accel-buffering',
        'no',
        ...headers,
      ]);
      lastWriteAt = clock.monotonic();
      response.flushHeaders();
      keepAlive(text, KEEP_ALIVE_MS);
    },
    write,
    onDrain: (listener) => void response.once('drain', listener),
    end,
    fail(error, protocol) {
      cancelKeepAlive();
      if (response.headersSent) {
        response.end(protocol.encodeStreamError(error, requestId));
        return;
      }
      const body = JSON.stringify(protocol.encodeError(error, requestId));
      send(error.status, ['content-type', 'application/json', ...errorHeaders(error, protocol, clock)], body);
    },
  };
}

function errorHeaders({ options }: GatewayError, protocol: Protocol, clock: Clock): HeaderList {
  const headers: HeaderList = [];
  const { retryAfter, allow, attempts, admission } = options;
  if (retryAfter !== undefined) {
    headers.push('retry-after', String(retryAfter));
    if (retryAfter < SHORT_WAIT_S) headers.push('retry-after-ms', String(retryAfter * 1000));
  }
  if (options.shouldRetry === false) headers.push('x-should-retry', 'false');
  if (allow !== undefined) headers.push('allow', allow);
  if (attempts !== undefined && attempts > 0) headers.push('x-gateway-attempts', String(attempts));
  if (admission !== undefined) headers.push(...protocol.limitHeaders(admission, clock.now()));
  return headers;
}
