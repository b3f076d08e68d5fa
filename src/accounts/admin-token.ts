// Tokens of the admin API. As with keys, the plaintext exists only in the result of the creation.
import { isoTime, type Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { AdminScope, AdminToken, NewAdminToken, Store } from '../store/store.ts';
import { hashKey } from './access.ts';

export const TOKEN_PREFIX = 'sk-gwa-';
/** Base62 characters: 256 bits. */
const SECRET_LENGTH = 43;
const ID_LENGTH = 12;
/** Visible characters of the secret. */
const VISIBLE_LENGTH = 6;
const PATTERN = /^sk-gwa-[0-9A-Za-z]{43}$/;

/** Other texts need no look-up. */
export function looksLikeToken(text: string): boolean {
  return PATTERN.test(text);
}

/** Rejects with StoreError. */
export async function createAdminToken(
  { store, clock, ids }: { store: Store; clock: Clock; ids: Ids },
  spec: { label: string | null; scope: AdminScope; expiresAt: number | null },
): Promise<{ token: NewAdminToken; plaintext: string }> {
  const plaintext = TOKEN_PREFIX + ids.random(SECRET_LENGTH);
  const token: NewAdminToken = {
    ...spec,
    id: `adm_${ids.random(ID_LENGTH)}`,
    hash: hashKey(plaintext),
    prefix: plaintext.slice(0, TOKEN_PREFIX.length + VISIBLE_LENGTH),
    createdAt: clock.now(),
  };
  await store.createAdminToken(token);
  return { token, plaintext };
}

export function createdTokenJson({ token, plaintext }: { token: NewAdminToken; plaintext: string }) {
  const { id, label, scope, createdAt, expiresAt } = token;
  return {
    id,
    token: plaintext,
    name: label,
    scope,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
  };
}

export function tokenJson(token: AdminToken) {
  return {
    id: token.id,
    prefix: token.prefix,
    name: token.label,
    scope: token.scope,
    created_at: isoTime(token.createdAt),
    last_used_at: isoTime(token.lastUsedAt),
    expires_at: isoTime(token.expiresAt),
    revoked_at: isoTime(token.revokedAt),
  };
}
