// Accounts with their tiers, and keys: a plaintext is shown once, and nothing is revoked without a question.
import { useState } from 'preact/hooks';
import { PROTOCOL_NAMES } from '../../../canonical/request.ts';
import { get, write } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Check, Select, Text } from '../parts/fields.ts';
import { AskDialog, Dialog } from '../parts/dialog.ts';
import { Await, Empty, Failure, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { Code, State, Time, Unknown } from '../parts/text.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { Account, CreatedKey, Key, Page, RotatedKey, Tier } from '../types.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '100';
const DAY_MS = 86_400_000;
const EXPIRIES = [
  { value: '', title: 'Never' },
  { value: '1', title: 'In a day' },
  { value: '30', title: 'In 30 days' },
  { value: '90', title: 'In 90 days' },
  { value: '365', title: 'In a year' },
];

/** The dialog that is open. */
type Open =
  | { dialog: 'create'; account: string }
  | { dialog: 'created'; key: CreatedKey | RotatedKey }
  | { dialog: 'rotate' | 'revoke'; key: Key };

export function KeysView({ place, change }: ViewProps): VNode {
  const { cursor, all } = place.query;
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const tiers = useLoaded((signal) => get<Page<Tier>>('/tiers', {}, signal), []);
  const keys = useLoaded((signal) => get<Page<Key>>('/keys', { limit: PAGE_ROWS, cursor }, signal), [cursor]);
  const [open, setOpen] = useState<Open>();
  const [note, setNote] = useState('');
  const close = (): void => setOpen(undefined);
  const changed = (text: string): void => {
    setNote(text);
    keys.reload();
    accounts.reload();
  };

  return html`
    <div class="title">
      <h1 tabindex="-1">Keys and accounts</h1>
      <button type="button" class="primary" onClick=${() => setOpen({ dialog: 'create', account: '' })}>
        Create a key
      </button>
    </div>
    <p role="status" class="note">${note}</p>
    <section>
      <h2>Accounts</h2>
      <${Await} of=${accounts}>
        ${({ data }: Page<Account>) =>
          html`<${Accounts}
            accounts=${data}
            tiers=${tiers.value?.data ?? []}
            onChange=${changed}
            createKey=${(account: string) => setOpen({ dialog: 'create', account })}
          />`}
      <//>
    </section>
    <section>
      <div class="title">
        <h2>Keys</h2>
        <${Check}
          label="Revoked and expired ones, too"
          name="all"
          checked=${all === 'true'}
          onChange=${(checked: boolean) => change({ all: checked ? 'true' : undefined })}
        />
      </div>
      <${Await} of=${keys}>
        ${({ data, next }: Page<Key>) => html`
          <${Keys} keys=${all === 'true' ? data : data.filter(isValid)} open=${setOpen} />
          <nav class="pages" aria-label="Pages of keys">
            ${cursor !== undefined && html`<a href=${hrefOf('keys', { all })}>First page</a>`}
            ${next !== null && html`<a href=${hrefOf('keys', { all, cursor: next })}>Next page</a>`}
          </nav>
        `}
      <//>
    </section>
    <${OpenDialog}
      open=${open}
      setOpen=${setOpen}
      close=${close}
      changed=${changed}
      accounts=${accounts.value?.data ?? []}
      tiers=${tiers.value?.data ?? []}
    />
  `;
}

interface AccountsProps {
  accounts: readonly Account[];
  tiers: readonly Tier[];
  onChange: (note: string) => void;
  createKey: (account: string) => void;
}

const tierTitle = ({ tier, requests_per_hour: most }: Tier): string =>
  most === null ? `${tier}: no limit` : `${tier}: ${format.count(most)} an hour`;

function Accounts({ accounts, tiers, onChange, createKey }: AccountsProps): VNode {
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
      cell: ({ account }) =>
        html`<span class="actions">
          <a href=${hrefOf('usage', { account })}>Usage<span class="hidden"> of ${account}</span></a>
          <button type="button" class="link" onClick=${() => createKey(account)}>
            Create a key<span class="hidden"> of ${account}</span>
          </button>
        </span>`,
    },
  ];
  return html`
    ${error !== undefined && html`<${Failure} error=${error} />`}
    <${Table}
      caption="Accounts"
      columns=${columns}
      rows=${accounts}
      keyOf=${({ account }: Account) => account}
    />
  `;
}

/** The configuration may name the tier no more. */
const withOwn = (tiers: readonly Tier[], own: string): readonly Tier[] =>
  tiers.some(({ tier }) => tier === own) ? tiers : [...tiers, { tier: own, requests_per_hour: null }];

const isPast = (time: string | null): boolean => time !== null && Date.parse(time) <= Date.now();
const isValid = (key: Key): boolean => key.revoked_at === null && !isPast(key.expires_at);

function stateOf(key: Key): VNode {
  if (key.revoked_at !== null) return html`<${State} tone="plain">revoked<//>`;
  if (isPast(key.expires_at)) return html`<${State} tone="plain">expired<//>`;
  return html`<${State} tone="good">valid<//>`;
}

function Keys({ keys, open }: { keys: readonly Key[]; open: (dialog: Open) => void }): VNode {
  if (keys.length === 0) {
    return html`<${Empty} title="There are no valid keys here.">
      <p>A client needs one: “Create a key”, then <a href=${hrefOf('connect')}>connect a tool</a> with it.</p>
    <//>`;
  }
  const columns: Column<Key>[] = [
    { title: 'Key', cell: ({ prefix }) => html`<code class="nowrap">${prefix}…</code>`, isHead: true },
    { title: 'Name', cell: ({ name }) => name ?? html`<${Unknown} word="no name" />`, isName: true },
    { title: 'Account', cell: ({ account }) => account, isName: true },
    { title: 'May use', cell: ({ permissions }) => permissions.join(', '), isMinor: true },
    { title: 'Models', cell: ({ models }) => modelsText(models), isMinor: true, isName: true },
    {
      title: 'Last used',
      cell: (key) => (key.last_used_at === null ? 'never' : html`<${Time} at=${key.last_used_at} />`),
    },
    {
      title: 'Expires',
      cell: (key) => (key.expires_at === null ? 'never' : html`<${Time} at=${key.expires_at} />`),
      isMinor: true,
    },
    { title: 'State', cell: stateOf },
    { title: 'Actions', isTitleHidden: true, cell: (key) => html`<${KeyActions} of=${key} open=${open} />` },
  ];
  return html`<${Table}
    caption="Keys, the oldest first"
    columns=${columns}
    rows=${keys}
    keyOf=${({ id }: Key) => id}
  />`;
}

const MOST_NAMED = 3;

function modelsText(models: readonly string[] | null): string {
  if (models === null) return 'every model';
  const more = models.length - MOST_NAMED;
  return models.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${format.count(more)} more` : '');
}

function KeyActions({ of: key, open }: { of: Key; open: (dialog: Open) => void }): VNode {
  if (!isValid(key)) return html``;
  const name = key.name ?? key.prefix;
  return html`<span class="actions">
    <button type="button" class="link" onClick=${() => open({ dialog: 'rotate', key })}>
      Rotate<span class="hidden"> ${name}</span>
    </button>
    <button type="button" class="link danger" onClick=${() => open({ dialog: 'revoke', key })}>
      Revoke<span class="hidden"> ${name}</span>
    </button>
  </span>`;
}

interface DialogProps {
  open: Open | undefined;
  setOpen: (open: Open) => void;
  close: () => void;
  changed: (note: string) => void;
  accounts: readonly Account[];
  tiers: readonly Tier[];
}

function OpenDialog({ open, setOpen, close, changed, accounts, tiers }: DialogProps): VNode {
  const created = (key: CreatedKey | RotatedKey): void => {
    changed('The key was created.');
    setOpen({ dialog: 'created', key });
  };
  switch (open?.dialog) {
    case 'create':
      return html`<${CreateDialog}
        key="create"
        account=${open.account}
        accounts=${accounts}
        tiers=${tiers}
        created=${created}
        onClose=${close}
      />`;
    case 'created':
      return html`<${CreatedDialog} key="created" of=${open.key} onClose=${close} />`;
    case 'rotate':
      return html`<${RotateDialog} key="rotate" of=${open.key} created=${created} onClose=${close} />`;
    case 'revoke': {
      const { id, name, prefix } = open.key;
      const revoke = async (): Promise<void> => {
        await write('DELETE', `/keys/${encodeURIComponent(id)}`);
        changed(`The key ${name ?? prefix} is revoked.`);
        close();
      };
      return html`<${AskDialog}
        key="revoke"
        title="Revoke this key?"
        action="Revoke"
        isDangerous
        run=${revoke}
        onClose=${close}
      >
        <p>
          <code>${prefix}…</code> ${name === null ? '' : `(${name}) `}of the account ${open.key.account} is
          refused at once, and cannot be made valid again. To replace a key that is in use, rotate it.
        </p>
      <//>`;
    }
    case undefined:
      return html``;
  }
}

const textOf = (form: FormData, name: string): string | undefined => {
  const value = form.get(name);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
};

interface CreateProps {
  account: string;
  accounts: readonly Account[];
  tiers: readonly Tier[];
  created: (key: CreatedKey) => void;
  onClose: () => void;
}

function CreateDialog({ account, accounts, tiers, created, onClose }: CreateProps): VNode {
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
      ${PROTOCOL_NAMES.map((name) => html`<${Check} label=${name} name="permissions" value=${name} checked />`)}
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

function RotateDialog({
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

function CreatedDialog({ of: key, onClose }: { of: CreatedKey | RotatedKey; onClose: () => void }): VNode {
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
