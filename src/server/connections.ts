// Connections and what is under way on them. Node takes an answer for delivered once it was handed over, and tells a response
// that waits behind others nothing of the connection's end; a slow reader and a client that asks ahead need both.
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

export interface Connections {
  add(socket: Socket): void;
  /** A request begins on its connection; it ends with the returned function, or with its connection, which tells `onClosed`. */
  begin(response: ServerResponse, onClosed: () => void): () => void;
  /** Whether bytes that are no HTTP may be answered: nothing else is, or will be, written on it. */
  isSilent(socket: Duplex): boolean;
  /** Closes those on which nothing is under way, not even half a head. */
  closeIdle(): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface UnderWay {
  response: ServerResponse;
  onClosed: () => void;
}

interface Connection {
  requests: Set<UnderWay>;
  /** How much it had sent when it was last at rest. */
  restedAt: number;
}

export function createConnections(): Connections {
  const open = new Map<Duplex, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;

  return {
    add(socket) {
      const connection: Connection = { requests: new Set(), restedAt: 0 };
      open.set(socket, connection);
      socket.on('close', () => {
        open.delete(socket);
        for (const { onClosed } of connection.requests) onClosed();
      });
    },
    begin(response, onClosed) {
      const { socket } = response.req;
      const connection = open.get(socket);
      const request = { response, onClosed };
      connection?.requests.add(request);
      underWay += 1;
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        underWay -= 1;
        connection?.requests.delete(request);
        if (connection?.requests.size === 0) connection.restedAt = socket.bytesRead;
        if (underWay === 0) onEmpty();
      };
    },
    isSilent(socket) {
      const requests = [...(open.get(socket)?.requests ?? [])];
      // What is wrong with the body of a request is its answer; behind one that is complete it would pass for it.
      return requests.every(({ response }) => !response.headersSent && !response.req.complete);
    },
    closeIdle() {
      for (const [socket, { requests, restedAt }] of open)
        if (requests.size === 0 && (socket as Socket).bytesRead === restedAt) socket.destroy();
    },
    allAnswered() {
      return new Promise((resolve) => {
        onEmpty = resolve;
        if (underWay === 0) resolve();
      });
    },
  };
}
