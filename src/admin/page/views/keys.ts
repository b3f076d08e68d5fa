// Accounts and keys. Nothing is revoked or removed without a question.
import { useEffect, useState } from 'preact/hooks';
import { PERMISSIONS } from '../../../canonical/request.ts';
import {
  get,
  write,
  type Account,
  type CreatedKey,
  type Key,
  type Page,
  type RotatedKey,
  type Tier,
} from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { AskDialog } from '../parts/dialog.ts';
import { Check } from '../parts/fields.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { State, Time, Unknown } from '../parts/text.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import { Accounts, RemoveDialog, RenameDialog } from './accounts.ts';
import { CreateDialog, CreatedDialog, RotateDialog } from './key-dialogs.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '100';
/** The dialog that is open. */
type Open =
  | { dialog: 'create'; account: string }
  | { dialog: 'created'; key: CreatedKey | RotatedKey }
  | { dialog: 'rotate' | 'revoke'; key: Key }
  | { dialog: 'rename' | 'remove'; account: Account };

export function KeysView({ place, change }: ViewProps): VNode {
  const { cursor, all } = place.query;
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const tiers = useLoaded((signal) => get<Page<Tier>>('/tiers', {}, signal), []);
  const keys = useLoaded((signal) => get<Page<Key>>('/keys', { limit: PAGE_ROWS, cursor }, signal), [cursor]);
  const [open, setOpen] = useState<Open>();
  const [note, setNote] = useState('');
  const close = (): void => setOpen(undefined);
  // The button that had the focus may be gone with its row.
  useEffect(() => {
    if (note !== '' && document.activeElement === document.body)
      document.querySelector<HTMLElement>('h1')?.focus();
  }, [accounts.value, keys.value]);
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
        ${({ data, next }: Page<Account>) => html`
          <${Accounts}
            accounts=${data}
            tiers=${tiers.value?.data ?? []}
            onChange=${changed}
            createKey=${(account: string) => setOpen({ dialog: 'create', account })}
            rename=${(account: Account) => setOpen({ dialog: 'rename', account })}
            remove=${(account: Account) => setOpen({ dialog: 'remove', account })}
          />
          ${next !== null && html`<p class="quiet-text">The first ${format.count(data.length)} are shown; all: gateway accounts list</p>`}
        `}
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
    { title: 'May use', cell: ({ permissions }) => permissionsText(permissions), isMinor: true },
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
    asCards
    columns=${columns}
    rows=${keys}
    keyOf=${({ id }: Key) => id}
  />`;
}

const MOST_NAMED = 3;

const permissionsText = (permissions: Key['permissions']): string =>
  permissions.length === PERMISSIONS.length ? 'all' : permissions.join(', ');

function modelsText(models: readonly string[] | null): string {
  if (models === null) return 'all';
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
    case 'rename':
      return html`<${RenameDialog} key="rename" of=${open.account} done=${changed} onClose=${close} />`;
    case 'remove':
      return html`<${RemoveDialog} key="remove" of=${open.account} done=${changed} onClose=${close} />`;
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
