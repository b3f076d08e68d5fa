// Accounts and keys: found by the server, the valid and the newest first. Nothing is revoked or removed without a question.
import { useState } from 'preact/hooks';
import { get, type Account, type Key, type Page, type Tier, type WaitingSignIn } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { Select, Text } from '../../parts/fields.ts';
import { Await, Empty, useLoaded, type Loaded } from '../../parts/load.ts';
import { Name } from '../../parts/text.ts';
import { hrefOf, type Place, type ViewProps } from '../../route.ts';
import { Accounts } from './accounts.ts';
import { Keys } from './key-table.ts';
import { OpenDialog } from './open-dialog.ts';
import type { Note, Open } from './state.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '50';
const STATES = [
  { value: '', title: 'Valid' },
  { value: 'ended', title: 'Revoked and expired' },
  { value: 'all', title: 'All' },
];

/** Of a list that has an order. */
const order = ({ value }: Loaded<Page<unknown>>): string =>
  (value?.data.length ?? 0) > 1 ? ', newest first' : '';

/** What the view lists, as its place says. */
function useLists({ find = '', state = '', account, cursor, accounts: after }: Place['query']) {
  const query = { q: find, order: 'newest', limit: PAGE_ROWS };
  const accounts = useLoaded(
    (signal) => get<Page<Account>>('/accounts', { ...query, cursor: after }, signal),
    [find, after],
  );
  const tiers = useLoaded((signal) => get<Page<Tier>>('/tiers', {}, signal), []);
  const keys = useLoaded(
    (signal) =>
      get<Page<Key>>('/keys', { ...query, cursor, account, state: state === '' ? 'valid' : state }, signal),
    [find, state, account, cursor],
  );
  return { accounts, tiers, keys };
}

export function KeysView({ place, change }: ViewProps): VNode {
  const { find = '', account, accounts: after } = place.query;
  const { accounts, tiers, keys } = useLists(place.query);
  const [open, setOpen] = useState<Open>();
  const [note, setNote] = useState<Note>({ text: '' });
  /** Counts changes: what is unfolded is read again. */
  const [turn, setTurn] = useState(0);
  const changed = (done: Note): void => {
    setNote(done);
    setTurn((before) => before + 1);
    keys.reload();
    accounts.reload();
  };
  const created = (): void => {
    changed({ text: 'The key was created.' });
    change({ find: undefined, state: undefined, account: undefined, cursor: undefined, accounts: undefined });
  };
  // What a dialog was about may have been changed meanwhile.
  const close = (): void => {
    setOpen(undefined);
    keys.reload();
    accounts.reload();
  };
  const create = (): void => setOpen({ dialog: 'create', account: account ?? '' });

  return html`
    <div class="title">
      <h1 tabindex="-1">Keys and accounts</h1>
      <button type="button" class="primary" onClick=${create}>Create a key</button>
    </div>
    <${NoteLine} note=${note} />
    <${WaitingSignIns} />
    <${Filters} place=${place} change=${change} />
    <section>
      <h2>Accounts${order(accounts)}</h2>
      <${Await} of=${accounts}>
        ${({ data, next }: Page<Account>) => html`
          <${Accounts}
            accounts=${data}
            isFiltered=${find !== '' || after !== undefined}
            tiers=${tiers.value?.data ?? []}
            turn=${turn}
            changed=${changed}
            open=${setOpen}
          />
          <${Pages} of="accounts" query=${place.query} cursor="accounts" next=${next} />
        `}
      <//>
    </section>
    <${KeysSection} query=${place.query} keys=${keys} open=${setOpen} />
    <${OpenDialog}
      open=${open}
      setOpen=${setOpen}
      close=${close}
      created=${created}
      changed=${changed}
      accounts=${accounts.value?.data ?? []}
      tiers=${tiers.value?.data ?? []}
    />
  `;
}

function Filters({ place: { query }, change }: ViewProps): VNode {
  const { find = '', state = '' } = query;
  const filter = (more: Record<string, string | undefined>, isMore?: boolean): void =>
    change({ cursor: undefined, accounts: undefined, ...more }, isMore);
  return html`<div class="filters" role="search">
    <${Text}
      label="Find account or key"
      name="find"
      value=${find}
      onChange=${(value: string, isMore: boolean) => filter({ find: value.trim() }, isMore)}
    />
    <${Select}
      label="Keys"
      name="state"
      value=${state}
      choices=${STATES}
      onChange=${(value: string) => filter({ state: value })}
    />
  </div>`;
}

interface KeysSectionProps {
  query: Place['query'];
  keys: Loaded<Page<Key>>;
  open: (dialog: Open) => void;
}

function KeysSection({ query, keys, open }: KeysSectionProps): VNode {
  const { find = '', state = '', account } = query;
  return html`<section>
    <h2>Keys${account !== undefined && html` of <${Name} of=${account} />`}${order(keys)}</h2>
    ${account !== undefined && html`<p><a href=${hrefOf('keys', { find, state })}>Keys of all accounts</a></p>`}
    <${Await} of=${keys}>
      ${({ data, next }: Page<Key>) => html`
        ${
          data.length === 0
            ? html`<${NoKeys}
                isFiltered=${find !== '' || account !== undefined}
                state=${state}
                next=${next}
              />`
            : html`<${Keys} caption="Keys, the newest first" keys=${data} open=${open} />`
        }
        <${Pages} of="keys" query=${query} cursor="cursor" next=${next} />
      `}
    <//>
  </section>`;
}

function NoteLine({ note: { text, undo } }: { note: Note }): VNode {
  return html`<div class="note-line">
    <p role="status" class="note">${text}</p>
    ${undo !== undefined && html`<button type="button" class="quiet" onClick=${undo}>Undo</button>`}
  </div>`;
}

interface PagesProps {
  of: string;
  query: Readonly<Record<string, string>>;
  /** The member of the query that holds the cursor. */
  cursor: string;
  next: string | null;
}

function Pages({ of, query, cursor, next }: PagesProps): VNode {
  const isFirst = query[cursor] === undefined;
  if (isFirst && next === null) return html``;
  return html`<nav class="pages" aria-label=${`Pages of ${of}`}>
    ${!isFirst && html`<a href=${hrefOf('keys', { ...query, [cursor]: undefined })}>First page</a>`}
    ${next !== null && html`<a href=${hrefOf('keys', { ...query, [cursor]: next })}>Next page</a>`}
  </nav>`;
}

function NoKeys({
  isFiltered,
  state,
  next,
}: {
  isFiltered: boolean;
  state: string;
  next: string | null;
}): VNode {
  if (next !== null) return html`<p>No key of those looked at so far fits.</p>`;
  if (isFiltered || state !== '') {
    return html`<${Empty} title="No key fits.">
      <p>Look for a shorter text, or see <a href=${hrefOf('keys')}>all valid keys</a>.</p>
    <//>`;
  }
  return html`<${Empty} title="There are no valid keys.">
    <p>
      A client needs one: <span class="nowrap">“Create a key”</span>, then${' '}
      <a href=${hrefOf('connect')}>connect a tool</a> with it.
    </p>
  <//>`;
}

const SIGN_INS_MS = 10_000;

/** Who waits to be let in, where keys are looked after; their own view approves and denies. */
function WaitingSignIns(): VNode {
  const waiting: Loaded<Page<WaitingSignIn>> = useLoaded(
    (signal) => get('/sign-ins', {}, signal),
    [],
    SIGN_INS_MS,
  );
  const count = waiting.value?.data.length ?? 0;
  if (count === 0) return html``;
  return html`<p class="waiting">
    ${`${format.count(count)} ${count === 1 ? 'client waits' : 'clients wait'} to sign in: `}
    <a href=${hrefOf('sign-ins')}>approve or deny</a>
  </p>`;
}
