// Connections of clients and the requests under way on them. Node does not tell a response that waits behind others that its connection
// has ended, which a client that pipelines needs.
import type { Socket } from 'node:net';
import type { CancellationSource } from '../cancellation.ts';
import { createStallWatch, type StallWatchOptions, type WatchedConnection } from './stall-watch.ts';

/** A request under way, as its connection sees it. */
export interface OpenRequest {
  readonly requestId: string;
  readonly socket: Socket;
  /** Neither arrived in full nor answered: bytes that are no HTTP may be its answer. */
  readonly isOpenToAnswers: boolean;
  readonly cancellation: CancellationSource;
  /** Its answer has left, or its connection is closed. */
  closed(): void;
}

export interface Connections {
  add(socket: Socket): void;
  /** It carries another protocol than HTTP from now on, whose requests begin and end as others do. It is not closed from here. */
  handOver(socket: Socket): void;
  begin(request: OpenRequest): void;
  /** Called once for each request that began. */
  end(request: OpenRequest): void;
  /** Whether bytes that are no HTTP may be answered: no other answer is, or will be, written on the socket. */
  isSilent(socket: Socket): boolean;
  /** Closes the connections without a request, and without a part of one; the others when their last answer has left. */
  closeAsIdle(): void;
  /** Closes idle connections that served a request, the oldest first, `most` of them. Returns how many. */
  closeServed(most: number): number;
  cancelAll(reason: Error): void;
  /** Resolves when the last byte of every answer has left. */
  allAnswered(): Promise<void>;
}

interface Connection extends WatchedConnection {
  /** More than one only if the client pipelines. */
  requests: OpenRequest[];
  /** Bytes that the client had sent when its last request ended. */
  restedAt: number;
  isHandedOver: boolean;
}

const newConnection = (): Connection => ({
  requests: [],
  restedAt: 0,
  isHandedOver: false,
  taken: 0,
  stalledMs: 0,
});

export function createConnections(options: StallWatchOptions): Connections {
  const open = new Map<Socket, Connection>();
  let underWay = 0;
  let onEmpty = (): void => undefined;
  let closing = false;
  const watchStalls = createStallWatch(open, () => underWay > 0, options);

  return {
    add(socket) {
      // It comes again where an upgrade was not taken.
      if (open.has(socket)) return;
      const connection = newConnection();
      open.set(socket, connection);
      socket.on('close', () => {
        open.delete(socket);
        for (const request of [...connection.requests]) request.closed();
      });
    },
    handOver(socket) {
      const connection = open.get(socket);
      if (connection !== undefined) connection.isHandedOver = true;
    },
    begin(request) {
      underWay += 1;
      watchStalls();
      open.get(request.socket)?.requests.push(request);
    },
    end(request) {
      const { socket } = request;
      const connection = open.get(socket);
      underWay -= 1;
      if (connection !== undefined) {
        const at = connection.requests.indexOf(request);
        if (at >= 0) connection.requests.splice(at, 1);
        if (connection.requests.length === 0) {
          connection.restedAt = socket.bytesRead;
          // The answer's head may be older than the end of the server, and promise to keep the connection.
          if (closing && !connection.isHandedOver) socket.destroySoon();
        }
      }
      if (underWay === 0) onEmpty();
    },
    isSilent(socket) {
      const requests = open.get(socket)?.requests ?? [];
      // An error in a request's body is that request's answer; after a complete request it would be taken for its answer.
      return requests.every(({ isOpenToAnswers }) => isOpenToAnswers);
    },
    closeAsIdle() {
      closing = true;
      for (const [socket, { requests, restedAt, isHandedOver }] of open) {
        if (isHandedOver) continue;
        if (requests.length === 0 && socket.bytesRead === restedAt) socket.destroy();
      }
    },
    closeServed(most) {
      let closed = 0;
      for (const [socket, { requests, restedAt, isHandedOver }] of open) {
        if (closed >= most) break;
        if (isHandedOver) continue;
        // A new connection's first request may be on its way.
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
