// Who may send a request: how a key is created, and how the key of a request is found and its permission checked. The plaintext of a key
// exists only in the result of its creation: the database stores its SHA-256, and its first characters, so that a person recognises it.
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import {
  type Key,
  type NewKey,
  type Permission,
  type ReplacedKey,
  type ReplacementKey,
  StoreError,
  type KeyStore,
} from '../store/store.ts';
import { LEASE_ID } from '../store/rows.ts';
import { type Asked, GatewayError } from '../errors.ts';
import type { KeyHeader } from '../protocols/interface/outline.ts';
import { isValid } from './terms.ts';

/** The prefix of every gateway key. */
export const KEY_PREFIX = 'sk-gw-';
/** Base62 characters: 256 bits. */
const SECRET_LENGTH = 43;
export const KEY_ID = 'key_';
const ID_LENGTH = 12;
/** Visible characters of the secret: enough to distinguish keys, too few to help an attacker. */
const VISIBLE_LENGTH = 6;
const PATTERN = /^sk-gw-[0-9A-Za-z]{40,128}$/;

/** Whether a text has the form of a key. Other texts need no look-up. */
export function looksLikeKey(text: string): boolean {
  return PATTERN.test(text);
}

/** In hex, which is faster to produce than a Buffer. */
export function hashKey(plaintext: string): string {
  return hash('sha256', plaintext, 'hex');
}

export interface KeySpec extends Pick<
  NewKey,
  'account' | 'tier' | 'label' | 'usageLabel' | 'permissions' | 'models' | 'native' | 'expiresAt'
> {
  /** The key of one `gateway run`: its ID says so, and it is deleted some days after its end. */
  isLease?: boolean;
}

interface Dependencies {
  store: KeyStore;
  clock: Clock;
  ids: Ids;
}

/** Creates a key, and its account (with `tier`) if it is new. Rejects with StoreError. */
export async function createKey(deps: Dependencies, spec: KeySpec): Promise<{ key: Key; plaintext: string }> {
  const { isLease, ...key } = spec;
  const { plaintext, ...secret } = newSecret(deps, isLease === true ? LEASE_ID : KEY_ID);
  return { key: await deps.store.createKey({ ...key, ...secret }), plaintext };
}

/** Creates a key in place of another, which stays valid for `graceMs` at most. Resolves to undefined if no valid key has this ID.
 *  Rejects with StoreError. */
export async function replaceKey(
  deps: Dependencies,
  id: string,
  graceMs: number,
): Promise<(ReplacedKey & { plaintext: string }) | undefined> {
  const { plaintext, ...secret } = newSecret(deps);
  const result = await deps.store.replaceKey(id, secret, secret.createdAt + graceMs);
  return result && { ...result, plaintext };
}

function newSecret(
  { clock, ids }: Dependencies,
  idPrefix: string = KEY_ID,
): ReplacementKey & { plaintext: string } {
  const plaintext = KEY_PREFIX + ids.random(SECRET_LENGTH);
  return {
    plaintext,
    id: idPrefix + ids.random(ID_LENGTH),
    hash: hashKey(plaintext),
    prefix: plaintext.slice(0, KEY_PREFIX.length + VISIBLE_LENGTH),
    createdAt: clock.now(),
  };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `list`: the list of models, which every valid key may read. */
export type Endpoint = Permission | 'list';

/** `1`: a client whose key bears no mark is a native one all the same (`Key.native`). `gateway connect claude --native` sets it. */
export const NATIVE_HEADER = 'x-gateway-native';

/** Stands for credentials of another scheme. */
const NOT_A_KEY = '?';
/** The usual spelling, tested first. */
const BEARER = 'Bearer ';

export const NOT_VALID =
  'the API key is not valid: unknown, expired or revoked (gateway keys create creates a new one)';
/** Many clients prefer a variable of the environment to the configured key. */
const FOREIGN =
  `the API key does not begin with ${KEY_PREFIX}, so it is not a key of this gateway; ` +
  "is a provider's key set in the client's environment (ANTHROPIC_API_KEY, OPENAI_API_KEY or the like)?";

/**
 * The key of a request, before its body is read. Unknown, malformed, expired and revoked keys get the same error, so that it reveals
 * nothing; a key of another service gets an error that says so. Throws or rejects with GatewayError: 401, 403, or 503 if the database
 * is not available. A promise only if the store gives one: a promise for each request costs half a microsecond.
 */
export function authenticate(
  request: {
    headers: Headers;
    endpoint: Endpoint;
    /** In order: the first header that is present counts. */
    keyHeaders: readonly KeyHeader[];
  },
  store: KeyStore,
  now: number,
): Key | Promise<Key> {
  const { headers, endpoint, keyHeaders } = request;
  const plaintext = keyOf(headers, keyHeaders);
  if (plaintext === '') {
    const ways = keyHeaders.map(({ shown }) => shown).sort();
    throw new GatewayError('unauthenticated', `no API key was sent; send ${ways.join(' or ')}`);
  }
  const found = looksLikeKey(plaintext) ? store.findKey(hashKey(plaintext)) : undefined;
  const marked = headers[NATIVE_HEADER] === '1';
  if (!(found instanceof Promise)) return validKey(found, plaintext, { endpoint, marked }, now);
  return found.then(
    (key) => validKey(key, plaintext, { endpoint, marked }, now),
    (error: unknown) => {
      throw databaseAway(error);
    },
  );
}

/** As `authenticate`, of a key that was found by its ID. Throws GatewayError 401 or 403. */
export function permitted(key: Key, endpoint: Endpoint, now: number): Key {
  return validKey(key, KEY_PREFIX, { endpoint, marked: false }, now);
}

/** Throws GatewayError 401 or 403. */
function validKey(
  key: Key | undefined,
  plaintext: string,
  { endpoint, marked }: { endpoint: Endpoint; marked: boolean },
  now: number,
): Key {
  if (key === undefined || !isValid(key, now)) {
    throw new GatewayError('unauthenticated', plaintext.startsWith(KEY_PREFIX) ? NOT_VALID : FOREIGN);
  }
  if (endpoint !== 'list' && !key.permissions.includes(endpoint)) {
    const message = `this key may not use the ${endpoint} endpoint; it has ${key.permissions.join(', ')}`;
    const error = new GatewayError('forbidden_permission', message);
    error.account = key.account;
    error.asked = askedBy(key, endpoint);
    throw error;
  }
  // Of this request alone: the store keeps the key for others.
  return marked && !key.native ? { ...key, native: true } : key;
}

/** Of a request of which nothing but its key was read. */
export function askedBy({ id: keyId, accountId, usageLabel: label }: Key, endpoint?: string): Asked {
  return { accountId, keyId, endpoint, label, model: null, conversation: null, client: null };
}

/** Turns a StoreError into a 503: a request that cannot be authenticated or counted is refused. */
export function databaseAway(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return new GatewayError('unavailable', 'the gateway cannot use its database at the moment', {
    retryAfter: 1,
    cause: error,
  });
}

function keyOf(headers: Headers, keyHeaders: readonly KeyHeader[]): string {
  for (const header of keyHeaders) {
    const key = read(headers, header);
    if (key !== '') return key;
  }
  return '';
}

/** Headers in which clients of other services say who asks. */
const OTHER_CREDENTIALS = ['api-key', 'x-goog-api-key', 'proxy-authorization', 'cookie'];

/** Whether a request says who asks, in whatever form. */
export function hasCredential(headers: Headers, keyHeaders: readonly KeyHeader[]): boolean {
  const names = [...keyHeaders.map(({ name }) => name), ...OTHER_CREDENTIALS];
  return names.some((name) => headers[name] !== undefined && headers[name] !== '');
}

/** The key in a header; '' if the header is absent or empty, NOT_A_KEY if it has another scheme. */
function read(headers: Headers, { name, bearer: isBearer }: KeyHeader): string {
  const value = headers[name];
  const text = (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
  if (!isBearer || text === '') return text;
  if (text.startsWith(BEARER)) return text.slice(BEARER.length).trimStart();
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(text);
  return bearer === null ? NOT_A_KEY : (bearer[1] ?? '');
}
