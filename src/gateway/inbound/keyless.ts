// The key of an account for clients that know of no keys (`ollama` in the configuration). It is a row like every other key, so that its
// requests are counted, listed and revoked as those of every key are; but it has no text: what its hash is made of has not the form of a
// key, so nobody can send it.
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import { PERMISSIONS } from '../../canonical/request.ts';
import { GatewayError } from '../../errors.ts';
import type { Key, KeyStore } from '../../store/store.ts';
import { databaseAway, hashKey, KEY_ID, KEY_PREFIX } from '../../accounts/access.ts';
import { isValid } from '../../accounts/terms.ts';

const LABEL = 'ollama';
const ID_LENGTH = 12;

interface Dependencies {
  store: Pick<KeyStore, 'findKey' | 'createKey'>;
  clock: Clock;
  ids: Ids;
}

/**
 * Created with the first request, and its account with it if that is new (with `tier`). Throws or rejects with GatewayError: 401 if it
 * was revoked, 503 if the database is not available.
 */
export function keylessKey(account: string, tier: string, deps: Dependencies): Key | Promise<Key> {
  const found = deps.store.findKey(hashOf(account));
  if (!(found instanceof Promise) && found !== undefined) return ownKey(found, account, deps);
  return foundOrCreated(found, account, tier, deps);
}

async function foundOrCreated(
  finding: Key | undefined | Promise<Key | undefined>,
  account: string,
  tier: string,
  deps: Dependencies,
): Promise<Key> {
  try {
    const found = await finding;
    return ownKey(found ?? (await create(account, tier, deps)), account, deps);
  } catch (error) {
    throw databaseAway(error);
  }
}

async function create(account: string, tier: string, { store, clock, ids }: Dependencies): Promise<Key> {
  const hash = hashOf(account);
  try {
    return await store.createKey({
      id: KEY_ID + ids.random(ID_LENGTH),
      hash,
      prefix: KEY_PREFIX + LABEL,
      account,
      tier,
      label: LABEL,
      permissions: [...PERMISSIONS],
      models: null,
      createdAt: clock.now(),
      expiresAt: null,
    });
  } catch (error) {
    // Another request, or another gateway on the database, was first.
    const other = await store.findKey(hash);
    if (other === undefined) throw error;
    return other;
  }
}

function ownKey(key: Key, account: string, { clock }: Dependencies): Key {
  if (key.account !== account) {
    const message = `the account ${JSON.stringify(account)} of ollama in the configuration is called ${JSON.stringify(key.account)} now; write that`;
    throw new GatewayError('unauthenticated', message);
  }
  if (isValid(key, clock.now())) return key;
  const message = `the key ${key.id}, with which ollama in the configuration asks, was revoked; name another account there, or leave it out`;
  throw new GatewayError('unauthenticated', message);
}

/** Of a text that no key can be. */
function hashOf(account: string): string {
  return hashKey(`${LABEL}:${account}`);
}
