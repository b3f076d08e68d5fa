// The dialogs of keys: create one, rotate one, and the plaintext, which is shown once.
import { PERMISSIONS } from '../../../canonical/request.ts';
import { write, type Account, type CreatedKey, type Key, type RotatedKey, type Tier } from '../api.ts';
import { html } from '../html.ts';
import { AskDialog, Dialog, textOf } from '../parts/dialog.ts';
import { Check, Select, Text } from '../parts/fields.ts';
import { Code } from '../parts/text.ts';
import { hrefOf } from '../route.ts';
import { tierTitle } from './accounts.ts';
import type { VNode } from 'preact';

const DAY_MS = 86_400_000;
const EXPIRIES = [
  { value: '', title: 'Never' },
  { value: '1', title: 'In a day' },
  { value: '30', title: 'In 30 days' },
  { value: '90', title: 'In 90 days' },
  { value: '365', title: 'In a year' },
];

interface CreateProps {
  account: string;
  accounts: readonly Account[];
  tiers: readonly Tier[];
  created: (key: CreatedKey) => void;
  onClose: () => void;
}

export function CreateDialog({ account, accounts, tiers, created, onClose }: CreateProps): VNode {
  async function create(form: FormData): Promise<void> {
    const days = textOf(form, 'expires');
    const owner = textOf(form, 'account');
    const models = textOf(form, 'models')
      ?.split(/[\s,]+/)
      .filter((name) => name !== '');
    const isNew = accounts.every((known) => known.account !== owner);
    created(
      await write<CreatedKey>('POST', '/keys', {
        account: owner,
        name: textOf(form, 'name'),
        tier: isNew ? textOf(form, 'tier') : undefined,
        permissions: form.getAll('permissions'),
        models,
        expires_at:
          days === undefined ? undefined : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
      }),
    );
  }
  return html`<${AskDialog} title="Create a key" action="Create" run=${create} onClose=${onClose}>
    <${Text}
      label="Account"
      name="account"
      value=${account}
      required
      suggestions=${accounts.map((row) => row.account)}
      hint="A new name creates the account."
    />
    <${Select}
      label="Tier of a new account"
      name="tier"
      value=""
      choices=${[{ value: '', title: 'As configured' }, ...tiers.map((tier) => ({ value: tier.tier, title: tierTitle(tier) }))]}
    />
    <${Text} label="Name" name="name" hint="By which you recognise it: a tool, a machine. Optional." />
    <fieldset>
      <legend>May use</legend>
      ${PERMISSIONS.map((name) => html`<${Check} label=${name} name="permissions" value=${name} checked />`)}
    </fieldset>
    <${Text} label="Models" name="models" hint="Exact names with commas. Empty: every model." />
    <${Select} label="Expires" name="expires" value="" choices=${EXPIRIES} />
  <//>`;
}

const GRACES = [
  { value: '86400', title: 'For a day' },
  { value: '3600', title: 'For an hour' },
  { value: '604800', title: 'For a week' },
  { value: '0', title: 'Not at all: it ends at once' },
];

export function RotateDialog({
  of: { id, prefix, account },
  created,
  onClose,
}: {
  of: Key;
  created: (key: RotatedKey) => void;
  onClose: () => void;
}): VNode {
  async function rotate(form: FormData): Promise<void> {
    const grace = Number(textOf(form, 'grace') ?? 0);
    created(
      await write<RotatedKey>('POST', `/keys/${encodeURIComponent(id)}/rotate`, { grace_seconds: grace }),
    );
  }
  return html`<${AskDialog} title="Rotate this key?" action="Rotate" run=${rotate} onClose=${onClose}>
    <p>
      A new key takes the place of <code>${prefix}…</code> of the account ${account}, with the same name,
      permissions and models.
    </p>
    <${Select} label="The old key works on" name="grace" value="86400" choices=${GRACES} />
  <//>`;
}

export function CreatedDialog({
  of: key,
  onClose,
}: {
  of: CreatedKey | RotatedKey;
  onClose: () => void;
}): VNode {
  return html`<${Dialog} title="Your new key" onClose=${onClose}>
    <p>Copy it now: it is shown here alone, and is not stored.</p>
    <${Code} label="New key" text=${key.key} isOneLine />
    <p class="quiet-text">Account ${key.account}. The gateway stores a hash of it.</p>
    <div class="buttons">
      <a class="button" href=${hrefOf('connect')} onClick=${onClose}>Connect a tool</a>
      <button type="button" class="primary" onClick=${onClose}>Done</button>
    </div>
  <//>`;
}
