// Keys for tools. The one of a started tool expires soon and is extended while this process lives, so that a killed process
// leaves no valid key behind for long. The one of a tool's settings is given by the user (GATEWAY_KEY, or standard input), or is
// a new one of account `local`.
import { isValid } from '../../accounts/terms.ts';
import { hashKey, looksLikeKey } from '../../accounts/access.ts';
import { PERMISSIONS } from '../../canonical/request.ts';
import type { AdminStore } from '../../store/admin/admin-records.ts';
import type { KeyStore } from '../../store/store.ts';
import { CliError } from '../../cli-error.ts';
import { LOCAL_ACCOUNT, LOCAL_TIER, type Context } from '../context.ts';
import { KEY_VARIABLE } from '../../tools/setups.ts';
import { createAuditedKey, revokeAuditedKey, type Changing } from '../audited.ts';

const LIFE_MS = 3_600_000;
/** Short, because after the sleep of a machine the key may have expired, and only the next turn extends it. */
const TURN_MS = 20_000;

const localKey = (label: string, expiresAt: number | null) => ({
  account: LOCAL_ACCOUNT,
  tier: LOCAL_TIER,
  label,
  permissions: [...PERMISSIONS],
  models: null,
  expiresAt,
});

interface KeyLease {
  plaintext: string;
  /** Revokes the key. */
  end(): Promise<void>;
}

export async function leaseKey(
  store: KeyStore & AdminStore,
  context: Changing,
  label: string,
  { usageLabel = null, native = false }: { usageLabel?: string | null; native?: boolean } = {},
): Promise<KeyLease> {
  const { clock } = context;
  let expiresAt = clock.now() + LIFE_MS;
  const { key, plaintext } = await createAuditedKey(store, context, {
    ...localKey(label, expiresAt),
    usageLabel,
    native,
    isLease: true,
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
      await revokeAuditedKey(store, context, key.id);
    },
  };
}

export interface ToolKey {
  plaintext: string;
  /** null: the database does not know it. */
  id: string | null;
  made: boolean;
  /** Of a new key, as `keys list` shows it. */
  label?: string;
}

/** What stands for a key in a plan. It has the form of none. */
export const NO_KEY = 'sk-gw-…';

/** Throws CliError if the text is not a key, or the key is not valid any more. */
export async function givenKey(text: string, store: KeyStore, context: Context): Promise<ToolKey> {
  if (!looksLikeKey(text)) {
    throw new CliError(
      `the key that was given is not one of a gateway (sk-gw-…); unset ${KEY_VARIABLE}, or give another`,
    );
  }
  const key = await store.findKey(hashKey(text));
  if (key !== undefined && !isValid(key, context.clock.now())) {
    throw new CliError(`key ${key.id} is revoked or expired; unset ${KEY_VARIABLE}, or give another`);
  }
  return { plaintext: text, id: key?.id ?? null, made: false };
}

export async function newKey(
  store: KeyStore & AdminStore,
  context: Context,
  title: string,
): Promise<ToolKey> {
  const { key, plaintext } = await createAuditedKey(store, context, localKey(title, null));
  return { plaintext, id: key.id, made: true, label: title };
}
