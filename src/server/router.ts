// Which station a path and a method lead to. Matched on the path alone, never on the query or a header.
import { didYouMean } from '../config/did-you-mean.ts';
import { GatewayError } from '../errors.ts';

export type RouteName = 'chat' | 'messages' | 'count_tokens' | 'models' | 'model' | 'health' | 'probe';

export interface Route {
  name: RouteName;
  /** `model`: the id in the path, decoded. */
  id?: string;
}

const PATHS: ReadonlyMap<string, { name: RouteName; methods: readonly string[] }> = new Map([
  ['/v1/chat/completions', { name: 'chat', methods: ['POST'] }],
  ['/v1/messages', { name: 'messages', methods: ['POST'] }],
  ['/v1/messages/count_tokens', { name: 'count_tokens', methods: ['POST'] }],
  ['/v1/models', { name: 'models', methods: ['GET', 'HEAD'] }],
  ['/health', { name: 'health', methods: ['GET', 'HEAD'] }],
  ['/', { name: 'probe', methods: ['GET', 'HEAD'] }],
  ['/api/hello', { name: 'probe', methods: ['HEAD', 'GET'] }],
] as const);

const MODEL = '/v1/models/';
const ENDPOINTS = [...PATHS.keys()].filter((path) => path.startsWith('/v1'));

/** Throws GatewayError 404 or 405, in words that say what was meant. `origin`: where this client reaches the gateway. */
export function route(method: string, path: string, origin: () => string): Route {
  const known =
    PATHS.get(path) ??
    (path.startsWith(MODEL) && path !== MODEL
      ? { name: 'model' as const, methods: ['GET', 'HEAD'] }
      : undefined);
  if (known === undefined) throw new GatewayError('not_found', unknownPath(path, origin()));
  if (!known.methods.includes(method)) {
    const allow = known.methods.join(', ');
    throw new GatewayError('method_not_allowed', `${method} is not for ${path}; use ${allow}`, { allow });
  }
  return known.name === 'model' ? { name: 'model', id: decoded(path.slice(MODEL.length)) } : known;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unknownPath(path: string, origin: string): string {
  const shown = path.slice(0, 200);
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
