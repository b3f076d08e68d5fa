// The HTTP server: one listener a host, every request through the same few steps, an end that lets streams finish.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as TcpServer, type AddressInfo, type Socket } from 'node:net';
import { descriptorsLeft } from '../descriptors.ts';
import { GatewayError } from '../errors.ts';
import { ClientGone, type GatewayDeps } from '../gateway/exchange.ts';
import { shuttingDown } from '../gateway/in-flight-limit.ts';
import { protocolOfClient } from '../protocols/registry.ts';
import { answerBadHttp, isTimeout } from './bad-request.ts';
import { joinSmallPieces } from '../write-batch.ts';
import { ClientRequest } from './client-request.ts';
import { createConnections } from './connections.ts';
import { createHostCheck, hostOf } from './host.ts';
import { route } from './router.ts';
import { answer } from './routes/index.ts';

export interface Listening {
  /** Addresses that are served, in the order of the configuration. */
  hosts: string[];
  port: number;
  /** Default hosts that this machine lacks. */
  skipped: string[];
}

export interface GatewayServer {
  /** Rejects with GatewayError-free Error (`EADDRINUSE`, …) where a host can't be listened on. */
  listen(): Promise<Listening>;
  /** No new connection; what runs may finish for `graceMs`, then is cut with an error event. */
  stop(graceMs: number): Promise<void>;
  kill(): void;
  /** Closes connections that nobody uses, for want of descriptors: those of clients, else those to providers. */
  makeRoom(): void;
}

const CHECK_MS = 1000;
/** After the grace, error events still have to leave. */
const CUT_MS = 500;
/** How many idle connections are closed at once where descriptors are needed. */
const ROOM = 16;
const MAX_HEADER_BYTES = 64 * 1024;

export function createGatewayServer(deps: GatewayDeps): GatewayServer {
  const servers: Server[] = [];
  const connections = createConnections({
    clock: deps.clock,
    writeTimeout: () => deps.config().limits.writeTimeout,
    onDropped: (requests) =>
      deps.log.warn('a client took nothing of its answer and was dropped', { requests }),
  });
  const isOurs = createHostCheck();
  const closing = (): boolean => deps.gate.closed;
  const newRequestId = (): string => `req_${deps.ids.random(24)}`;

  async function serve(request: ClientRequest): Promise<void> {
    if (!isOurs(request.rawHeaders, deps.config().listen)) {
      throw new GatewayError(
        'forbidden_host',
        'this Host name is not served here (listen.names in the configuration adds one)',
      );
    }
    if (request.unexpected) {
      const message = 'this expectation is not met here; send expect: 100-continue, or none';
      throw new GatewayError('invalid_request', message, { status: 417 });
    }
    const origin = (): string => `http://${hostOf(request.rawHeaders) ?? ''}`;
    await answer(route(request.method, request.path, origin), request, deps);
  }

  /** Came in this turn of the event loop, and are not begun yet. */
  let arrived: ClientRequest[] = [];

  function handle(incoming: IncomingMessage, response: ServerResponse, unexpected = false): void {
    const request = new ClientRequest(incoming, response, {
      requestId: newRequestId(),
      clock: deps.clock,
      connections,
      maxBody: deps.config().limits.maxBody,
      closing,
      unexpected,
    });
    if (arrived.push(request) === 1) setImmediate(beginAll);
  }

  /** At the turn's end: a small body is there by then as a whole, and what the requests ask of the database they ask
   *  together (a tenth of a small request's processor time). */
  function beginAll(): void {
    const requests = arrived;
    arrived = [];
    for (const request of requests) serve(request).catch((error: unknown) => refuse(request, error));
  }

  function refuse({ requestId, path, headers, response, sink }: ClientRequest, error: unknown): void {
    if (error instanceof ClientGone || response.destroyed) return;
    const protocol = protocolOfClient(path, headers);
    if (error instanceof GatewayError) {
      const { status, kind, message } = error;
      deps.database.refused(error, { request: requestId, path });
      if (status < 500) deps.log.info('refused', { request: requestId, path, status, kind, message });
      sink.fail(error, protocol);
      return;
    }
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    deps.log.error('a fault of the gateway', { request: requestId, path, detail });
    sink.fail(new GatewayError('internal', 'the gateway failed; its log says more'), protocol);
  }

  function makeRoom(): void {
    if (connections.closeServed(ROOM) === 0) deps.client.closeIdle();
  }

  function listenOn(host: string, port: number): Promise<number> {
    const { limits } = deps.config();
    const server = createServer(
      {
        headersTimeout: limits.headerTimeout,
        requestTimeout: limits.requestTimeout,
        connectionsCheckingInterval: CHECK_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        noDelay: true,
        keepAliveTimeout: 60_000,
        // A request without a Host is refused as one with a foreign Host: by us, in words.
        requireHostHeader: false,
      },
      (incoming, response) => handle(incoming, response),
    );
    // node:http would answer by itself, without words and without an id.
    server.on('checkExpectation', (incoming: IncomingMessage, response: ServerResponse) =>
      handle(incoming, response, true),
    );
    server.on('clientError', (error, stream) => {
      const socket = stream as Socket;
      const isSilent = connections.isSilent(socket);
      const answerIt = (): void => answerBadHttp(error, socket, newRequestId(), deps.clock);
      if (!isSilent) socket.destroy();
      else if (!isTimeout(error)) answerIt();
      else {
        afterReading(() => {
          if (connections.isSilent(socket)) answerIt();
        });
      }
    });
    // A kept connection's time is over.
    server.on('timeout', (socket: Socket) => {
      const { bytesRead } = socket;
      afterReading(() => {
        if (socket.bytesRead === bytesRead) socket.destroy();
      });
    });
    server.on('connection', (socket: Socket) => {
      joinSmallPieces(socket);
      connections.add(socket);
      // libuv closes the next one without a word where there is no descriptor for it.
      if (!descriptorsLeft()) makeRoom();
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        server.on('error', (error) => deps.log.error('the listener failed', { host, detail: error.message }));
        servers.push(server);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  return {
    async listen() {
      const { hosts, port, defaultHosts } = deps.config().listen;
      const served: string[] = [];
      const skipped: string[] = [];
      let bound = port;
      for (const host of hosts) {
        try {
          bound = await listenOn(host, bound);
          served.push(host);
        } catch (error) {
          if (!defaultHosts || !isLacking(error)) throw error;
          skipped.push(host);
        }
      }
      if (served.length === 0) throw new Error(`none of ${hosts.join(', ')} can be listened on`);
      return { hosts: served, port: bound, skipped };
    },
    async stop(graceMs) {
      const finished = Promise.all([deps.gate.close(), connections.allAnswered()]);
      const closed = Promise.all(servers.map(closeListener));
      connections.closeIdle();
      await within(finished, graceMs);
      connections.cancelAll(shuttingDown());
      await within(finished, CUT_MS);
      for (const server of servers) server.closeAllConnections();
      await closed;
    },
    makeRoom: () => makeRoom(),
    kill() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Timers run before sockets are read: what a client sent while the process was stopped is still there. */
function afterReading(task: () => void): void {
  setImmediate(task);
}

/**
 * Takes no new connection. http.Server's own `close` would also destroy connections that it takes for idle while bytes of
 * an answer still wait for a slow reader.
 */
function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    TcpServer.prototype.close.call(server, () => resolve());
  });
}

/** A real timer: it must keep the process alive until the streams had their time. */
function within(done: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void done.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function isLacking(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}
