// Who asks: a token in `Authorization`, or the cookie of a browser session, the owner's or a member's; and from where: a browser may ask only from a page of
// this gateway itself, because a cookie does not tell ports of one host apart. Who sends wrong credentials is slowed down,
// but never a right one: nobody can lock the owner out by guessing. Wrong credentials have token
// buckets: one for each address, and one for all addresses together. Memory is bounded.
import { isValid } from '../accounts/terms.ts';
import { hashKey, looksLikeKey } from '../accounts/access.ts';
import { looksLikeToken } from '../accounts/admin.ts';
import { createThrottle } from '../accounts/throttle.ts';
import type { Clock } from '../clock.ts';
import type { SiteExchange } from '../gateway/exchange.ts';
import type { AdminScope, AdminStore } from '../store/admin/admin-records.ts';
import type { Key, KeyStore } from '../store/store.ts';
import { Problem } from './reply.ts';
import { isSameSecret, type OpenedSession, type Session, type Sessions } from './sessions.ts';

export interface Caller {
  /** The ID of the token or of the session, for the audit. */
  readonly id: string;
  readonly scope: AdminScope;
  /** undefined: the caller has a token. */
  readonly session: Session | undefined;
  /** Whose own data the caller may read, and nothing else; undefined: the caller is the owner, or has a token. */
  readonly member: Key | undefined;
  /** Whether the credential is still valid: checked again during long answers. */
  isValid(): Promise<boolean>;
}

/** For whom an operation is: for the owner and programs with a token, for members, or for both. */
export type Audience = 'owner' | 'member' | 'both';

export interface Authenticator {
  /** Rejects with Problem 401, 403 or 429. */
  authenticate(exchange: SiteExchange, operation: { scope: AdminScope; audience: Audience }): Promise<Caller>;
  /** Makes a session of a link. Rejects with Problem 401 or 429. */
  openSession(exchange: SiteExchange, code: string): Promise<OpenedSession>;
  /** Makes a session of a key, whose plaintext is forgotten at once. Rejects with Problem 401 or 429. */
  openMember(exchange: SiteExchange, plaintext: string): Promise<OpenedSession & { key: Key }>;
}

const CSRF_HEADER = 'x-gateway-csrf';
const TOUCH_MS = 60_000;
const LONGEST_COOKIES = 8192;

interface Deps {
  store: AdminStore & Pick<KeyStore, 'findKey'>;
  clock: Clock;
  sessions: Sessions;
}

/** The token or key of a hash, if it is valid now. */
function createLookUp({ store, clock }: Deps) {
  const ifValid = <Found extends Parameters<typeof isValid>[0]>(found: Found | undefined) =>
    found !== undefined && isValid(found, clock.now()) ? found : undefined;
  return {
    validToken: async (hash: string) => ifValid(await store.findAdminToken(hash)),
    validKey: async (hash: string): Promise<Key | undefined> => ifValid(await store.findKey(hash)),
  };
}

/** Rejects with Problem 401 if the session is a member's whose key is not valid any more. */
async function callerOf(session: Session, cookie: string, deps: Deps): Promise<Caller> {
  const { sessions } = deps;
  const { id, keyHash } = session;
  if (keyHash === undefined)
    return { id, scope: 'write', session, member: undefined, isValid: () => sessions.isOpen(cookie) };
  const { validKey } = createLookUp(deps);
  const member = await validKey(keyHash);
  // The session stays until it is idle: each of the page's requests learns the reason.
  if (member === undefined) throw unauthenticated(KEY_OVER);
  const isValid = async (): Promise<boolean> =>
    (await sessions.isOpen(cookie)) && (await validKey(keyHash)) !== undefined;
  return { id, scope: 'write', session, member, isValid };
}

export function createAuthenticator(deps: Deps): Authenticator {
  const { store, clock, sessions } = deps;
  const { validToken, validKey } = createLookUp(deps);
  const tokenThrottle = createThrottle(clock);
  const browserThrottle = createThrottle(clock);

  /** Counts a wrong credential. The answer is 401, or 429 after too many. */
  function wrong(exchange: SiteExchange, throttle: typeof tokenThrottle, message: string): Problem {
    const wait = throttle.waitMs(exchange.remoteAddress);
    if (wait > 0) return tooMany(wait);
    throttle.failed(exchange.remoteAddress);
    return unauthenticated(message);
  }

  async function byToken(exchange: SiteExchange, plaintext: string): Promise<Caller> {
    const hash = hashKey(plaintext);
    // Before the throttle: guesses of others must not slow down or refuse a right token.
    const token = looksLikeToken(plaintext) ? await validToken(hash) : undefined;
    if (token === undefined) throw wrong(exchange, tokenThrottle, NOT_VALID);
    const now = clock.now();
    if (now - (token.lastUsedAt ?? 0) > TOUCH_MS) await store.touchAdminToken(token.id, now);
    const isValid = async (): Promise<boolean> => (await validToken(hash)) !== undefined;
    return { id: token.id, scope: token.scope, session: undefined, member: undefined, isValid };
  }

  async function byCookie(exchange: SiteExchange, cookie: string, scope: AdminScope): Promise<Caller> {
    const session = await sessions.find(cookie);
    if (session === undefined) throw wrong(exchange, browserThrottle, SESSION_OVER);
    if (scope === 'write' && !isSameSecret(String(exchange.headers[CSRF_HEADER] ?? ''), session.csrf)) {
      const message = `a write of a browser session needs the header ${CSRF_HEADER}, with the value that GET /admin/session gives`;
      throw new Problem(403, 'csrf', message);
    }
    return callerOf(session, cookie, deps);
  }

  return {
    async authenticate(exchange, { scope, audience }) {
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
      if (audience !== 'both' && (caller.member === undefined) !== (audience === 'owner'))
        throw new Problem(403, 'other_audience', caller.member === undefined ? FOR_MEMBERS : FOR_OWNERS);
      return caller;
    },
    async openSession(exchange, code) {
      const opened = await sessions.open(code);
      if (opened === undefined) throw wrong(exchange, browserThrottle, WRONG_LINK);
      return opened;
    },
    async openMember(exchange, plaintext) {
      const keyHash = hashKey(plaintext);
      const key = looksLikeKey(plaintext) ? await validKey(keyHash) : undefined;
      if (key === undefined) throw wrong(exchange, browserThrottle, WRONG_KEY);
      return { ...(await sessions.openMember(keyHash)), key };
    },
  };
}

const NOTHING_SENT =
  'send a token of the admin API (gateway admin tokens create) as Authorization: Bearer, or open the link of gateway dashboard';
const NOT_VALID =
  'the token is not valid: unknown, expired or revoked (gateway admin tokens create creates a new one)';
const SESSION_OVER = 'the session is over; open a new link: gateway dashboard';
const KEY_OVER = 'the key of this session is revoked or has expired; sign in with another one';
const WRONG_KEY = 'the key is not valid: unknown, expired or revoked';
const FOR_OWNERS = "a member's session reads its own account alone: the paths below /admin/api/v1/me";
const FOR_MEMBERS =
  "this path is for a member's session; a token and the owner's session have those without /me";
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
    (isPage(path) || path === DEVICE_PAGE || path.startsWith(ROOT_OF_TICKETS));
  if (!opensPage || one(headers['sec-fetch-mode']) !== 'navigate') throw foreign();
}

/** A browser goes on from here to the page, with the code of a link. */
export const ROOT_OF_TICKETS = '/admin/open/';

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
