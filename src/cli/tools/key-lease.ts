// The key of one started tool: it expires soon and is extended while this process lives, so that a killed process leaves no valid
// key behind for long.
import { createKey } from '../../accounts/access.ts';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { Store } from '../../store/store.ts';
import { LOCAL_ACCOUNT } from '../context.ts';

/** Of the account, if it is new: an agent makes hundreds of requests an hour. */
export const LOCAL_TIER = 'unlimited';
const LIFE_MS = 3_600_000;
/** Short, because after the sleep of a machine the key may have expired, and only the next turn extends it. */
const TURN_MS = 20_000;

export interface KeyLease {
  plaintext: string;
  /** Revokes the key. */
  end(): Promise<void>;
}

export async function leaseKey(
  deps: { store: Store; clock: Clock; ids: Ids },
  label: string,
): Promise<KeyLease> {
  const { store, clock } = deps;
  let expiresAt = clock.now() + LIFE_MS;
  const { key, plaintext } = await createKey(deps, {
    account: LOCAL_ACCOUNT,
    tier: LOCAL_TIER,
    label,
    permissions: [...PROTOCOL_NAMES],
    models: null,
    expiresAt,
  });
  let cancel = clock.after(TURN_MS, turn);

  function turn(): void {
    const now = clock.now();
    if (expiresAt - now < LIFE_MS / 2) {
      expiresAt = now + LIFE_MS;
      // A database that is locked now is tried again at the next turn.
      void store.extendKey(key.id, expiresAt).catch(() => (expiresAt = now));
    }
    cancel = clock.after(TURN_MS, turn);
  }

  return {
    plaintext,
    async end() {
      cancel();
      await store.revokeKey(key.id, clock.now());
    },
  };
}
