// Prepares the sockets to providers: interim heads are skipped, small pieces leave as one text, and of a connection that broke it is
// known whether it had served a reply before.
import type { buildConnector } from 'undici';
import { joinSmallPieces } from '../write-batch.ts';
import type { Socket } from 'node:net';

/** undici tells how many bytes a failed socket had read before: more than none means that it had served a reply. */
export function reusedConnectionClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } };
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0;
  return brokeAfterUse.has(error);
}

/** Errors of sockets that had read something before: undici hands on the system's own error, which does not tell. */
const brokeAfterUse = new WeakSet<Error>();

/** The same connector, whose connections are watched as this file needs it. */
export function watched(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...connected) => {
      const [failed, socket] = connected;
      if (failed === null) {
        skipContinue(socket);
        joinSmallPieces(socket);
        socket.prependListener('error', (error: Error) => {
          if (socket.bytesRead > 0) brokeAfterUse.add(error);
        });
      }
      callback(...connected);
    });
  };
}

const STARTS = ['HTTP/1.1 100', 'HTTP/1.0 100'];
/** A longer head is left to undici's own limits. */
const MOST_BYTES = 16 * 1024;

/**
 * Takes `100 Continue` out of the socket before undici reads: some servers send it although no request expects it; HTTP lets a
 * client ignore it, but undici ends the connection. To be called before undici listens to `socket`. Later replies of a connection are
 * checked only if the first had such a head, since a server that sends one sends it for every request.
 */
function skipContinue(socket: Socket): void {
  let held: Buffer | undefined;
  let found = false;
  /** The bytes written when the head of the last reply was seen: more mean that another reply is due. */
  let answered = -1;

  function look(): void {
    if (socket.bytesWritten === answered) return;
    const came = socket.read() as Buffer | null;
    if (came === null) return;
    let bytes = held === undefined ? came : Buffer.concat([held, came]);
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

/** Also where the bytes break off before that is clear. */
function mayBeContinue(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  const start = bytes.toString('latin1', 0, 12);
  return STARTS.some((known) => known.startsWith(start));
}
