// Ends a connection whose client still sends. Closing it with unread bytes would reset it, and a reset takes away the answer that the
// client has not read yet: so the gateway closes its own side alone, and reads on for a bounded while.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

/** Without a byte from the client. */
const QUIET_MS = 2000;
const MOST_MS = 30_000;

const lingering = new WeakSet<Socket>();

/** The answer was sent, and what the client still sends is ignored, whatever it is. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Calls `over` once: when the rest of `request` was read, when the client closes its side or sends nothing for a while, or when it has
 * sent for too long. The caller discards what arrives.
 */
export function linger(socket: Socket, clock: Clock, over: () => void, request?: IncomingMessage): void {
  lingering.add(socket);
  const endsAt = clock.monotonic() + MOST_MS;
  let read = socket.bytesRead;
  let cancel = (): void => undefined;
  let isOver = false;

  function finish(): void {
    if (isOver) return;
    isOver = true;
    cancel();
    over();
  }
  function check(): void {
    cancel = clock.after(QUIET_MS, () => {
      if (socket.bytesRead === read || clock.monotonic() >= endsAt) return finish();
      read = socket.bytesRead;
      check();
    });
  }
  request?.once('end', finish);
  socket.once('end', finish);
  socket.once('close', finish);
  check();
}
