// Who asks: a token in `Authorization`, or the cookie of a browser session; and from where: a browser may ask only from a page of
// this gateway itself, because a cookie does not tell ports of one host apart. Who sends wrong credentials is slowed down,
// but never a session or a token that was right before: nobody can lock the owner out by guessing. Wrong credentials have token
// buckets: one for each address, and one for all addresses together. Memory is bounded.
import { isValid } from '../accounts/terms.ts';
import { hashKey } from '../accounts/access.ts';
import { looksLikeToken } from '../accounts/admin.ts';
import { createThrottle } from '../accounts/throttle.ts';
import type { Clock } from '../clock.ts';
import type { SiteExchange } from '../gateway/exchange.ts';
import type { AdminScope, AdminStore } from '../store/admin/admin-records.ts';
import { Problem } from './reply.ts';
import { isSameSecret, type Session, type Sessions } from './sessions.ts';

export interface Caller {
  /** The ID of the token or of the session, for the audit. */
  readonly id: string;
  readonly scope: AdminScope;
  /** undefined: the caller has a token. */
  readonly session: Session | undefined;
  /** Whether the credential is still valid: checked again during long answers. */
  isValid(): Promise<boolean>;
}

export interface Authenticator {
  /** Rejects with Problem 401, 403 or 429. */
  authenticate(exchange: SiteExchange, scope: AdminScope): Promise<Caller>;
  /** Makes a session of a link. Rejects with Problem 401 or 429. */
  openSession(exchange: SiteExchange, code: string): Promise<{ session: Session; cookie: string }>;
}

const CSRF_HEADER = 'x-gateway-csrf';
/** Bound of the set of hashes of tokens that were valid. */
const MOST_KNOWN = 256;
const TOUCH_MS = 60_000;
const LONGEST_COOKIES = 8192;

export function createAuthenticator(deps: {
  store: AdminStore;
  clock: Clock;
  sessions: Sessions;
}): Authenticator {
  const { store, clock, sessions } = deps;
  const tokenThrottle = createThrottle(clock);
  const browserThrottle = createThrottle(clock);
  const known = new Set<string>();

  /** Counts a wrong credential. The answer is 401, or 429 after too many. */
  function wrong(exchange: SiteExchange, throttle: typeof tokenThrottle, message: string): Problem {
    const wait = throttle.waitMs(exchange.remoteAddress);
    if (wait > 0) return tooMany(wait);
    throttle.failed(exchange.remoteAddress);
    return unauthenticated(message);
  }

  async function validToken(hash: string) {
    const token = await store.findAdminToken(hash);
    return token !== undefined && isValid(token, clock.now()) ? token : undefined;
  }

  async function byToken(exchange: SiteExchange, plaintext: string): Promise<Caller> {
    const hash = hashKey(plaintext);
    const wait = known.has(hash) ? 0 : tokenThrottle.waitMs(exchange.remoteAddress);
    if (wait > 0) throw tooMany(wait);
    const token = looksLikeToken(plaintext) ? await validToken(hash) : undefined;
    if (token === undefined) {
      known.delete(hash);
      throw wrong(exchange, tokenThrottle, NOT_VALID);
    }
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(hash);
    const now = clock.now();
    if (now - (token.lastUsedAt ?? 0) > TOUCH_MS) await store.touchAdminToken(token.id, now);
    const isValid = async (): Promise<boolean> => (await validToken(hash)) !== undefined;
    return { id: token.id, scope: token.scope, session: undefined, isValid };
  }

  async function byCookie(exchange: SiteExchange, cookie: string, scope: AdminScope): Promise<Caller> {
    const session = await sessions.find(cookie);
    if (session === undefined) throw wrong(exchange, browserThrottle, SESSION_OVER);
    if (scope === 'write' && !isSameSecret(String(exchange.headers[CSRF_HEADER] ?? ''), session.csrf)) {
      const message = `a write of a browser session needs the header ${CSRF_HEADER}, with the value that GET /admin/session gives`;
      throw new Problem(403, 'csrf', message);
    }
    const isValid = (): Promise<boolean> => sessions.isOpen(cookie);
    return { id: session.id, scope: 'write', session, isValid };
  }

  return {
    async authenticate(exchange, scope) {
      const { headers } = exchange;
      const given = headers.authorization;
      const cookie = cookieOf(headers);
      const caller =
        given !== undefined
          ? await byToken(exchange, /^bearer +(\S+)$/i.exec(String(given).trim())?.[1] ?? '')
          : cookie !== undefined && (await byCookie(exchange, cookie, scope));
      if (caller === false) throw unauthenticated(NOTHING_SENT);
      if (scope === 'write' && caller.scope !== 'write')
        throw new Problem(403, 'read_only', 'this token has the scope read');
      return caller;
    },
    async openSession(exchange, code) {
      const opened = await sessions.open(code);
      if (opened === undefined) throw wrong(exchange, browserThrottle, WRONG_LINK);
      return opened;
    },
  };
}

const NOTHING_SENT =
  'send a token of the admin API (gateway admin tokens create) as Authorization: Bearer, or open the link of gateway dashboard';
const NOT_VALID =
  'the token is not valid: unknown, expired or revoked (gateway admin tokens create creates a new one)';
const SESSION_OVER = 'the session is over; open a new link: gateway dashboard';
const WRONG_LINK =
  'the link is not valid: used already, or older than 60 seconds (gateway dashboard makes a new one)';

function unauthenticated(message: string): Problem {
  return new Problem(401, 'unauthenticated', message, {
    headers: ['www-authenticate', 'Bearer realm="gateway admin"'],
  });
}

export function tooMany(waitMs: number): Problem {
  const headers = ['retry-after', String(Math.ceil(waitMs / 1000))];
  return new Problem(429, 'too_many_attempts', 'too many wrong credentials were sent', { headers });
}

/** The cookie of this gateway. Two cookies of one name: neither is used, because their order tells nothing about their origin. */
export function cookieOf(headers: SiteExchange['headers']): string | undefined {
  const text = String(headers.cookie ?? '');
  if (text.length > LONGEST_COOKIES) return undefined;
  const prefix = `${cookieName(headers)}=`;
  const found = text
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

type Headers = SiteExchange['headers'];

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

/** Throws Problem 403. Requests of programs have neither header. */
export function checkOrigin({ headers, method, path }: SiteExchange): void {
  const origin = one(headers.origin);
  if (origin !== undefined && !isOwn(origin, one(headers.host) ?? '')) throw foreign();
  const site = one(headers['sec-fetch-site']);
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  // Some terminals are web pages, and the link is opened from there. The page holds no data, and no page can frame it.
  const opensPage =
    method === 'GET' &&
    one(headers['sec-fetch-dest']) === 'document' &&
    (isPage(path) || path === DEVICE_PAGE);
  if (!opensPage || one(headers['sec-fetch-mode']) !== 'navigate') throw foreign();
}

/** Links to it stand in terminals; it acts only after the owner's click (sign-in/site.ts). */
const DEVICE_PAGE = '/device';

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
    // URL removes the default port of the scheme.
    const own = new URL(`${match[1]}://${host}`).host;
    return own !== '' && new URL(origin).host === own;
  } catch {
    return false;
  }
}

/** Whether the browser uses TLS, as its own header shows, or the header of a proxy whose host the configuration lists. */
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
