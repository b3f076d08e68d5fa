// Who asks, and whether they may: before the body is read. The refusal of an unknown, malformed, expired or revoked key of
// the gateway is the same; a key of something else is named as such.
import { GatewayError } from '../errors.ts';
import type { KeyHeader } from '../protocols/protocol.ts';
import { StoreError, type Key, type Permission, type Store } from '../store/store.ts';
import { hashKey, KEY_PREFIX, looksLikeKey } from './key.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `list`: reads about models, which every valid key may do. */
export type Endpoint = Permission | 'list';

/** Another scheme's credentials. */
const NOT_A_KEY = '?';
/** The scheme as nearly every client writes it. */
const USUAL = 'Bearer ';

const NOT_VALID =
  'the API key is not valid: unknown, expired or revoked (gateway keys create makes a new one)';
/** Clients prefer a variable of their environment to the key that they were given. */
const FOREIGN =
  `the API key does not begin with ${KEY_PREFIX}, so it is not a key of this gateway; ` +
  "is a provider's key set in the client's environment (ANTHROPIC_API_KEY, OPENAI_API_KEY or the like)?";

/** Rejects with GatewayError: 401, 403, or 503 where the database is away. */
export async function authenticate(
  request: {
    headers: Headers;
    endpoint: Endpoint;
    /** Where several bear a key, the first of them alone counts. */
    keyHeaders: readonly KeyHeader[];
  },
  store: Store,
  now: number,
): Promise<Key> {
  const { headers, endpoint, keyHeaders } = request;
  const plaintext = keyOf(headers, keyHeaders);
  if (plaintext === '') {
    const ways = keyHeaders.map(({ shown }) => shown).sort();
    throw new GatewayError('unauthenticated', `no API key was sent; send ${ways.join(' or ')}`);
  }
  let key: Key | undefined;
  try {
    key = looksLikeKey(plaintext) ? await store.findKey(hashKey(plaintext)) : undefined;
  } catch (error) {
    throw databaseAway(error);
  }
  if (key === undefined || key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) {
    throw new GatewayError('unauthenticated', plaintext.startsWith(KEY_PREFIX) ? NOT_VALID : FOREIGN);
  }
  if (endpoint !== 'list' && !key.permissions.includes(endpoint)) {
    const message = `this key may not use the ${endpoint} endpoint; it has ${key.permissions.join(', ')}`;
    throw new GatewayError('forbidden_permission', message);
  }
  return key;
}

/** A request that cannot be known or counted is not served. */
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

/** '' where nothing is sent. A header that bears something else than a key still counts as sent. */
function read(headers: Headers, { name, bearer: isBearer }: KeyHeader): string {
  const value = headers[name];
  const text = (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
  if (!isBearer || text === '') return text;
  if (text.startsWith(USUAL)) return text.slice(USUAL.length).trimStart();
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(text);
  return bearer === null ? NOT_A_KEY : (bearer[1] ?? '');
}
