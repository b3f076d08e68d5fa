// Browser sessions: a one-time link, made for the owner through the control socket, becomes a cookie; so does a member's key. All of it
// is in memory, as SHA-256, so that neither a copy of the database nor of the memory of a page opens the gateway.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hashKey } from '../accounts/access.ts';
import { isoTime, type Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';

const LINK_MS = 60_000;
const IDLE_MS = 12 * 3_600_000;
const MOST_LINKS = 16;
const MOST_SESSIONS = 64;
/** Sessions of members, who end none of the owner's. */
const MOST_MEMBERS = 1024;
/** Of one key. */
const MOST_OF_KEY = 8;
/** Base62 characters: 256 bits. The prefixes make the log redact them. */
const SECRET_LENGTH = 43;
/** 131 bits: it is in an address that people may see. */
const TICKET_LENGTH = 22;
const LINK_PREFIX = 'sk-gwl-';
const SESSION_PREFIX = 'sk-gws-';

export interface Session {
  /** Its name in the audit; not a secret. */
  readonly id: string;
  /** The value that writes send in a header; a page of another origin can neither read nor send it. */
  readonly csrf: string;
  /** ISO 8601. Each use moves it. */
  readonly expiresAt: string;
  /** SHA-256 of the key of a member, in hex. undefined: the session is the owner's. */
  readonly keyHash?: string | undefined;
}

export interface OpenedSession {
  session: Session;
  cookie: string;
}

interface Stored {
  id: string;
  /** As a time of the monotonic clock. */
  until: number;
  keyHash?: string | undefined;
}

/** All methods are asynchronous, because workers ask the process that started them. */
export interface Sessions {
  /** The code of a new link, and a ticket for another one. */
  createLink(): Promise<{ code: string; ticket: string; expiresInMs: number }>;
  /** The code of a new link for a ticket, which is used up. undefined: the ticket is wrong, used or expired. */
  takeTicket(ticket: string): Promise<string | undefined>;
  /** A link opens one session. undefined: the link is wrong, used or expired. */
  open(code: string): Promise<OpenedSession | undefined>;
  /** A session of the member whose key has this hash. */
  openMember(keyHash: string): Promise<OpenedSession>;
  /** undefined: there is no such session, or it has expired. */
  find(cookie: string): Promise<Session | undefined>;
  /** Like `find`, but it is not a use. */
  isOpen(cookie: string): Promise<boolean>;
  close(cookie: string): Promise<void>;
}

export function createSessions({ clock, ids }: { clock: Clock; ids: Ids }): Sessions {
  /** Hash -> end, as a time of the monotonic clock. */
  const links = new Map<string, number>();
  const tickets = new Map<string, number>();
  const owners = new Map<string, Stored>();
  const members = new Map<string, Stored>();
  const csrfKey = randomBytes(32);

  function describe(hash: string, { id, keyHash }: Stored): Session {
    return {
      id,
      csrf: createHmac('sha256', csrfKey).update(hash).digest('base64url'),
      expiresAt: isoTime(clock.now() + IDLE_MS),
      keyHash,
    };
  }

  function add(sessions: Map<string, Stored>, most: number, keyHash?: string): OpenedSession {
    const cookie = SESSION_PREFIX + ids.random(SECRET_LENGTH);
    const hash = hashKey(cookie);
    const stored = { id: `ses_${ids.random(12)}`, until: clock.monotonic() + IDLE_MS, keyHash };
    addBounded(sessions, most, [hash, stored]);
    return { session: describe(hash, stored), cookie };
  }

  const mapOf = (hash: string): Map<string, Stored> => (members.has(hash) ? members : owners);

  function made(secrets: Map<string, number>, secret: string): string {
    addBounded(secrets, MOST_LINKS, [hashKey(secret), clock.monotonic() + LINK_MS]);
    return secret;
  }

  /** Whether the secret was valid until now. */
  function takes(secrets: Map<string, number>, secret: string): boolean {
    const hash = hashKey(secret);
    const until = secrets.get(hash) ?? 0;
    secrets.delete(hash);
    return until > clock.monotonic();
  }

  const newLink = (): string => made(links, LINK_PREFIX + ids.random(SECRET_LENGTH));

  return {
    createLink: async () => ({
      code: newLink(),
      ticket: made(tickets, ids.random(TICKET_LENGTH)),
      expiresInMs: LINK_MS,
    }),
    takeTicket: async (ticket) => (takes(tickets, ticket) ? newLink() : undefined),
    open: async (code) => (takes(links, code) ? add(owners, MOST_SESSIONS) : undefined),
    async openMember(keyHash) {
      const own = [...members].filter(([, stored]) => stored.keyHash === keyHash);
      for (const [hash] of own.slice(0, Math.max(0, own.length + 1 - MOST_OF_KEY))) members.delete(hash);
      return add(members, MOST_MEMBERS, keyHash);
    },
    async find(cookie) {
      const hash = hashKey(cookie);
      const sessions = mapOf(hash);
      const session = sessions.get(hash);
      if (session === undefined) return undefined;
      sessions.delete(hash);
      const now = clock.monotonic();
      if (session.until <= now) return undefined;
      // The session that was used last is the last one of the map.
      sessions.set(hash, { ...session, until: now + IDLE_MS });
      return describe(hash, session);
    },
    async isOpen(cookie) {
      const hash = hashKey(cookie);
      return (mapOf(hash).get(hash)?.until ?? 0) > clock.monotonic();
    },
    async close(cookie) {
      const hash = hashKey(cookie);
      mapOf(hash).delete(hash);
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
