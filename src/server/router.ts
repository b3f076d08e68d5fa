// Which station a path and a method lead to. Matched on the path alone, never on the query or a header.
import { didYouMean } from '../config/did-you-mean.ts';
import { GatewayError } from '../errors.ts';
import type { Protocol, TokenCounting } from '../protocols/protocol.ts';
import { allProtocols } from '../protocols/registry.ts';

export type Route =
  | { name: 'generate'; protocol: Protocol }
  | { name: 'count_tokens'; protocol: Protocol; counting: TokenCounting }
  /** `id`: of the path, decoded. */
  | { name: 'model'; id: string }
  | { name: 'models' | 'health' | 'probe' };

interface Place {
  route: Route;
  methods: readonly string[];
}

const POST = ['POST'];
const READ = ['GET', 'HEAD'];

const PATHS: ReadonlyMap<string, Place> = new Map<string, Place>([
  ...allProtocols.map(generating),
  ...allProtocols.flatMap(counting),
  ['/v1/models', { route: { name: 'models' }, methods: READ }],
  ['/health', { route: { name: 'health' }, methods: READ }],
  ['/', { route: { name: 'probe' }, methods: READ }],
  ['/api/hello', { route: { name: 'probe' }, methods: ['HEAD', 'GET'] }],
]);

function generating(protocol: Protocol): [string, Place] {
  return [`/v1${protocol.client.path}`, { route: { name: 'generate', protocol }, methods: POST }];
}

function counting(protocol: Protocol): [string, Place][] {
  const { counting: by } = protocol.client;
  if (by === undefined) return [];
  return [[`/v1${by.path}`, { route: { name: 'count_tokens', protocol, counting: by }, methods: POST }]];
}

const MODEL = '/v1/models/';
const ENDPOINTS = [...PATHS.keys()].filter((path) => path.startsWith('/v1'));

/** Throws GatewayError 404 or 405, in words that say what was meant. `origin`: where this client reaches the gateway. */
export function route(method: string, path: string, origin: () => string): Route {
  const known = PATHS.get(path) ?? modelAt(path);
  if (known === undefined) throw new GatewayError('not_found', unknownPath(path, origin()));
  if (!known.methods.includes(method)) {
    const allow = known.methods.join(', ');
    throw new GatewayError('method_not_allowed', `${method} is not for ${path}; use ${allow}`, { allow });
  }
  return known.route;
}

function modelAt(path: string): Place | undefined {
  if (!path.startsWith(MODEL) || path === MODEL) return undefined;
  return { route: { name: 'model', id: decoded(path.slice(MODEL.length)) }, methods: READ };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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
  return PATHS.has(path) || path.startsWith(MODEL);
}
