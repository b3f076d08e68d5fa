// Web pages of named origins may use the model endpoints (CORS). No other origin, and no path of the admin API, gets any of these headers.
import type { Exchange, HeaderList, Sink } from '../gateway/exchange.ts';
import { modelMethods } from './router.ts';

/** Seconds until a browser asks again. */
const REMEMBERED_S = 600;
/** What a browser may ask to send: names of headers, of which the SDKs have many of their own. */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/;
const MOST_NAMES = 4096;

interface Asked {
  headers: Exchange['headers'];
  method: string;
  path: string;
  sink: Pick<Sink, 'send'> & { allowOrigin(origin: string): void };
}

/** Marks the answer to an allowed origin as readable there. True: it was the question before a request, and is answered. */
export function meetsOrigin(
  { headers, method, path, sink }: Asked,
  origins: readonly string[],
  keyless: boolean,
): boolean {
  const { origin } = headers;
  if (typeof origin !== 'string' || !origins.includes(origin)) return false;
  const methods = modelMethods(path, keyless);
  if (methods === undefined) return false;
  sink.allowOrigin(origin);
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  sink.send(204, preflight(headers, methods), '');
  return true;
}

function preflight(asked: Asked['headers'], methods: readonly string[]): HeaderList {
  const names = String(asked['access-control-request-headers'] ?? '');
  const isNamed = names.length <= MOST_NAMES && NAMES.test(names);
  return [
    ...['access-control-allow-methods', methods.join(', ')],
    ...(isNamed ? ['access-control-allow-headers', names] : []),
    ...['access-control-max-age', String(REMEMBERED_S)],
    ...(asked['access-control-request-private-network'] === 'true'
      ? ['access-control-allow-private-network', 'true']
      : []),
  ];
}

const EXPOSED = /^(?:x-request-id|request-id|x-gateway-.*|.*ratelimit-.*|retry-after.*|x-should-retry)$/;

/** For an answer with these headers. */
export function originHeaders(origin: string, answer: HeaderList): HeaderList {
  const exposed = answer.filter((name, at) => at % 2 === 0 && EXPOSED.test(name));
  return [
    ...['access-control-allow-origin', origin, 'vary', 'origin'],
    ...(exposed.length === 0 ? [] : ['access-control-expose-headers', exposed.join(', ')]),
  ];
}
