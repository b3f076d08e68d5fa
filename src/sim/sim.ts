// The simulated provider: an HTTP server on loopback that speaks every protocol with the same codecs as the gateway. The
// gateway treats it like any other provider, so first steps, demos and tests take the path of a real request.
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject } from '../canonical/json.ts';
import type { JsonObject } from '../canonical/json.ts';
import { systemClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Ids } from '../ids.ts';
import { silentLog } from '../log.ts';
import type { Logger } from '../log.ts';
import { servedPath, type Generation, type TokenCount } from '../protocols/interface/endpoint.ts';
import { bodyOf } from '../protocols/json/body.ts';
import type { Protocol } from '../protocols/interface/protocol.ts';
import { allProtocols, protocolOfClient } from '../protocols/registry.ts';
import { SIM_MODELS } from '../canonical/sim-models.ts';
import { behaviourOf, unknownModel } from './behaviours.ts';
import { inputTokens } from './model.ts';
import { respond } from './respond.ts';
import type { Exchange } from './respond.ts';

interface SimOptions {
  clock?: Clock;
  ids: Ids;
  log?: Logger;
}

export interface Sim {
  /** The base URL without `/v1`: `http://127.0.0.1:PORT`. */
  url: string;
  /** Every request must carry it, because any local program and any web page can reach the port. */
  key: string;
  close(): Promise<void>;
}

export async function startSim({ clock = systemClock, ids, log = silentLog }: SimOptions): Promise<Sim> {
  const key = `sim-${ids.random(40)}`;
  let host = '';
  const server = createServer((request, response) => {
    void handle(request, response, { clock, ids, log, key, host });
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  // The gateway reuses its connections.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Exclusive: among workers of one gateway, each has its own.
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, resolve);
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    key,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface SimContext {
  clock: Clock;
  ids: Ids;
  log: Logger;
  key: string;
  host: string;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  context: SimContext,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const protocol = protocolOfClient(path, {});
  const requestId = `req_${context.ids.random(24)}`;
  response.setHeader('x-request-id', requestId);
  if (protocol.name === 'messages') response.setHeader('request-id', requestId);
  // A client that disconnects is not an error.
  response.on('error', () => undefined);
  try {
    authorize(request, protocol, context);
    await route(path, request, { protocol, response, clock: context.clock, ids: context.ids });
  } catch (error) {
    if (response.destroyed) return;
    if (!(error instanceof GatewayError))
      context.log.error('the simulated provider failed', { error: String(error) });
    sendError(error, protocol, requestId, response);
  }
}

function authorize({ headers }: IncomingMessage, protocol: Protocol, { key, host }: SimContext): void {
  if (headers.host !== host)
    throw new GatewayError('forbidden_host', 'the Host header does not name the simulated provider');
  const bearer = headers.authorization?.replace(/^Bearer /i, '');
  const given = protocol.name === 'messages' ? (headers['x-api-key'] ?? bearer) : bearer;
  if (typeof given !== 'string' || !timingSafeEqual(digest(given), digest(key)))
    throw new GatewayError(
      'unauthenticated',
      'the simulated provider accepts requests from the gateway only',
    );
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

type Route = (body: JsonObject, exchange: Exchange) => Promise<void> | void;

const POSTS: ReadonlyMap<string, Route> = new Map(
  allProtocols.flatMap(({ client }) =>
    client.endpoints.flatMap((endpoint): [string, Route][] => {
      if (endpoint.does === 'generate') {
        return [[servedPath(endpoint), (body, exchange) => generate(endpoint, body, exchange)]];
      }
      if (endpoint.does !== 'count') return [];
      return [[servedPath(endpoint), (body, exchange) => countTokens(endpoint, body, exchange)]];
    }),
  ),
);

async function route(path: string, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const post = POSTS.get(path);
  const isModels = path === '/v1/models' || path.startsWith('/v1/models/');
  if (post === undefined && !isModels) throw new GatewayError('not_found', `${path} does not exist`);
  const method = isModels ? 'GET' : 'POST';
  if (request.method !== method) {
    throw new GatewayError('method_not_allowed', `${path} accepts ${method} only`, { allow: method });
  }
  if (post !== undefined) return post(await readBody(request), exchange);
  request.resume();
  sendJson(modelsAt(path), exchange.response);
}

async function generate(endpoint: Generation, body: JsonObject, exchange: Exchange): Promise<void> {
  endpoint.readEnvelope(bodyOf(body), {});
  // One choice in place of several would look like a complete reply.
  if (exchange.protocol.name === 'chat' && typeof body.n === 'number' && body.n > 1) {
    throw new GatewayError('invalid_request', 'the simulated provider returns one choice; n must be 1', {
      param: 'n',
    });
  }
  await respond(exchange.protocol.client.decodeRequest(body), exchange);
}

function countTokens(endpoint: TokenCount, body: JsonObject, { protocol, response }: Exchange): void {
  behaviourOf(endpoint.readEnvelope(bodyOf(body), {}).model);
  sendJson(endpoint.encode(inputTokens(protocol.client.decodeRequest(body))), response);
}

/** Twice the gateway's default limit. */
const MAX_BODY = 64 * 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > MAX_BODY) throw new GatewayError('too_large', `the body is larger than ${MAX_BODY} bytes`);
    chunks.push(chunk as Buffer);
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new GatewayError('invalid_request', 'the body is not JSON');
  }
  if (!isObject(value)) throw new GatewayError('invalid_request', 'the body is not an object');
  return value;
}

/** Fixed, so that replies are deterministic. */
const CREATED = new Date('2026-01-01T00:00:00Z');

/** Model objects with the fields of both protocols. */
function modelsAt(path: string): JsonObject {
  const objects = SIM_MODELS.map((id) => ({
    id,
    object: 'model',
    created: CREATED.getTime() / 1000,
    owned_by: 'sim',
    type: 'model',
    display_name: id,
    created_at: CREATED.toISOString(),
  }));
  const id = path.slice('/v1/models/'.length);
  if (id === '') {
    return {
      object: 'list',
      data: objects,
      has_more: false,
      first_id: SIM_MODELS[0],
      last_id: SIM_MODELS.at(-1),
    };
  }
  const found = objects.find((object) => object.id === id);
  if (found === undefined) throw unknownModel(id);
  return found;
}

function sendJson(body: JsonObject, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendError(error: unknown, protocol: Protocol, requestId: string, response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known =
    error instanceof GatewayError ? error : new GatewayError('internal', 'the simulated provider failed');
  const { retryAfter, allow } = known.options;
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  if (allow !== undefined) response.setHeader('allow', allow);
  // The rest of an unread body is not awaited.
  if (!response.req.complete) response.setHeader('connection', 'close');
  response.writeHead(known.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(protocol.client.encodeError(known, requestId)));
}
