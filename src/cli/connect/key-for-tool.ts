// The key that a tool's settings get: one that the user gives (GATEWAY_KEY, or standard input), else a new one of account `local`.
import { createKey, hashKey, looksLikeKey } from '../../accounts/access.ts';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Store } from '../../store/store.ts';
import { CliError, LOCAL_ACCOUNT, type Context } from '../context.ts';
import { LOCAL_TIER } from '../tools/key-lease.ts';
import { KEY_VARIABLE } from '../tools/setups.ts';
import { isValid } from '../with-store.ts';

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
export async function givenKey(
  text: string,
  store: Pick<Store, 'findKey'>,
  context: Context,
): Promise<ToolKey> {
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

export async function newKey(store: Store, { clock, ids }: Context, title: string): Promise<ToolKey> {
  const { key, plaintext } = await createKey(
    { store, clock, ids },
    {
      account: LOCAL_ACCOUNT,
      tier: LOCAL_TIER,
      label: title,
      permissions: [...PROTOCOL_NAMES],
      models: null,
      expiresAt: null,
    },
  );
  return { plaintext, id: key.id, made: true, label: title };
}
