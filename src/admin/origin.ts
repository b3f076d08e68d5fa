// Whether a request may come from a browser's page: only from a page of this gateway itself. Another site, and another port of the
// same host, which a cookie does not tell apart, get nothing.
import type { SiteExchange } from '../gateway/exchange.ts';
import { Problem } from './reply.ts';

type Headers = SiteExchange['headers'];

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

/** Throws Problem 403. Requests of programs have neither header. */
export function checkOrigin({ headers, method, path }: SiteExchange): void {
  const origin = one(headers.origin);
  if (origin !== undefined && !isOwn(origin, one(headers.host) ?? '')) throw foreign();
  const site = one(headers['sec-fetch-site']);
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  // A link in a page that is a terminal. The page itself holds no data, and no page can frame it.
  const opensPage = method === 'GET' && one(headers['sec-fetch-dest']) === 'document' && isPage(path);
  if (!opensPage || one(headers['sec-fetch-mode']) !== 'navigate') throw foreign();
}

export function isPage(path: string): boolean {
  return path === '/admin' || path === '/admin/';
}

function foreign(): Problem {
  return new Problem(403, 'foreign_origin', 'pages of another origin may not use the admin API');
}

function isOwn(origin: string, host: string): boolean {
  const match = /^(https?):\/\/([^/]+)$/.exec(origin);
  if (match === null) return false;
  try {
    // Without the scheme's own port.
    const own = new URL(`${match[1]}://${host}`).host;
    return own !== '' && new URL(origin).host === own;
  } catch {
    return false;
  }
}

/** Whether the browser reaches the gateway through TLS: by its own word, or by the word of a proxy that the configuration names. */
export function isBehindTls(headers: Headers, names: readonly string[]): boolean {
  if (one(headers.origin)?.startsWith('https://') === true) return true;
  const host = (one(headers.host) ?? '').replace(/:\d+$/, '').toLowerCase();
  return (
    names.some((name) => name.toLowerCase() === host) &&
    one(headers['x-forwarded-proto'])?.split(',')[0]?.trim().toLowerCase() === 'https'
  );
}

/** Cookies do not tell ports apart: two gateways of one host must not replace each other's. */
export function cookieName(headers: Headers): string {
  const port = /:(\d{1,5})$/.exec(one(headers.host) ?? '')?.[1];
  return port === undefined ? 'gateway_admin' : `gateway_admin_${port}`;
}
