// Refusals: of bytes that are no HTTP request, or of one that does not arrive in time, with the end of the connection; and of requests that
// fail, in the client's protocol, with a line of the log.
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import { ClientGone, type GatewayDeps } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';
import type { Connections } from './connections.ts';
import { isLingering, linger } from './linger.ts';

const BAD_HTTP: Record<string, [status: string, message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers are too large'],
};

/** Answers a parser's error on `socket`, unless another answer is written on it. */
export function refuseBadHttp(
  error: Error,
  socket: Socket,
  {
    connections,
    newRequestId,
    clock,
  }: { connections: Connections; newRequestId: () => string; clock: Clock },
): void {
  const answer = (): void => answerBadHttp(error, socket, newRequestId(), clock);
  if (isLingering(socket)) return;
  if (!connections.isSilent(socket)) socket.destroy();
  else if (!isTimeout(error)) answer();
  else {
    afterReading(() => {
      if (connections.isSilent(socket)) answer();
    });
  }
}

/** Runs `task` after sockets are read. Timers run before: what a client sent while the process was stopped is still unread then. */
export function afterReading(task: () => void): void {
  setImmediate(task);
}

function isTimeout(error: Error): boolean {
  return (error as { code?: string }).code === 'ERR_HTTP_REQUEST_TIMEOUT';
}

function answerBadHttp(error: Error, socket: Socket, requestId: string, clock: Clock): void {
  const { code = '' } = error as { code?: string };
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = BAD_HTTP[code] ?? ['400 Bad Request', 'this is not a proper HTTP request'];
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } });
  socket.end(
    `HTTP/1.1 ${status}\r\nx-request-id: ${requestId}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  linger(socket, clock, () => void socket.destroy());
}

/** A request as its refusal sees it. */
interface Refused {
  readonly requestId: string;
  readonly path: string;
  readonly admitted: boolean;
  /** Nobody is there to be told. */
  readonly isGone: boolean;
  fail(error: GatewayError): void;
}

export function refuse(request: Refused, error: unknown, deps: GatewayDeps): void {
  const { requestId, path } = request;
  if (error instanceof ClientGone || request.isGone) return;
  if (error instanceof GatewayError) {
    const { status, kind, message, account } = error;
    if (!request.admitted) {
      const at = deps.clock.now();
      const asked = error.asked && { ...error.asked, model: shownOr(error.asked.model) };
      const words = { path: shown(path), message: shown(message) };
      const refused = { at, requestId, account, ...words, status, kind, asked };
      for (const observer of deps.observers) observer.wasRefused?.(refused);
    }
    deps.database.refused(error, { request: requestId, path });
    if (!request.admitted) deps.metrics?.refused(path, error);
    if (status < 500) deps.log.info('refused', { request: requestId, path, status, kind, message });
    request.fail(error);
    return;
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  deps.log.error('a fault of the gateway', { request: requestId, path, detail });
  const fault = new GatewayError('internal', 'the gateway failed; its log says more');
  if (!request.admitted) deps.metrics?.refused(path, fault);
  request.fail(fault);
}

/** Characters of a client's path, or of a message that repeats a client's words. */
const MOST_SHOWN = 1000;

const shown = (text: string): string => withoutKeys(text).slice(0, MOST_SHOWN);

const shownOr = (text: string | null): string | null => (text === null ? null : shown(text));
