// What the view of keys and accounts shows beside its lists: the dialog that is open, and what was done last.
import type { Account, CreatedKey, Key, RotatedKey } from '../../api.ts';

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
