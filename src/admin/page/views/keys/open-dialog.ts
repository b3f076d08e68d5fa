// The dialog that is open: of a key or of an account.
import type { Account, CreatedKey, Key, RotatedKey, Tier } from '../../api.ts';
import { html } from '../../html.ts';
import { AskDialog } from '../../parts/dialog.ts';
import { changeShown } from '../../parts/change.ts';
import { RemoveDialog, RenameDialog } from './account-dialogs.ts';
import { shownKey, type Note, type Open } from './state.ts';
import { CreateDialog, CreatedDialog, RotateDialog } from './key-dialogs.ts';
import type { VNode } from 'preact';

interface DialogProps {
  open: Open | undefined;
  setOpen: (open: Open) => void;
  close: () => void;
  created: () => void;
  changed: (note: Note) => void;
  accounts: readonly Account[];
  tiers: readonly Tier[];
}

export function OpenDialog({ open, setOpen, close, created, changed, accounts, tiers }: DialogProps): VNode {
  const done = (text: string): void => changed({ text });
  const made = (key: CreatedKey | RotatedKey): void => {
    created();
    setOpen({ dialog: 'created', key });
  };
  switch (open?.dialog) {
    case 'create':
      return html`<${CreateDialog}
        key="create"
        account=${open.account}
        accounts=${accounts}
        tiers=${tiers}
        created=${made}
        onClose=${close}
      />`;
    case 'created':
      return html`<${CreatedDialog} key="created" of=${open.key} onClose=${close} />`;
    case 'rename':
      return html`<${RenameDialog} key="rename" of=${open.account} done=${done} onClose=${close} />`;
    case 'remove':
      return html`<${RemoveDialog} key="remove" of=${open.account} done=${done} onClose=${close} />`;
    case 'rotate':
      return html`<${RotateDialog} key="rotate" of=${open.key} created=${made} onClose=${close} />`;
    case 'revoke':
      return html`<${RevokeDialog} key="revoke" of=${open.key} done=${done} onClose=${close} />`;
    case undefined:
      return html``;
  }
}

interface RevokeProps {
  of: Key;
  done: (note: string) => void;
  onClose: () => void;
}

function RevokeDialog({ of, done, onClose }: RevokeProps): VNode {
  const { name, prefix, account } = of;
  const revoke = async (): Promise<void> => {
    await changeShown(shownKey(of), { method: 'DELETE' });
    done(`The key ${name ?? prefix} is revoked.`);
    onClose();
  };
  return html`<${AskDialog}
    title="Revoke this key?"
    action="Revoke"
    isDangerous
    run=${revoke}
    onClose=${onClose}
  >
    <p>
      <code>${prefix}…</code> ${name === null ? '' : `(${name}) `}of the account ${account} is refused at
      once, and cannot be made valid again. To replace a key that is in use, rotate it.
    </p>
  <//>`;
}
