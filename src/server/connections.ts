// Connections and what is under way on them. Node takes an answer for delivered once it was handed over, and tells a response
// that waits behind others nothing of the connection's end; a slow reader and a client that asks ahead need both.
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { CancellationSource } from '../cancellation.ts';

/** A request between its head and the end of its answer. */
export interface UnderWay {
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
  isSilent(socket: Duplex): boolean;
  /** Closes those on which nothing is under way, not even half a head. */
  closeIdle(): void;
  cancelAll(reason: Error): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface Connection {
  /** More than one only where a client asks ahead. */
  requests: UnderWay[];
  /** How much it had sent when it was last at rest. */
  restedAt: number;
}

export function createConnections(): Connections {
  const open = new Map<Duplex, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;

  return {
    add(socket) {
      const connection: Connection = { requests: [], restedAt: 0 };
      open.set(socket, connection);
      socket.on('close', () => {
        open.delete(socket);
        for (const request of [...connection.requests]) request.closed();
      });
    },
    begin(request) {
      underWay += 1;
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
      for (const [socket, { requests, restedAt }] of open)
        if (requests.length === 0 && (socket as Socket).bytesRead === restedAt) socket.destroy();
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
