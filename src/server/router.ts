// Which requests are for this gateway, and where they lead: by the Host header, since a web page whose own name resolves to this machine
// must get nothing (DNS rebinding), and by path and method, never by the query or another header.
import { didYouMean } from '../config/did-you-mean.ts';
import { GatewayError } from '../errors.ts';
import { countTokens } from '../gateway/count-tokens.ts';
import type { Exchange, GatewayDeps, Site } from '../gateway/exchange.ts';
import { infer } from '../gateway/inference.ts';
import type { Protocol } from '../protocols/interface/protocol.ts';
import type { TokenCounting } from '../protocols/interface/features.ts';
import { allProtocols } from '../protocols/registry.ts';
import {
  health,
  metrics,
  probe,
  listModels,
  showModel,
  removeStored,
  showStored,
  type StoredAnswerRoute,
} from './routes.ts';
import { isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';
import { percentDecoded } from '../percent.ts';

export type Route =
  | { name: 'generate'; protocol: Protocol; relayedPath?: string }
  | { name: 'count_tokens'; protocol: Protocol; counting: TokenCounting }
  /** `id`: from the path, decoded. */
  | { name: 'model'; id: string }
  | { name: 'models' | 'health' | 'metrics' | 'probe' }
  /** A path of the site, which answers it by itself. */
  | { name: 'site' }
  | ({ name: 'show_stored' | 'delete_stored' } & StoredAnswerRoute);

interface PathEntry {
  route: Route;
  methods: readonly string[];
  /** Of a method that leads elsewhere. */
  others?: Readonly<Record<string, Route>>;
}

const POST = ['POST'];
const READ = ['GET', 'HEAD'];

const METRICS_PATH = '/metrics';

export const HEALTH = '/health';

const PATHS: ReadonlyMap<string, PathEntry> = new Map<string, PathEntry>([
  ...allProtocols.map(generating),
  ...allProtocols.flatMap(counting),
  ...allProtocols.flatMap(relaying),
  ['/v1/models', { route: { name: 'models' }, methods: READ }],
  [HEALTH, { route: { name: 'health' }, methods: READ }],
  [METRICS_PATH, { route: { name: 'metrics' }, methods: READ }],
  ['/', { route: { name: 'probe' }, methods: READ }],
  ['/api/hello', { route: { name: 'probe' }, methods: ['HEAD', 'GET'] }],
]);

function generating(protocol: Protocol): [string, PathEntry] {
  return [`/v1${protocol.client.path}`, { route: { name: 'generate', protocol }, methods: POST }];
}

function counting(protocol: Protocol): [string, PathEntry][] {
  const { counting: by } = protocol.client;
  if (by === undefined) return [];
  return [[`/v1${by.path}`, { route: { name: 'count_tokens', protocol, counting: by }, methods: POST }]];
}

function relaying(protocol: Protocol): [string, PathEntry][] {
  return (protocol.client.relayedPaths ?? []).map((relayedPath) => [
    `/v1${relayedPath}`,
    { route: { name: 'generate', protocol, relayedPath }, methods: POST },
  ]);
}

const MODEL = '/v1/models/';
const ENDPOINTS = [...PATHS.keys()].filter((path) => path.startsWith('/v1'));

export interface Asked {
  method: string;
  path: string;
  /** The protocol that the client wants to go on with on this connection. */
  upgrade: string | undefined;
  /** `GET /metrics` exists. */
  metrics: boolean;
}

/**
 * Throws GatewayError 404, 405 or 426 with a hint at what was meant. `origin`: the URL at which this client reaches the gateway.
 */
export function route({ method, path, upgrade, metrics }: Asked, origin: () => string, site?: Site): Route {
  const known = path === METRICS_PATH && !metrics ? undefined : findEntry(path);
  if (known === undefined && site?.serves(path) === true) return { name: 'site' };
  if (known === undefined) throw new GatewayError('not_found', unknownPath(path, origin()));
  const other = known.others?.[method];
  if (other !== undefined) return other;
  if (upgrade !== undefined && known.route.name === 'generate' && !known.methods.includes(method)) {
    const message = `this gateway speaks HTTP alone; send POST ${path} and read its event stream`;
    throw new GatewayError('method_not_allowed', message, { status: 426, allow: known.methods.join(', ') });
  }
  if (!known.methods.includes(method)) {
    const allow = known.methods.join(', ');
    throw new GatewayError('method_not_allowed', `${method} is not for ${path}; use ${allow}`, { allow });
  }
  return known.route;
}

function findEntry(path: string): PathEntry | undefined {
  return PATHS.get(path) ?? modelAt(path) ?? storedAt(path);
}

export function answer(
  route: Exclude<Route, { name: 'site' }>,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  switch (route.name) {
    case 'generate':
      return infer(route.protocol, exchange, deps, route.relayedPath);
    case 'count_tokens':
      return countTokens(route, exchange, deps);
    case 'models':
      return listModels(exchange, deps);
    case 'model':
      return showModel(exchange, deps, route.id);
    case 'health':
      return health(exchange, deps);
    case 'metrics':
      return metrics(exchange, deps);
    case 'probe':
      return probe(exchange);
    case 'show_stored':
      return showStored(route, exchange, deps);
    case 'delete_stored':
      return removeStored(route, exchange, deps);
  }
}

function modelAt(path: string): PathEntry | undefined {
  if (!path.startsWith(MODEL) || path === MODEL) return undefined;
  return { route: { name: 'model', id: percentDecoded(path.slice(MODEL.length)) }, methods: READ };
}

/** `/v1/responses/ID` and what stands below it, of protocols whose answers are stored. */
function storedAt(path: string): PathEntry | undefined {
  for (const protocol of allProtocols) {
    const { path: own, stored } = protocol.client;
    const below = `/v1${own}/`;
    if (stored === undefined || !path.startsWith(below)) continue;
    const isInput = path.endsWith(stored.inputPath);
    const id = percentDecoded(
      isInput ? path.slice(below.length, -stored.inputPath.length) : path.slice(below.length),
    );
    if (id === '' || id.includes('/') || RESERVED.has(id)) continue;
    const what = isInput ? 'input' : 'answer';
    const route: Route = { name: 'show_stored', protocol, stored, id, what };
    if (isInput) return { route, methods: READ };
    const others = { DELETE: { ...route, name: 'delete_stored' as const } };
    return { route, methods: [...READ, 'DELETE'], others };
  }
  return undefined;
}

/** Words of other services' paths that no answer has for an id. */
const RESERVED: ReadonlySet<string> = new Set(['cancel']);

const MOST_SHOWN = 200;

function unknownPath(path: string, origin: string): string {
  const shown = path.length > MOST_SHOWN ? `${path.slice(0, MOST_SHOWN)}…` : path;
  const once = path.replace(/^\/v1(?=\/v1\/)/, '');
  if (once !== path && isKnown(once)) {
    return `unknown path ${shown}: it has /v1 twice; set the client's base URL to ${origin}`;
  }
  if (isKnown(`/v1${path}`)) return `unknown path ${shown}; set the client's base URL to ${origin}/v1`;
  const near = didYouMean(path, ENDPOINTS);
  const meant = near === undefined ? `this gateway serves ${ENDPOINTS.join(', ')}` : `did you mean ${near}?`;
  return `unknown path ${shown}; ${meant} (base URL: ${origin}/v1, for most messages clients ${origin})`;
}

function isKnown(path: string): boolean {
  return PATHS.has(path) || path.startsWith(MODEL);
}

const WILDCARDS = new Set(['0.0.0.0', '::']);

/** The Host header among flat names and values; undefined without one, or with several: readers differ in which one counts. */
export function hostOf(rawHeaders: readonly string[]): string | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return undefined;
    host = rawHeaders[at + 1];
  }
  return host;
}

export function hasNoHost(rawHeaders: readonly string[]): boolean {
  return !rawHeaders.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
}

interface Listen {
  hosts: readonly string[];
  names: readonly string[];
}

/** Whether the Host of a request is one of this gateway. */
export type HostCheck = (rawHeaders: readonly string[], listen: Listen) => boolean;

/** Remembers the last Host that passed, since a client sends the same one in each request. */
export function createHostCheck(): HostCheck {
  let known: string | undefined;
  let knownFor: Listen | undefined;
  return (rawHeaders, listen) => {
    const host = hostOf(rawHeaders);
    if (host !== undefined && host === known && listen === knownFor) return true;
    if (!isOwnHost(host, listen)) return false;
    known = host;
    knownFor = listen;
    return true;
  };
}

/** `host`: the header's value, with or without a port. */
function isOwnHost(host: string | undefined, listen: Listen): boolean {
  const name = hostName(host ?? '');
  if (name === undefined) return false;
  if (isLoopback(name)) return true;
  if (isIP(name) !== 0 && listen.hosts.some((own) => WILDCARDS.has(own))) return true;
  return [...listen.hosts, ...listen.names].some((own) => own.toLowerCase() === name);
}

function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(host.trim());
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
