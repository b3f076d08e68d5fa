// What the view of keys and accounts shows beside its lists: the dialog that is open, what was done last, and what a change rests on.
import * as format from '../../format.ts';
import type { Account, CreatedKey, Key, RotatedKey } from '../../api.ts';

const ACCOUNT_CHANGES = ['changeAccount', 'removeAccount'];
const KEY_CHANGES = ['createKey', 'approveSignIn', 'removeAccount'];

/** An account as the page shows it, for a change of it. */
export function shownAccount(
  shown: Account,
  members: readonly (keyof Account)[],
  different: (now: Account) => string,
) {
  const { account } = shown;
  const operations = members.includes('keys') ? KEY_CHANGES : ACCOUNT_CHANGES;
  return {
    ...{ path: `/accounts/${encodeURIComponent(account)}`, title: account },
    audited: { param: 'account', value: account, operations },
    ...{ shown, members: [...members, 'created_at'] as const, different },
  };
}

export function shownKey(shown: Key) {
  const { id, name, prefix } = shown;
  const different = (now: Key): string =>
    now.revoked_at !== null ? 'it is revoked now' : `it has another end, ${format.time(now.expires_at)}`;
  return {
    ...{ path: `/keys/${encodeURIComponent(id)}`, title: `the key ${name ?? prefix}` },
    audited: { param: 'id', value: id, operations: ['revokeKey', 'rotateKey'] },
    ...{ shown, members: ['revoked_at', 'expires_at'] as const, different },
  };
}

export type Open =
  | { dialog: 'create'; account: string }
  | { dialog: 'created'; key: CreatedKey | RotatedKey }
  | { dialog: 'rotate' | 'revoke'; key: Key }
  | { dialog: 'rename' | 'remove'; account: Account };

/** What was done, as a sentence, and what takes it back. */
export interface Note {
  text: string;
  undo?: () => void;
}
