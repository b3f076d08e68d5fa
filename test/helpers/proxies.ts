// Proxies on this machine, as a company has them: one for CONNECT, one for SOCKS5. Each leads everything to one port, and remembers where
// it was to lead.
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TestProxy {
  port: number;
  /** `HOST:PORT` of each connection. */
  asked: string[];
  /** `proxy-authorization` of each CONNECT; `USER:PASSWORD` of SOCKS5. */
  credentials: string[];
}

async function listening(server: Server | HttpServer): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function join(socket: Socket, port: number, ready: () => void): void {
  const upstream = connect(port, '127.0.0.1', () => {
    ready();
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on('error', () => socket.destroy());
  socket.on('error', () => upstream.destroy());
  socket.on('close', () => upstream.destroy());
}

/** `tls`: the key and the certificate of a proxy that is reached by TLS. */
export async function connectProxy(to: number, tls?: { key: string; cert: string }): Promise<TestProxy> {
  const asked: string[] = [];
  const credentials: string[] = [];
  const server = tls === undefined ? createHttpServer() : createTlsServer(tls);
  server.on('connect', (request, stream, head) => {
    const socket = stream as Socket;
    asked.push(request.url ?? '');
    credentials.push(request.headers['proxy-authorization'] ?? '');
    join(socket, to, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
    });
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: await listening(server), asked, credentials };
}

export interface Socks5Options {
  /** Demands a user name and a password. */
  password?: string;
  /** The answer to a request for a connection; 0: it is made. */
  reply?: number;
  /** The answer's bytes leave one by one. */
  slowly?: boolean;
}

/** By RFC 1928 and 1929. */
export async function socks5Proxy(
  to: number,
  { password, reply = 0, slowly = false }: Socks5Options = {},
): Promise<TestProxy> {
  const asked: string[] = [];
  const credentials: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => undefined));
    serve(socket).catch(() => socket.destroy());
  });

  async function say(socket: Socket, bytes: number[]): Promise<void> {
    if (!slowly) return void socket.write(Buffer.from(bytes));
    for (const byte of bytes) await new Promise((done) => socket.write(Buffer.from([byte]), done));
  }

  async function serve(socket: Socket): Promise<void> {
    const [, count = 0] = await read(socket, 2);
    const methods = [...(await read(socket, count))];
    const method = password === undefined ? 0 : methods.includes(2) ? 2 : 0xff;
    await say(socket, [5, method]);
    if (method === 0xff) return void socket.end();
    if (method === 2) {
      const [, nameLength = 0] = await read(socket, 2);
      const name = (await read(socket, nameLength)).toString();
      const [length = 0] = await read(socket, 1);
      const given = (await read(socket, length)).toString();
      credentials.push(`${name}:${given}`);
      await say(socket, [1, given === password ? 0 : 1]);
      if (given !== password) return void socket.end();
    }
    const [, , , kind] = await read(socket, 4);
    const address = await addressIn(socket, kind ?? 0);
    asked.push(`${address}:${(await read(socket, 2)).readUInt16BE()}`);
    if (reply !== 0) return say(socket, [5, reply, 0, 1, 0, 0, 0, 0, 0, 0]);
    // The bound address as a name: its length is not that of an IPv4 one.
    await say(socket, [5, 0, 0, 3, 4, ...Buffer.from('here'), 0, 80]);
    join(socket, to, () => undefined);
  }

  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: await listening(server), asked, credentials };
}

async function addressIn(socket: Socket, kind: number): Promise<string> {
  if (kind === 1) return (await read(socket, 4)).join('.');
  if (kind === 4) return (await read(socket, 16)).toString('hex');
  const [length = 0] = await read(socket, 1);
  return (await read(socket, length)).toString();
}

async function read(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null;
    if (bytes !== null) return bytes;
    await once(socket, 'readable');
  }
}
