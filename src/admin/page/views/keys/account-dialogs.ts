// The dialogs of accounts: rename one, remove one.
import type { Account, RemovedAccount } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { AskDialog, textOf } from '../../parts/dialog.ts';
import { changeShown } from '../../parts/change.ts';
import { Text } from '../../parts/fields.ts';
import { shownAccount } from './state.ts';
import type { VNode } from 'preact';

interface AccountDialogProps {
  of: Account;
  /** With what was done, as a sentence. */
  done: (note: string) => void;
  onClose: () => void;
}

export function RenameDialog({ of, done, onClose }: AccountDialogProps): VNode {
  const { account } = of;
  async function rename(form: FormData): Promise<void> {
    const renamed = textOf(form, 'account');
    if (renamed !== account) {
      const shown = shownAccount(of, [], () => 'it is another account now');
      await changeShown(shown, { method: 'PATCH', body: { account: renamed } });
      done(`The account ${account} has the name ${renamed ?? ''} now.`);
    }
    onClose();
  }
  return html`<${AskDialog} title="Rename this account?" action="Rename" run=${rename} onClose=${onClose}>
    <p>Its keys, its tier and its usage stay. Clients notice nothing.</p>
    <${Text} label="New name" name="account" value=${account} required />
  <//>`;
}

export function RemoveDialog({ of, done, onClose }: AccountDialogProps): VNode {
  const { account, keys } = of;
  async function remove(form: FormData): Promise<void> {
    if (textOf(form, 'account') !== account) throw new Error('This is not the name of the account.');
    const shown = shownAccount(
      of,
      ['keys'],
      (now) => `it has ${format.counted(now.keys, 'key')} now, not ${keys}`,
    );
    const removed = await changeShown<RemovedAccount, Account>(shown, { method: 'DELETE' });
    done(`The account ${account} is removed, with ${format.counted(removed.keys, 'key')}.`);
    onClose();
  }
  return html`<${AskDialog}
    title="Remove this account?"
    action="Remove"
    isDangerous
    run=${remove}
    onClose=${onClose}
  >
    <p>
      The account <b>${account}</b> is deleted, with ${format.counted(keys, 'key')}, its stored answers and
      its usage. ${keys === 1 ? 'The key is' : 'The keys are'} refused at once. This cannot be undone.
    </p>
    <${Text} label="Type the name of the account" name="account" required />
  <//>`;
}
