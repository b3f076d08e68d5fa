// Bytes that are no HTTP request, or a request that does not arrive in time: a readable answer, then the end of the connection.
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
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
