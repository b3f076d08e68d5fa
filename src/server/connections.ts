// Connections and what is under way on them. Node takes an answer for delivered once it was handed over, and tells a response
// that waits behind others nothing of the connection's end; a slow reader and a client that asks ahead need both. A client
// that takes nothing of what waits for it is dropped, else it would hold memory, a slot and a provider for as long as it likes.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CancellationSource } from '../cancellation.ts';
import type { Clock } from '../clock.ts';

/** A request between its head and the end of its answer. */
export interface UnderWay {
  readonly requestId: string;
  readonly response: ServerResponse;
  readonly cancellation: CancellationSource;
  /** Its connection closed. */
  closed(): void;
}

export interface Connections {
  add(socket: Socket): void;
  begin(request: UnderWay): void;
  /** Called once for each that began. */
  end(request: UnderWay): void;
  /** Whether bytes that are no HTTP may be answered: nothing else is, or will be, written on it. */
  isSilent(socket: Socket): boolean;
  /** Closes those on which nothing is under way, not even half a head. */
  closeIdle(): void;
  /** Closes those that were answered and are kept, the oldest first, `most` of them. Returns how many. */
  closeServed(most: number): number;
  cancelAll(reason: Error): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface Connection {
  /** More than one only where a client asks ahead. */
  requests: UnderWay[];
  /** How much it had sent when it was last at rest. */
  restedAt: number;
  /** How much it had taken when it was last looked at. */
  taken: number;
  /** Milliseconds without a byte taken while bytes wait. */
  stalledMs: number;
}

interface ConnectionsOptions {
  clock: Clock;
  /** Milliseconds without a byte taken after which a client is dropped: `limits.write_timeout` as it is now. */
  writeTimeout: () => number;
  /** Called with the requests whose client was dropped. */
  onDropped: (requestIds: readonly string[]) => void;
}

/** How often connections are looked at, at most; for short time-outs more often. */
const LOOK_MS = 1000;
const LEAST_LOOK_MS = 10;

export function createConnections({ clock, writeTimeout, onDropped }: ConnectionsOptions): Connections {
  const open = new Map<Socket, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;
  let looking = false;

  function lookLater(): void {
    looking = true;
    const lookMs = Math.max(Math.min(LOOK_MS, writeTimeout() / 4), LEAST_LOOK_MS);
    const since = clock.monotonic();
    clock.after(lookMs, () => {
      // What a process that was stopped could not write was not refused by the client.
      dropStalled(Math.min(clock.monotonic() - since, 2 * lookMs));
      if (underWay > 0) lookLater();
      else looking = false;
    });
  }

  function dropStalled(elapsedMs: number): void {
    for (const [socket, connection] of open) {
      const taken = bytesTaken(socket);
      if (socket.writableLength === 0 || taken !== connection.taken) {
        connection.taken = taken;
        connection.stalledMs = 0;
        continue;
      }
      connection.stalledMs += elapsedMs;
      if (connection.stalledMs < writeTimeout()) continue;
      onDropped(connection.requests.map(({ requestId }) => requestId));
      // Not closed gently: the system would keep what waits.
      socket.resetAndDestroy();
    }
  }

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
      if (!looking) lookLater();
      open.get(request.response.req.socket)?.requests.push(request);
    },
    end(request) {
      const { socket } = request.response.req;
      const connection = open.get(socket);
      underWay -= 1;
      if (connection !== undefined) {
        const at = connection.requests.indexOf(request);
        if (at >= 0) connection.requests.splice(at, 1);
        if (connection.requests.length === 0) connection.restedAt = socket.bytesRead;
      }
      if (underWay === 0) onEmpty();
    },
    isSilent(socket) {
      const requests = open.get(socket)?.requests ?? [];
      // What is wrong with the body of a request is its answer; behind one that is complete it would pass for it.
      return requests.every(({ response }) => !response.headersSent && !response.req.complete);
    },
    closeIdle() {
      for (const [socket, { requests, restedAt }] of open) {
        if (requests.length === 0 && socket.bytesRead === restedAt) socket.destroy();
      }
    },
    closeServed(most) {
      let closed = 0;
      for (const [socket, { requests, restedAt }] of open) {
        if (closed >= most) break;
        // The request of a new connection may be on its way.
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

/** Bytes that the system took over for the client. Node counts a write once it is over: `Pieces` keeps each one short. */
function bytesTaken(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}
