// Prepares the sockets to providers: interim heads are skipped, small pieces leave as one text, and of a connection that broke it is
// known whether it had served a reply before.
import type { buildConnector } from 'undici';
import type { Socket } from 'node:net';

/** Whether a connection that broke had served a reply before: undici reports the bytes that a failed socket had read. */
export function reusedConnectionClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } };
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0;
  return brokeAfterUse.has(error);
}

/** Errors of sockets that had read bytes before: undici forwards the system's error, which does not say so. */
const brokeAfterUse = new WeakSet<Error>();

/** The connector with its sockets prepared. */
export function preparing(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...connected) => {
      const [failed, socket] = connected;
      if (failed === null) {
        skipContinue(socket);
        socket.prependListener('error', (error: Error) => {
          if (socket.bytesRead > 0) brokeAfterUse.add(error);
        });
      }
      callback(...connected);
    });
  };
}

const STARTS = ['HTTP/1.1 100', 'HTTP/1.0 100'];
/** undici's own limits apply to a longer head. */
const MOST_BYTES = 16 * 1024;

/**
 * Takes `100 Continue` out of the socket before undici reads: some servers send it although no request expects it; HTTP lets a
 * client ignore it, but undici ends the connection. To be called before undici listens to `socket`. Later replies of a connection are
 * checked only if the first had such a head, since a server that sends one sends it for every request.
 */
function skipContinue(socket: Socket): void {
  let held: Buffer | undefined;
  let found = false;
  /** Bytes written when the head of the last reply was read: more mean that another reply is due. */
  let answered = -1;

  function look(): void {
    if (socket.bytesWritten === answered) return;
    const read = socket.read() as Buffer | null;
    if (read === null) return;
    let bytes = held === undefined ? read : Buffer.concat([held, read]);
    held = undefined;
    for (;;) {
      if (!mayBeContinue(bytes)) break;
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0 && bytes.length < MOST_BYTES) {
        held = bytes;
        return;
      }
      if (end < 0) break;
      found = true;
      bytes = bytes.subarray(end + 4);
    }
    if (bytes.length === 0) return;
    answered = socket.bytesWritten;
    if (!found) socket.off('readable', look);
    socket.unshift(bytes);
  }

  socket.on('readable', look);
}

/** True also if the bytes end before it is clear. */
function mayBeContinue(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  const start = bytes.toString('latin1', 0, 12);
  return STARTS.some((known) => known.startsWith(start));
}
