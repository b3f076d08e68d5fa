// Creates keys. The plaintext exists only in the result of the creation: the database stores its SHA-256, and its first
// characters, by which a person recognises the key.
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Key, NewKey, Store } from '../store/store.ts';

/** The prefix of every gateway key. */
export const KEY_PREFIX = 'sk-gw-';
/** Base62 characters: 256 bits. */
const SECRET_LENGTH = 43;
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

export type KeySpec = Pick<NewKey, 'account' | 'tier' | 'label' | 'permissions' | 'models' | 'expiresAt'>;

/** Creates a key, and its account (with `tier`) if it is new. Rejects with StoreError. */
export async function createKey(
  deps: { store: Store; clock: Clock; ids: Ids },
  spec: KeySpec,
): Promise<{ key: Key; plaintext: string }> {
  const plaintext = KEY_PREFIX + deps.ids.random(SECRET_LENGTH);
  const key = await deps.store.createKey({
    ...spec,
    id: `key_${deps.ids.random(ID_LENGTH)}`,
    hash: hashKey(plaintext),
    prefix: plaintext.slice(0, KEY_PREFIX.length + VISIBLE_LENGTH),
    createdAt: deps.clock.now(),
  });
  return { key, plaintext };
}
