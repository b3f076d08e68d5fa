// Browser sessions: a one-time link, made for the owner through the control socket, becomes a cookie. All of it is in memory, as
// SHA-256, so that neither a copy of the database nor of the memory of a page opens the gateway.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hashKey } from '../accounts/access.ts';
import { isoTime, type Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';

const LINK_MS = 60_000;
const IDLE_MS = 12 * 3_600_000;
const MOST_LINKS = 16;
const MOST_SESSIONS = 64;
/** Base62 characters: 256 bits. The prefixes make the log redact them. */
const SECRET_LENGTH = 43;
const LINK_PREFIX = 'sk-gwl-';
const SESSION_PREFIX = 'sk-gws-';

export interface Session {
  /** Its name in the audit; not a secret. */
  readonly id: string;
  /** The value that writes send in a header; a page of another origin can neither read nor send it. */
  readonly csrf: string;
  /** ISO 8601. Each use moves it. */
  readonly expiresAt: string;
}

/** All methods are asynchronous, because workers ask the process that started them. */
export interface Sessions {
  /** The code of a new link. */
  createLink(): Promise<{ code: string; expiresInMs: number }>;
  /** A link opens one session. undefined: the link is wrong, used or expired. */
  open(code: string): Promise<{ session: Session; cookie: string } | undefined>;
  /** undefined: there is no such session, or it has expired. */
  find(cookie: string): Promise<Session | undefined>;
  /** Like `find`, but it is not a use. */
  isOpen(cookie: string): Promise<boolean>;
  close(cookie: string): Promise<void>;
}

export function createSessions({ clock, ids }: { clock: Clock; ids: Ids }): Sessions {
  /** Hash -> end, as a time of the monotonic clock. */
  const links = new Map<string, number>();
  const sessions = new Map<string, { id: string; until: number }>();
  const csrfKey = randomBytes(32);

  function describe(hash: string, id: string): Session {
    return {
      id,
      csrf: createHmac('sha256', csrfKey).update(hash).digest('base64url'),
      expiresAt: isoTime(clock.now() + IDLE_MS),
    };
  }

  return {
    async createLink() {
      const code = LINK_PREFIX + ids.random(SECRET_LENGTH);
      addBounded(links, MOST_LINKS, [hashKey(code), clock.monotonic() + LINK_MS]);
      return { code, expiresInMs: LINK_MS };
    },
    async open(code) {
      const link = hashKey(code);
      const until = links.get(link);
      links.delete(link);
      if (until === undefined || until <= clock.monotonic()) return undefined;
      const cookie = SESSION_PREFIX + ids.random(SECRET_LENGTH);
      const hash = hashKey(cookie);
      const id = `ses_${ids.random(12)}`;
      addBounded(sessions, MOST_SESSIONS, [hash, { id, until: clock.monotonic() + IDLE_MS }]);
      return { session: describe(hash, id), cookie };
    },
    async find(cookie) {
      const hash = hashKey(cookie);
      const session = sessions.get(hash);
      if (session === undefined) return undefined;
      sessions.delete(hash);
      const now = clock.monotonic();
      if (session.until <= now) return undefined;
      // The session that was used last is the last one of the map.
      sessions.set(hash, { ...session, until: now + IDLE_MS });
      return describe(hash, session.id);
    },
    isOpen: async (cookie) => (sessions.get(hashKey(cookie))?.until ?? 0) > clock.monotonic(),
    async close(cookie) {
      sessions.delete(hashKey(cookie));
    },
  };
}

/** Beyond `most`, the oldest entry goes. */
function addBounded<Value>(map: Map<string, Value>, most: number, [key, value]: [string, Value]): void {
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}

export function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [hashKey(given), hashKey(expected)].map((hash) => Buffer.from(hash, 'hex'));
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
