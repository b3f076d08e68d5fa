// Drops clients that take nothing of what waits for them: they would hold memory, a slot and a provider for as long as they like.
// Node counts an answer as delivered once it was handed over, so the bytes that the system took are watched.
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

/** What is known of an open connection for the watch. */
export interface WatchedConnection {
  readonly requests: readonly { readonly requestId: string }[];
  /** Bytes that the client had taken at the last check. */
  taken: number;
  /** Milliseconds without a byte taken while bytes wait. */
  stalledMs: number;
}

export interface StallWatchOptions {
  clock: Clock;
  /** A client that takes no byte for so many milliseconds is dropped: the current `limits.write_timeout`. */
  writeTimeout: () => number;
  /** Called with the requests whose client was dropped. */
  onDropped: (requestIds: readonly string[]) => void;
}

/** Milliseconds between two checks, at most; shorter time-outs are checked more often. */
const CHECK_MS = 1000;
const LEAST_CHECK_MS = 10;

/** The returned function starts to check `open` for as long as `isNeeded`; it does nothing while a check is planned. */
export function createStallWatch(
  open: ReadonlyMap<Socket, WatchedConnection>,
  isNeeded: () => boolean,
  { clock, writeTimeout, onDropped }: StallWatchOptions,
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

function countStall(socket: Socket, connection: WatchedConnection, elapsedMs: number): void {
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
