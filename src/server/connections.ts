// Connections and what is under way on them. Node takes an answer for delivered once it was handed over, and tells a response
// that waits behind others nothing of the connection's end; a slow reader and a client that asks ahead need both.
import type { Socket } from 'node:net';

export interface Connections {
  add(socket: Socket): void;
  /** A request begins; it ends with the returned function, or with its connection, which tells `onClosed`. */
  begin(socket: Socket, onClosed: () => void): () => void;
  /** Closes those on which nothing is under way, not even half a head. */
  closeIdle(): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface Connection {
  requests: Set<() => void>;
  /** How much it had sent when it was last at rest. */
  restedAt: number;
}

export function createConnections(): Connections {
  const open = new Map<Socket, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;

  return {
    add(socket) {
      const connection: Connection = { requests: new Set(), restedAt: 0 };
      open.set(socket, connection);
      socket.on('close', () => {
        open.delete(socket);
        for (const onClosed of connection.requests) onClosed();
      });
    },
    begin(socket, onClosed) {
      const connection = open.get(socket);
      connection?.requests.add(onClosed);
      underWay += 1;
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        underWay -= 1;
        connection?.requests.delete(onClosed);
        if (connection?.requests.size === 0) connection.restedAt = socket.bytesRead;
        if (underWay === 0) onEmpty();
      };
    },
    closeIdle() {
      for (const [socket, { requests, restedAt }] of open)
        if (requests.size === 0 && socket.bytesRead === restedAt) socket.destroy();
    },
    allAnswered() {
      return new Promise((resolve) => {
        onEmpty = resolve;
        if (underWay === 0) resolve();
      });
    },
  };
}
