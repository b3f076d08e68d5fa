// Requests to continue a connection with another protocol than HTTP/1.1. A WebSocket is opened where the path has one, after the checks
// that every request passes; whatever else is asked for, the request is served as if it had not asked.
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { authenticate } from '../../accounts/access.ts';
import { GatewayError } from '../../errors.ts';
import { shuttingDown } from '../../gateway/in-flight-limit.ts';
import { plural } from '../../plural.ts';
import type { ClientRequest } from '../client-request.ts';
import { hostOf, type Route, WEBSOCKET } from '../router.ts';
import type { SocketDeps } from './session.ts';

interface Upgrade {
  incoming: IncomingMessage;
  socket: Socket;
  /** What the client sent behind the request's head. */
  head: Buffer;
}

type Handle = (
  incoming: IncomingMessage,
  response: ServerResponse,
  how: { upgradeHead: Buffer | undefined },
) => void;

const ignore = (): void => undefined;

/** Newer versions of Node ask this first (`shouldUpgradeCallback`), and serve all other requests as they are. */
export function asksForSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === WEBSOCKET;
}

/** node:http has let go of the socket. */
export function takeUpgrade(upgrade: Upgrade, server: Server, handle: Handle): void {
  const { incoming, socket, head } = upgrade;
  socket.on('error', ignore);
  if (!asksForSocket(incoming)) {
    serveAsHttp(upgrade, server);
    return;
  }
  const response = new ServerResponse(incoming);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on('finish', () => socket.destroySoon());
  handle(incoming, response, { upgradeHead: head });
}

/** Some clients (Java's) offer HTTP/2 with each request, and some proxies ask for a WebSocket with each. */
const NOT_FOR_HTTP: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings']);

/** Gives the request back to node:http, as the first one of a connection: Node 20 asks nobody. */
function serveAsHttp({ incoming, socket, head }: Upgrade, server: Server): void {
  const { method = 'GET', url = '/', httpVersion, rawHeaders, headers } = incoming;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!NOT_FOR_HTTP.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1] ?? ''}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? '')) lines.push('connection: close');
  socket.removeListener('error', ignore);
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

/** Throws GatewayError before the connection is a WebSocket. */
export async function openSocket(
  { protocol, endpoint }: Extract<Route, { name: 'converse' }>,
  request: ClientRequest,
  shared: SocketDeps,
): Promise<void> {
  const { headers, rawHeaders, upgradeHead: head = Buffer.alloc(0) } = request;
  const { deps, sessions } = shared;
  const { listen, limits, maintenance } = deps.current.config;
  checkOrigin(headers.origin, hostOf(rawHeaders), listen.origins);
  const asked = { headers, endpoint: protocol.permission, keyHeaders: protocol.client.keyHeaders };
  await authenticate(asked, deps.store, deps.clock.now());
  if (deps.recording !== undefined) {
    // What a message goes on from is in no tape: over HTTP each request is whole.
    const message = `this gateway records requests, which are whole over HTTP alone; send POST ${request.path}`;
    throw new GatewayError('method_not_allowed', message, { status: 426, allow: 'POST' });
  }
  if (deps.inFlightLimit.closed) throw shuttingDown();
  if (maintenance) {
    throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
  }
  checkHandshake(headers);
  const { startSession } = await import('./session.ts');
  // Nothing is waited for between this and the session's beginning: clients that come together count one after the other.
  if (sessions.count >= limits.maxConcurrent) {
    const message = `the gateway has ${plural(sessions.count, 'WebSocket')} open already (limits.max_concurrent)`;
    throw new GatewayError('unavailable', message, { retryAfter: 1 });
  }
  if (!request.isGone) startSession({ request, head, protocol, dialect: endpoint.dialect }, shared);
}

/**
 * CORS does not hold for WebSockets: any page may open one. A page of the gateway itself may, and some clients that are no browsers say
 * that they are one.
 */
function checkOrigin(origin: string | undefined, host: string | undefined, allowed: readonly string[]): void {
  if (origin === undefined || allowed.includes(origin)) return;
  if (host !== undefined && [`http://${host}`, `https://${host}`].includes(origin.toLowerCase())) return;
  const message = 'pages of this origin may not open a WebSocket here (listen.origins in the configuration)';
  throw new GatewayError('forbidden_host', message);
}

const KEY = /^[+/0-9A-Za-z]{22}==$/;

function checkHandshake(headers: IncomingMessage['headers']): void {
  if (headers['sec-websocket-version'] !== '13') {
    throw new GatewayError('invalid_request', 'sec-websocket-version: must be 13');
  }
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) {
    throw new GatewayError('invalid_request', 'sec-websocket-key: must be 16 bytes in base64');
  }
}
