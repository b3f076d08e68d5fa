// Accounts with their tiers: assign a tier, rename, remove.
import { useState } from 'preact/hooks';
import { write, type Account, type RemovedAccount, type Tier } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { AskDialog, textOf } from '../parts/dialog.ts';
import { Text } from '../parts/fields.ts';
import { Empty, Failure } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { Time } from '../parts/text.ts';
import { hrefOf } from '../route.ts';
import type { VNode } from 'preact';

interface AccountsProps {
  accounts: readonly Account[];
  tiers: readonly Tier[];
  onChange: (note: string) => void;
  createKey: (account: string) => void;
  rename: (account: Account) => void;
  remove: (account: Account) => void;
}

export const tierTitle = ({ tier, limits }: Tier): string =>
  `${tier}: ${limits.length === 0 ? 'no limit' : limits.map(limitTitle).join(', ')}`;

function limitTitle({ kind, per, limit }: Tier['limits'][number]): string {
  const unit = { requests: '', tokens: ' tokens', cost: ' USD' }[kind];
  return `${format.count(limit)}${unit} ${per === 'hour' ? 'an' : 'a'} ${per}`;
}

export function Accounts({ accounts, tiers, onChange, createKey, rename, remove }: AccountsProps): VNode {
  const [error, setError] = useState<Error>();
  const assign = (account: string, tier: string): void => {
    write('PATCH', `/accounts/${encodeURIComponent(account)}`, { tier }).then(
      () => {
        setError(undefined);
        onChange(`${account} has the tier ${tier} now.`);
      },
      (failure: unknown) => {
        setError(failure as Error);
        onChange('');
      },
    );
  };
  if (accounts.length === 0) {
    return html`<${Empty} title="There are no accounts yet.">
      <p>An account comes with its first key: “Create a key”.</p>
    <//>`;
  }
  const columns: Column<Account>[] = [
    { title: 'Account', cell: ({ account }) => account, isHead: true, isName: true },
    {
      title: 'Tier',
      cell: ({ account, tier }) =>
        html`<select
          aria-label=${`Tier of ${account}`}
          value=${tier}
          onChange=${(event: Event) => {
            if (event.target instanceof HTMLSelectElement) assign(account, event.target.value);
          }}
        >
          ${withOwn(tiers, tier).map((row) => html`<option value=${row.tier}>${tierTitle(row)}</option>`)}
        </select>`,
    },
    { title: 'Keys', cell: ({ keys }) => format.count(keys), isNumber: true },
    { title: 'Created', cell: (row) => html`<${Time} at=${row.created_at} />`, isMinor: true },
    {
      title: 'Actions',
      isTitleHidden: true,
      cell: (row) => {
        const { account } = row;
        const of = html`<span class="hidden"> ${account}</span>`;
        return html`<span class="actions">
          <a href=${hrefOf('usage', { account })}>Usage<span class="hidden"> of ${account}</span></a>
          <button type="button" class="link" onClick=${() => createKey(account)}>
            Create a key<span class="hidden"> of ${account}</span>
          </button>
          <button type="button" class="link" onClick=${() => rename(row)}>Rename${of}</button>
          <button type="button" class="link danger" onClick=${() => remove(row)}>Remove${of}</button>
        </span>`;
      },
    },
  ];
  return html`
    ${error !== undefined && html`<${Failure} error=${error} />`}
    <${Table}
      caption="Accounts"
      asCards
      columns=${columns}
      rows=${accounts}
      keyOf=${({ account }: Account) => account}
    />
  `;
}

/** The configuration may name the tier no more. */
const withOwn = (tiers: readonly Tier[], own: string): readonly Tier[] =>
  tiers.some(({ tier }) => tier === own)
    ? tiers
    : [...tiers, { tier: own, requests_per_hour: null, limits: [] }];

interface AccountDialogProps {
  of: Account;
  /** With what was done, as a sentence. */
  done: (note: string) => void;
  onClose: () => void;
}

export function RenameDialog({ of: { account }, done, onClose }: AccountDialogProps): VNode {
  async function rename(form: FormData): Promise<void> {
    const renamed = textOf(form, 'account');
    if (renamed !== account) {
      await write('PATCH', `/accounts/${encodeURIComponent(account)}`, { account: renamed });
      done(`The account ${account} has the name ${renamed ?? ''} now.`);
    }
    onClose();
  }
  return html`<${AskDialog} title="Rename this account?" action="Rename" run=${rename} onClose=${onClose}>
    <p>Its keys, its tier and its usage stay. Clients notice nothing.</p>
    <${Text} label="New name" name="account" value=${account} required />
  <//>`;
}

export function RemoveDialog({ of: { account, keys }, done, onClose }: AccountDialogProps): VNode {
  async function remove(form: FormData): Promise<void> {
    if (textOf(form, 'account') !== account) throw new Error('This is not the name of the account.');
    const removed = await write<RemovedAccount>('DELETE', `/accounts/${encodeURIComponent(account)}`);
    done(`The account ${account} is removed, with ${counted(removed.keys, 'key')}.`);
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
      <b>${account}</b> goes with ${counted(keys, 'key')}, which ${keys === 1 ? 'is' : 'are'} refused at once,
      with its stored answers and its usage. This cannot be undone.
    </p>
    <${Text} label="Type the name of the account" name="account" required />
  <//>`;
}

const counted = (number: number, noun: string): string =>
  `${format.count(number)} ${noun}${number === 1 ? '' : 's'}`;
