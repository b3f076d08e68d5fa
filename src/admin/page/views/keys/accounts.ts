// Accounts with their tiers and keys. A tier is assigned when it is saved, and Undo takes it back; a row unfolds to its keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, type Account, type Key, type Page, type Tier } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { changeShown } from '../../parts/change.ts';
import { amountText, PER } from '../../parts/limit.ts';
import { Await, Empty, Failure, useLoaded } from '../../parts/load.ts';
import { Menu } from '../../parts/menu.ts';
import { Table, type Column } from '../../parts/table.ts';
import { Time } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import { Keys } from './key-table.ts';
import { shownAccount, type Note, type Open } from './state.ts';
import type { VNode } from 'preact';

interface AccountsProps {
  accounts: readonly Account[];
  isFiltered: boolean;
  tiers: readonly Tier[];
  /** Differs after each change. */
  turn: number;
  changed: (note: Note) => void;
  open: (dialog: Open) => void;
}

export const tierTitle = ({ tier, limits }: Tier): string =>
  `${tier}: ${limits.length === 0 ? 'no limit' : limits.map(limitTitle).join(', ')}`;

const limitTitle = ({ kind, per, limit }: Tier['limits'][number]): string =>
  `${amountText(kind, limit)} ${PER[per]}`;

export function Accounts({ accounts, isFiltered, tiers, turn, changed, open }: AccountsProps): VNode {
  const [error, setError] = useState<Error>();
  if (accounts.length === 0) {
    return isFiltered
      ? html`<p>No account has this in its name.</p>`
      : html`<${Empty} title="There are no accounts yet.">
          <p>An account comes with its first key: <span class="nowrap">“Create a key”</span>.</p>
        <//>`;
  }
  const assign = async (shown: Account, tier: string): Promise<void> => {
    const { account, tier: before } = shown;
    const of = shownAccount(shown, ['tier'], (now) =>
      now.tier === before ? 'it is another account now' : `its tier is ${now.tier} now, not ${before}`,
    );
    try {
      const now = await changeShown<Account, Account>(of, { method: 'PATCH', body: { tier } });
      setError(undefined);
      changed({ text: `${account} has the tier ${tier} now.`, undo: () => void assign(now, before) });
    } catch (failure) {
      setError(failure as Error);
      changed({ text: '' });
    }
  };
  const columns: Column<Account>[] = [
    { title: 'Account', cell: ({ account }) => account, isHead: true, isName: true },
    {
      title: 'Tier',
      cell: (row) =>
        html`<${TierField}
          account=${row.account}
          tier=${row.tier}
          tiers=${tiers}
          save=${(chosen: string) => assign(row, chosen)}
        />`,
    },
    { title: 'All keys', cell: ({ keys }) => format.count(keys), isNumber: true },
    { title: 'Created', cell: (row) => html`<${Time} at=${row.created_at} />`, isMinor: true },
    {
      title: 'Actions',
      isTitleHidden: true,
      cell: (row) => html`<span class="actions"><${AccountMenu} of=${row} open=${open} /></span>`,
    },
  ];
  return html`
    ${error !== undefined && html`<${Failure} error=${error} />`}
    <${Table}
      caption="Accounts, the newest first"
      asCards
      columns=${columns}
      rows=${accounts}
      keyOf=${({ account }: Account) => account}
      unfold=${({ account }: Account) => html`<${AccountKeys} account=${account} turn=${turn} open=${open} />`}
    />
  `;
}

interface TierFieldProps {
  account: string;
  tier: string;
  tiers: readonly Tier[];
  save: (tier: string) => Promise<void>;
}

/** A choice is a draft until it is saved: an arrow key alone assigns nothing. */
function TierField({ account, tier, tiers, save }: TierFieldProps): VNode {
  const [draft, setDraft] = useState(tier);
  const [isSaving, setSaving] = useState(false);
  const field = useRef<HTMLSelectElement>(null);
  const before = useRef(tier);
  useEffect(() => {
    // A choice that is not saved stays, also where somebody else assigned another tier meanwhile.
    setDraft((own) => (own === before.current ? tier : own));
    before.current = tier;
  }, [tier]);
  const choose = ({ target }: Event): void => {
    if (target instanceof HTMLSelectElement) setDraft(target.value);
  };
  function cancel(): void {
    setDraft(tier);
    field.current?.focus();
  }
  async function keep(event: Event): Promise<void> {
    event.preventDefault();
    if (isSaving || draft === tier) return;
    setSaving(true);
    field.current?.focus();
    await save(draft);
    setSaving(false);
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') cancel();
  };
  const of = html`<span class="hidden"> the tier of ${account}</span>`;
  return html`<form class="draft" onSubmit=${(event: Event) => void keep(event)} onKeyDown=${onKey}>
    <select
      ref=${field}
      aria-label=${`Tier of ${account}`}
      value=${draft}
      onChange=${choose}
      onInput=${choose}
    >
      ${withOwn(tiers, tier).map((row) => html`<option value=${row.tier}>${tierTitle(row)}</option>`)}
    </select>
    ${
      draft !== tier &&
      html`<button type="submit" class="primary" aria-disabled=${isSaving}>Save${of}</button>
        <button type="button" class="quiet" onClick=${cancel}>Cancel${of}</button>`
    }
  </form>`;
}

/** The configuration may name the tier no more. */
const withOwn = (tiers: readonly Tier[], own: string): readonly Tier[] =>
  tiers.some(({ tier }) => tier === own)
    ? tiers
    : [...tiers, { tier: own, requests_per_hour: null, limits: [] }];

function AccountMenu({ of, open }: { of: Account; open: (dialog: Open) => void }): VNode {
  const { account } = of;
  const items = [
    { title: 'Create a key', run: () => open({ dialog: 'create', account }) },
    { title: 'All its keys', href: hrefOf('keys', { account, state: 'all' }) },
    { title: 'Usage', href: hrefOf('usage', { account }) },
    { title: 'Requests', href: hrefOf('requests', { account }) },
    { title: 'Rename', run: () => open({ dialog: 'rename', account: of }) },
    { title: 'Remove', run: () => open({ dialog: 'remove', account: of }), isDangerous: true },
  ];
  return html`<${Menu} label=${`Actions of the account ${account}`} items=${items} />`;
}

const MOST_UNFOLDED = '20';

function AccountKeys({
  account,
  turn,
  open,
}: {
  account: string;
  turn: number;
  open: (dialog: Open) => void;
}): VNode {
  const keys = useLoaded(
    (signal) =>
      get<Page<Key>>('/keys', { account, state: 'valid', order: 'newest', limit: MOST_UNFOLDED }, signal),
    [account, turn],
  );
  return html`<${Await} of=${keys}>
    ${({ data, next }: Page<Key>) => html`
      ${
        data.length === 0
          ? html`<p>No key of this account is valid.</p>`
          : html`<${Keys} caption=${`Valid keys of ${account}`} keys=${data} open=${open} isOfAccount />`
      }
      <p class="below">
        <a href=${hrefOf('keys', { account, state: 'all' })}
          >${next === null ? 'With revoked and expired ones' : 'All keys'}<span class="hidden">
            of ${account}</span
          ></a
        >
      </p>
    `}
  <//>`;
}
