// Accounts, keys and tiers as JSON: the shapes that `--json` prints and the admin API sends; and the rule for names that people
// choose, which the command line and the admin API share.
import { isoTime } from '../clock.ts';
import { amountNumber, type Tier } from '../tier.ts';
import type { Account, Key, ReplacedKey } from '../store/store.ts';

export function accountJson({ name, tier, keys, createdAt }: Account & { keys: number }) {
  return { account: name, tier, keys, created_at: isoTime(createdAt) };
}

export function tierJson([tier, { perHour, limits }]: readonly [name: string, tier: Tier]) {
  return {
    tier,
    requests_per_hour: perHour === Infinity ? null : perHour,
    limits: limits.map(({ kind, per, most, fresh }) => ({
      kind,
      per,
      limit: amountNumber(kind, most),
      ...(fresh && { count: 'fresh' as const }),
    })),
  };
}

function keyJson(key: Key) {
  return {
    id: key.id,
    account: key.account,
    tier: key.tier,
    name: key.label,
    permissions: key.permissions,
    models: key.models,
    created_at: isoTime(key.createdAt),
    expires_at: isoTime(key.expiresAt),
  };
}

export function listedKeyJson(key: Key) {
  return {
    ...keyJson(key),
    prefix: key.prefix,
    last_used_at: isoTime(key.lastUsedAt),
    origin: key.origin,
    revoked_at: isoTime(key.revokedAt),
  };
}

/** The only shape that holds the plaintext of a key. */
export function createdKeyJson({ key, plaintext }: { key: Key; plaintext: string }) {
  const { id, ...rest } = keyJson(key);
  return { id, key: plaintext, ...rest };
}

export function replacedKeyJson(result: ReplacedKey & { plaintext: string }) {
  const { id, expiresAt } = result.replaced;
  return { ...createdKeyJson(result), replaces: { id, expires_at: isoTime(expiresAt) } };
}

export function revokedKeyJson({ id, revokedAt }: Key) {
  return { id, revoked_at: isoTime(revokedAt) };
}

/** A code of a client that asks to sign in. */
export function waitingSignInJson({ code, userAgent, address, createdAt, expiresAt }: Waiting) {
  return {
    code,
    user_agent: userAgent,
    address,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
  };
}

interface Waiting {
  code: string;
  userAgent: string;
  address: string;
  createdAt: number;
  expiresAt: number;
}

const MAX_NAME_LENGTH = 128;

/** Control characters, lone surrogates, and characters that are invisible or change the direction of text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/** What is wrong with the name of an account: as of other names, and it is a segment of a path. undefined: nothing. */
export function accountNameFault(text: string): string | undefined {
  if (text === '.' || text === '..')
    return 'An account has another name than . and .., which paths take away.';
  return nameFault(text);
}

/** What is wrong with a name: 1 to 128 visible characters, no space at either end. undefined: nothing. */
export function nameFault(text: string): string | undefined {
  const length = [...text].length;
  if (length < 1 || length > MAX_NAME_LENGTH)
    return `A name has 1 to ${MAX_NAME_LENGTH} characters; this has ${length}.`;
  if (INVISIBLE.test(text)) return 'A name has no control or zero-width characters.';
  return text.trim() === text ? undefined : 'A name has no space at its beginning or end.';
}
