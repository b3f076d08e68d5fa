// Finds the key of a request and checks its permission, before the body is read. Unknown, malformed, expired and revoked keys
// get the same error, so that it reveals nothing; a key of another service gets an error that says so.
import { GatewayError } from '../errors.ts';
import type { KeyHeader } from '../protocols/protocol.ts';
import { StoreError, type Key, type Permission, type Store } from '../store/store.ts';
import { hashKey, KEY_PREFIX, looksLikeKey } from './key.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `list`: the list of models, which every valid key may read. */
export type Endpoint = Permission | 'list';

/** Stands for credentials of another scheme. */
const NOT_A_KEY = '?';
/** The usual spelling, tested first. */
const BEARER = 'Bearer ';

const NOT_VALID =
  'the API key is not valid: unknown, expired or revoked (gateway keys create creates a new one)';
/** Many clients prefer a variable of the environment to the configured key. */
const FOREIGN =
  `the API key does not begin with ${KEY_PREFIX}, so it is not a key of this gateway; ` +
  "is a provider's key set in the client's environment (ANTHROPIC_API_KEY, OPENAI_API_KEY or the like)?";

/** Rejects with GatewayError: 401, 403, or 503 if the database is not available. */
export async function authenticate(
  request: {
    headers: Headers;
    endpoint: Endpoint;
    /** In order: the first header that is present counts. */
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

/** The key in a header; '' if the header is absent or empty, NOT_A_KEY if it has another scheme. */
function read(headers: Headers, { name, bearer: isBearer }: KeyHeader): string {
  const value = headers[name];
  const text = (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
  if (!isBearer || text === '') return text;
  if (text.startsWith(BEARER)) return text.slice(BEARER.length).trimStart();
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(text);
  return bearer === null ? NOT_A_KEY : (bearer[1] ?? '');
}
