// Which requests are for this gateway, and where they lead: by the Host header, since a web page whose own name resolves to this machine
// must get nothing (DNS rebinding), and by path and method, never by the query or another header.
import { didYouMean } from '../config/did-you-mean.ts';
import { GatewayError } from '../errors.ts';
import { countTokens } from '../gateway/count-tokens.ts';
import type { Exchange, GatewayDeps, Site } from '../gateway/exchange.ts';
import { inferOnce } from '../gateway/idempotency.ts';
import { inferOrInstead } from '../gateway/inbound/instead.ts';
import type { Arrival } from '../gateway/inbound/read-request.ts';
import { infer } from '../gateway/inference.ts';
import type { ClientProtocol } from '../protocols/interface/protocol.ts';
import { pathReader, servedPath, type Endpoint, type PathValues } from '../protocols/interface/endpoint.ts';
import { clientProtocols } from '../protocols/registry.ts';
import { health, metrics, probe, listModels, showModel, showUsage, tell } from './routes.ts';
import { showScreenUsage, type ScreenUsage } from './native-routes.ts';
import { removeStored, showStored } from './stored-routes.ts';
import { isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';
import { percentDecoded } from '../percent.ts';

/** An endpoint of a protocol, with the values that stand in the path. */
type EndpointRoute<E extends Endpoint = Endpoint> = E extends Endpoint
  ? { name: E['does']; protocol: ClientProtocol; endpoint: E; values: PathValues }
  : never;

export type Route =
  | EndpointRoute
  /** `id`: from the path, decoded. */
  | { name: 'model'; id: string }
  | { name: 'models' | 'usage' | 'health' | 'metrics' | 'probe' }
  | { name: 'screen_usage'; usage: ScreenUsage }
  /** A path of the site, which answers it by itself. */
  | { name: 'site' };

/** Where a path leads, by method. */
type Methods = ReadonlyMap<string, Route>;

const METRICS_PATH = '/metrics';

export const HEALTH = '/health';

const ROWS = clientProtocols.flatMap((protocol) =>
  protocol.client.endpoints.map((endpoint) => ({ protocol, endpoint, path: servedPath(endpoint) })),
);

const PATHS: ReadonlyMap<string, Methods> = new Map([
  ...pathsOf(ROWS.filter(({ path }) => !path.includes('{'))).map(
    ([path, rows]) => [path, methodsOf(rows, {})] as const,
  ),
  ['/v1/models', reads({ name: 'models' })],
  ['/v1/usage', reads({ name: 'usage' })],
  ...clientProtocols.flatMap(({ client: { screen } }) =>
    screen?.usage === undefined
      ? []
      : [[screen.usage.path, reads({ name: 'screen_usage', usage: screen.usage })] as const],
  ),
  [HEALTH, reads({ name: 'health' })],
  [METRICS_PATH, reads({ name: 'metrics' })],
  ['/', reads({ name: 'probe' })],
  ['/api/hello', reads({ name: 'probe' })],
]);

const PATTERNS = pathsOf(ROWS.filter(({ path }) => path.includes('{'))).map(([path, rows]) => ({
  read: pathReader(path),
  rows,
}));

/** Of protocols whose clients send no keys. */
const KEYLESS: ReadonlySet<string> = new Set(
  ROWS.filter(({ protocol }) => protocol.client.isKeyless).map(({ path }) => path),
);

type EndpointRow = (typeof ROWS)[number];

/** Rows of the same path are together, in the order of their protocols. */
function pathsOf(rows: readonly EndpointRow[]): [string, EndpointRow[]][] {
  const paths = new Map<string, EndpointRow[]>();
  for (const row of rows) paths.set(row.path, [...(paths.get(row.path) ?? []), row]);
  return [...paths];
}

function methodsOf(rows: readonly EndpointRow[], values: PathValues): Methods {
  return new Map(
    rows.flatMap(({ protocol, endpoint }): [string, Route][] => {
      const to = { name: endpoint.does, protocol, endpoint, values } as EndpointRoute;
      if (endpoint.does === 'converse') return [[endpoint.method, to]];
      return endpoint.method === 'GET' ? [...reads(to)] : [[endpoint.method, to]];
    }),
  );
}

function reads(to: Route): Methods {
  return new Map([
    ['GET', to],
    ['HEAD', to],
  ]);
}

/** Of the header `upgrade`, in any case. */
export const WEBSOCKET = 'websocket';

const MODEL = '/v1/models/';
const ENDPOINTS = [...PATHS.keys()].filter((path) => path.startsWith('/v1'));

export interface Asked {
  method: string;
  path: string;
  /** The protocol that the client wants to switch this connection to. */
  upgrade: string | undefined;
  /** `GET /metrics` exists. */
  metrics: boolean;
  /** Paths of clients without keys exist. */
  keyless: boolean;
}

/**
 * Throws GatewayError 404, 405 or 426 with a hint at what was meant. `origin`: the URL at which this client reaches the gateway.
 */
export function route(
  { method, path, upgrade, metrics, keyless }: Asked,
  origin: () => string,
  site?: Site,
): Route {
  const isOff = (path === METRICS_PATH && !metrics) || (!keyless && KEYLESS.has(path));
  const known = isOff ? undefined : methodsAt(path);
  if (known === undefined && site?.serves(path) === true) return { name: 'site' };
  if (known === undefined) throw new GatewayError('not_found', unknownPath(path, origin()));
  const found = known.get(method);
  if (found !== undefined && (found.name !== 'converse' || upgrade?.toLowerCase() === WEBSOCKET))
    return found;
  const allow = [...known]
    .flatMap(([name, { name: does }]) => (does === 'converse' ? [] : [name]))
    .join(', ');
  const post = known.get('POST')?.name;
  if (upgrade !== undefined && (post === 'generate' || post === 'relay')) {
    const message = `${path} has no WebSocket; send POST ${path} and read its event stream`;
    throw new GatewayError('method_not_allowed', message, { status: 426, allow });
  }
  throw new GatewayError('method_not_allowed', `${method} is not for ${path}; use ${allow}`, { allow });
}

function methodsAt(path: string): Methods | undefined {
  return PATHS.get(path) ?? modelAt(path) ?? patternAt(path);
}

const BESIDE_MODELS: ReadonlySet<Route['name']> = new Set(['health', 'metrics', 'probe', 'site']);

/** The methods of a path of models; undefined: it is another path. */
export function modelMethods(path: string, keyless: boolean): readonly string[] | undefined {
  const known = !keyless && KEYLESS.has(path) ? undefined : methodsAt(path);
  if (known === undefined) return undefined;
  const isOther = [...known.values()].some(({ name }) => BESIDE_MODELS.has(name));
  return isOther ? undefined : [...known.keys()];
}

function patternAt(path: string): Methods | undefined {
  for (const { read, rows } of PATTERNS) {
    const values = read(path);
    if (values !== undefined) return methodsOf(rows, values);
  }
  return undefined;
}

export function answer(
  route: Exclude<Route, { name: 'site' | 'converse' }>,
  exchange: Exchange,
  deps: GatewayDeps,
): Promise<void> {
  switch (route.name) {
    case 'generate':
    case 'relay':
      if (deps.recording === undefined) return inferAt(route, exchange, deps);
      return deps.recording.watch(route, exchange, (watched) => inferAt(route, watched, deps));
    case 'count':
      if (deps.recording === undefined) return countTokens(route, exchange, deps);
      return deps.recording.watch(route, exchange, (watched) => countTokens(route, watched, deps));
    case 'tell':
      return tell(route, exchange, deps);
    case 'refuse':
      throw new GatewayError('not_found', route.endpoint.why);
    case 'models':
      return listModels(exchange, deps);
    case 'usage':
      return showUsage(exchange, deps);
    case 'screen_usage':
      return showScreenUsage(exchange, deps, route.usage);
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

function inferAt(arrival: Arrival, exchange: Exchange, deps: GatewayDeps): Promise<void> {
  const { endpoint } = arrival;
  const key = exchange.headers['idempotency-key'];
  if (key !== undefined && key !== '') return inferOnce(String(key), arrival, exchange, deps);
  // Of most endpoints a reader need not know that some are done by a model.
  if (endpoint.does !== 'relay' || endpoint.instead === undefined) return infer(arrival, exchange, deps);
  return inferOrInstead(arrival, exchange, deps);
}

/** A model's name may hold slashes. */
function modelAt(path: string): Methods | undefined {
  if (!path.startsWith(MODEL) || path === MODEL) return undefined;
  return reads({ name: 'model', id: percentDecoded(path.slice(MODEL.length)) });
}

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
  return methodsAt(path) !== undefined;
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
