// The HTTP server: one listener per host, the same few steps for every request, and a stop that lets streams finish.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as TcpServer, type AddressInfo, type Socket } from 'node:net';
import { descriptorsLeft } from '../descriptors.ts';
import { GatewayError } from '../errors.ts';
import { createRequestIds } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { GatewayDeps, Site } from '../gateway/exchange.ts';
import { shuttingDown } from '../gateway/in-flight-limit.ts';
import { afterReading, refuse, refuseBadHttp } from './bad-request.ts';
import { ClientRequest } from './client-request.ts';
import { createConnections } from './connections.ts';
import { meetsOrigin } from './cross-origin.ts';
import { createHostCheck, hasNoHost, HEALTH, hostOf, type HostCheck, answer, route } from './router.ts';
import { OpenSessions } from './websocket/open-sessions.ts';
import type { SocketDeps } from './websocket/session.ts';
import { asksForSocket, openSocket, takeUpgrade } from './websocket/upgrade.ts';

interface Listening {
  /** Addresses in the order of the configuration. */
  hosts: string[];
  port: number;
  /** Default hosts that this machine lacks. */
  skipped: string[];
}

export interface GatewayServer {
  /** Rejects with the system's error (`EADDRINUSE`, …) if a host can't be listened on. */
  listen(): Promise<Listening>;
  /** Takes no new connection. Requests under way may finish within `graceMs`, then an error event ends them. */
  stop(graceMs: number): Promise<void>;
  /** As `stop`, while another process takes the new connections: no request that arrives on an open one is refused. Answers ask the
   *  client to close it; one that stays idle is closed after some seconds. */
  retire(graceMs: number): Promise<void>;
  kill(): void;
  /** Frees descriptors: closes idle connections of clients, else those to providers. */
  makeRoom(): void;
}

const CHECK_MS = 1000;
/** Time after the grace for error events to leave. */
const CUT_MS = 500;
/** Idle connections that are closed at once to free descriptors. */
const MOST_CLOSED = 16;
/** Idle connections of a server that retires: the next request of most clients comes before. */
const RETIRE_MS = 5000;
const MAX_HEADER_BYTES = 64 * 1024;

type Handle = (incoming: IncomingMessage, response: ServerResponse, more?: HowItCame) => void;

/** What node:http tells of a request in another way than most. */
interface HowItCame {
  unexpected?: boolean;
  upgradeHead?: Buffer;
}

const AS_USUAL: HowItCame = {};

/** What the listeners share. */
interface Shared extends SocketDeps {
  site: Site | undefined;
  makeRoom: () => void;
}

/** `site`: answers paths beside those of models. */
export function createGatewayServer(deps: GatewayDeps, site?: Site): GatewayServer {
  const connections = createConnections({
    clock: deps.clock,
    writeTimeout: () => deps.current.config.limits.writeTimeout,
    onDropped: (requests) =>
      deps.log.warn('a connection was closed: its client does not read the answer', { requests }),
  });
  const newRequestId = createRequestIds(deps.ids, () => deps.clock.now());
  const makeRoom = (): void => {
    if (connections.closeServed(MOST_CLOSED) === 0) deps.client.closeIdle();
  };
  let retiring = false;
  const closing = (): boolean => retiring || deps.inFlightLimit.closed;
  const sessions = new OpenSessions();
  const shared = { deps, site, connections, sessions, newRequestId, makeRoom, closing };
  const handle = createHandler(shared);
  const servers: Server[] = [];
  let closed: Promise<unknown> | undefined;
  const closeListeners = (): Promise<unknown> => (closed ??= Promise.all(servers.map(closeListener)));

  async function stop(graceMs: number): Promise<void> {
    const ended = closeListeners();
    await readArrived();
    const finished = Promise.all([deps.inFlightLimit.close(), connections.allAnswered()]);
    connections.closeAsIdle();
    sessions.leaveAll();
    await within(finished, graceMs);
    connections.cancelAll(shuttingDown());
    await within(finished, CUT_MS);
    await within(sessions.allLeft(), CUT_MS);
    sessions.cutAll();
    for (const server of servers) server.closeAllConnections();
    await ended;
  }

  return {
    async listen() {
      const { hosts, port, defaultHosts } = deps.current.config.listen;
      const served: string[] = [];
      const skipped: string[] = [];
      let bound = port;
      for (const host of hosts) {
        const server = createListener(handle, shared);
        try {
          bound = await bind(server, host, bound, deps.log);
          servers.push(server);
          served.push(host);
        } catch (error) {
          if (!defaultHosts || !isLacking(error)) throw error;
          skipped.push(host);
        }
      }
      if (served.length === 0) throw new Error(`none of ${hosts.join(', ')} can be listened on`);
      return { hosts: served, port: bound, skipped };
    },
    stop,
    async retire(graceMs) {
      retiring = true;
      const retireMs = Math.min(RETIRE_MS, graceMs);
      await within(closeListeners(), retireMs);
      await stop(graceMs - retireMs);
    },
    makeRoom,
    kill() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
      sessions.cutAll();
    },
  };
}

/**
 * Serves the requests of one turn of the event loop together, at its end: a small body has arrived as a whole by then, and what the
 * requests ask of the database is asked together.
 */
function createHandler(shared: Shared): Handle {
  const { deps, connections, newRequestId, closing } = shared;
  const isOwnHost = createHostCheck();
  let arrived: ClientRequest[] = [];

  function serveArrived(): void {
    const requests = arrived;
    arrived = [];
    for (const request of requests) void serve(request, isOwnHost, shared);
  }

  return (incoming, response, { unexpected = false, upgradeHead } = AS_USUAL) => {
    const request = new ClientRequest(incoming, response, {
      requestId: newRequestId(),
      clock: deps.clock,
      connections,
      maxBody: deps.current.config.limits.maxBody,
      closing,
      arrivedInTime: !deps.inFlightLimit.closed,
      unexpected,
      keyless: deps.current.config.ollama !== null,
      upgradeHead,
    });
    if (arrived.push(request) === 1) setImmediate(serveArrived);
  };
}

async function serve(request: ClientRequest, isOwnHost: HostCheck, shared: Shared): Promise<void> {
  const { deps, site } = shared;
  try {
    if (!isOwnHost(request.rawHeaders, deps.current.config.listen) && !isProbe(request)) {
      throw new GatewayError(
        'forbidden_host',
        'this Host name is not served here (listen.names in the configuration adds one)',
      );
    }
    const { origins } = deps.current.config.listen;
    const keyless = deps.current.config.ollama !== null;
    if (origins.length > 0 && meetsOrigin(request, origins, keyless)) return;
    if (request.unexpected) {
      const message = 'this expectation is not met here; send expect: 100-continue, or none';
      throw new GatewayError('invalid_request', message, { status: 417 });
    }
    const origin = (): string => `http://${hostOf(request.rawHeaders) ?? ''}`;
    const { method, path, headers } = request;
    const asked = { method, path, upgrade: headers.upgrade, metrics: deps.metrics !== undefined, keyless };
    const found = route(asked, origin, site);
    if (found.name === 'site') await site?.answer(request);
    else if (found.name === 'converse') await openSocket(found, request, shared);
    else await answer(found, request, deps);
  } catch (error) {
    refuse(request, error, deps);
  }
}

/** Health checks of HAProxy, Nagios and the like speak HTTP/1.0 without a Host, which no browser leaves out. */
function isProbe({ path, rawHeaders }: ClientRequest): boolean {
  return path === HEALTH && hasNoHost(rawHeaders);
}

function createListener(handle: Handle, { deps, connections, newRequestId, makeRoom }: Shared): Server {
  const { limits } = deps.current.config;
  // In a variable: the types of Node 20 do not know all of them.
  const options = {
    headersTimeout: limits.headerTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
    keepAliveTimeout: limits.keepAlive,
    // The gateway itself refuses a request without a Host, with the message for a foreign Host.
    requireHostHeader: false,
    shouldUpgradeCallback: asksForSocket,
  };
  const server = createServer(options, (incoming, response) => handle(incoming, response));
  // node:http would answer by itself, without a message and without an id.
  server.on('checkExpectation', (incoming: IncomingMessage, response: ServerResponse) =>
    handle(incoming, response, { unexpected: true }),
  );
  server.on('upgrade', (incoming, socket, head) => {
    takeUpgrade({ incoming, socket: socket as Socket, head }, server, handle);
  });
  server.on('clientError', (error, stream) =>
    refuseBadHttp(error, stream as Socket, { connections, newRequestId, clock: deps.clock }),
  );
  // The keep-alive time of a connection is over.
  server.on('timeout', (socket: Socket) => {
    const { bytesRead } = socket;
    afterReading(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    // Without a descriptor for it, libuv closes the next connection silently.
    if (!descriptorsLeft()) makeRoom();
  });
  return server;
}

/** Resolves to the port. */
function bind(server: Server, host: string, port: number, log: Logger): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      server.on('error', (error) => log.error('the listener failed', { host, detail: error.message }));
      resolve((server.address() as AddressInfo).port);
    });
  });
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

/**
 * Resolves after every socket was read once more: the requests that clients sent before the listeners closed are served then. Closing
 * a connection with unread bytes would reset it.
 */
function readArrived(): Promise<void> {
  // The first may run before sockets are read.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** Waits for `done`, `ms` at most. A real timer: it keeps the process alive until the streams had their time. */
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
