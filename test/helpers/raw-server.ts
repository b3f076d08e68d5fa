// A server below HTTP: for what no HTTP library would say. It remembers its connections and ends them with the test.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawServer {
  port: number;
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** How many connections came. */
  readonly connections: number;
  close(): Promise<void>;
}

/** `onData` gets what came on a connection so far, whenever more came. */
export async function startRawServer(
  onData: (socket: Socket, soFar: string) => void,
  onConnect: (socket: Socket) => void = () => undefined,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let soFar = '';
    socket.on('data', (bytes: Buffer) => {
      soFar += bytes.toString('latin1');
      onData(socket, soFar);
    });
    onConnect(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Closes by itself when the test is over. */
export async function rawServer(...handlers: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...handlers);
  onTestFinished(() => server.close());
  return server;
}

/** The request is there, head and body: of one that declares its length. */
export function isWholeRequest(soFar: string): boolean {
  const at = soFar.indexOf('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(soFar)?.[1] ?? 0);
  return at >= 0 && soFar.length >= at + 4 + length;
}

/** A port on which nobody listens (and, for a moment, nobody will). */
export async function closedPort(): Promise<number> {
  const server = await startRawServer(() => undefined);
  await server.close();
  return server.port;
}
