// The dialogs of keys: create one, rotate one, and the plaintext, which is shown once.
import { PERMISSIONS } from '../../../../canonical/request.ts';
import { useState } from 'preact/hooks';
import {
  get,
  write,
  type Account,
  type CreatedKey,
  type Key,
  type Page,
  type RotatedKey,
  type Tier,
} from '../../api.ts';
import { html } from '../../html.ts';
import { AskDialog, Dialog, textOf } from '../../parts/dialog.ts';
import { changeShown } from '../../parts/change.ts';
import { Check, Select, Text } from '../../parts/fields.ts';
import { Code } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import { tierTitle } from './accounts.ts';
import { Expiry, expiryOf, ModelChoice, modelsOf } from './choices.ts';
import { shownKey } from './state.ts';
import type { VNode } from 'preact';

interface CreateProps {
  account: string;
  accounts: readonly Account[];
  tiers: readonly Tier[];
  created: (key: CreatedKey) => void;
  onClose: () => void;
}

const isKnown = async (account: string): Promise<boolean> => {
  const { data } = await get<Page<Account>>('/accounts', { q: account, limit: '1000' });
  return data.some((known) => known.account === account);
};

export function CreateDialog({ account, accounts, tiers, created, onClose }: CreateProps): VNode {
  async function create(form: FormData): Promise<void> {
    const owner = textOf(form, 'account');
    // The list beside the field is a page of them.
    const isNew = accounts.every((known) => known.account !== owner) && !(await isKnown(owner ?? ''));
    created(
      await write<CreatedKey>('POST', '/keys', {
        account: owner,
        name: textOf(form, 'name'),
        tier: isNew ? textOf(form, 'tier') : undefined,
        permissions: form.getAll('permissions'),
        models: modelsOf(form),
        expires_at: expiryOf(form),
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
      choices=${[{ value: '', title: 'The default tier' }, ...tiers.map((tier) => ({ value: tier.tier, title: tierTitle(tier) }))]}
    />
    <${Text}
      label="Name of the key"
      name="name"
      hint="What it is for, such as a tool or a machine. Optional."
    />
    <fieldset class="permissions">
      <legend>May use</legend>
      ${PERMISSIONS.map((name) => html`<${Check} label=${name} name="permissions" value=${name} checked />`)}
    </fieldset>
    <${ModelChoice} />
    <${Expiry} />
  <//>`;
}

const GRACES = [
  { value: '86400', title: 'For a day' },
  { value: '3600', title: 'For an hour' },
  { value: '604800', title: 'For a week' },
  { value: '0', title: 'Not at all: it is refused at once' },
];

export function RotateDialog({
  of,
  created,
  onClose,
}: {
  of: Key;
  created: (key: RotatedKey) => void;
  onClose: () => void;
}): VNode {
  const { prefix, account } = of;
  async function rotate(form: FormData): Promise<void> {
    const body = { grace_seconds: Number(textOf(form, 'grace') ?? 0) };
    created(await changeShown<RotatedKey, Key>(shownKey(of), { method: 'POST', below: '/rotate', body }));
  }
  return html`<${AskDialog} title="Rotate this key?" action="Rotate" run=${rotate} onClose=${onClose}>
    <p>
      A new key takes the place of <code>${prefix}…</code> of the account ${account}, with the same name,
      permissions and models.
    </p>
    <${Select} label="The old key stays valid" name="grace" value="86400" choices=${GRACES} />
  <//>`;
}

/** The key is nowhere else: it is not left without having been copied, or a second word. */
export function CreatedDialog({
  of: key,
  onClose,
}: {
  of: CreatedKey | RotatedKey;
  onClose: () => void;
}): VNode {
  const [isCopied, setCopied] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const leave = (event?: Event): void => {
    if (isCopied) return onClose();
    event?.preventDefault();
    setAsked(true);
  };
  return html`<${Dialog} title="Your new key" onClose=${leave}>
    <p>Copy it now: it is shown only once.</p>
    <${Code} label="New key" text=${key.key} wraps onCopy=${() => setCopied(true)} />
    ${key.warnings.length > 0 && html`<${Warnings} of=${key.warnings} />`}
    <p class="quiet-text">It is a key of the account ${key.account}. The gateway stores only its hash.</p>
    ${
      isAsked && !isCopied
        ? html`<div class="failure" role="alert">
              <p>The key was not copied. Nobody can show it again.</p>
            </div>
            <div class="buttons">
              <button type="button" class="danger" onClick=${onClose}>Close without it</button>
              <button type="button" onClick=${() => setAsked(false)}>Back to the key</button>
            </div>`
        : html`<div class="buttons">
            <a class="button" href=${hrefOf('connect')} onClick=${leave}>Connect a tool</a>
            <button type="button" class="primary" onClick=${() => leave()}>Done</button>
          </div>`
    }
  <//>`;
}

function Warnings({ of }: { of: readonly string[] }): VNode {
  return html`<div>
    <p>The key may use names that no model has now:</p>
    <ul>
      ${of.map((text) => html`<li>${text}</li>`)}
    </ul>
  </div>`;
}
