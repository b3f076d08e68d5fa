// Some servers send `100 Continue` before a reply although no request expects it. HTTP lets any client ignore that; undici ends
// the connection. So it is taken out of the socket before undici reads.
import type { Socket } from 'node:net';

const STARTS = ['HTTP/1.1 100', 'HTTP/1.0 100'];
/** A longer head is left to undici's own limits. */
const MOST_BYTES = 16 * 1024;

/**
 * To be called before undici listens to `socket`. Looks at the first reply of a connection, and at the later ones only where
 * that had such a head: whoever sends one does so for every request, and looking costs a tenth of a small request.
 */
export function skipContinue(socket: Socket): void {
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
