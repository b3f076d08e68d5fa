// A table of keys, each with a menu of what can be done with it.
import { PERMISSIONS } from '../../../../canonical/request.ts';
import type { Key } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { Menu } from '../../parts/menu.ts';
import { Table, type Column } from '../../parts/table.ts';
import { State, Time, Unknown } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import type { Open } from './state.ts';
import type { VNode } from 'preact';

const isPast = (time: string | null): boolean => time !== null && Date.parse(time) <= Date.now();
const isValid = (key: Key): boolean => key.revoked_at === null && !isPast(key.expires_at);

function stateOf(key: Key): VNode {
  if (key.revoked_at !== null) return html`<${State} tone="plain">revoked<//>`;
  if (isPast(key.expires_at)) return html`<${State} tone="plain">expired<//>`;
  return html`<${State} tone="good">valid<//>`;
}

type OpenIt = (dialog: Open) => void;

const COLUMNS: readonly Column<Key>[] = [
  { title: 'Key', cell: ({ prefix }) => html`<code class="nowrap">${prefix}…</code>`, isHead: true },
  { title: 'Name', cell: ({ name }) => name ?? html`<${Unknown} word="no name" />`, isName: true },
  { title: 'Account', cell: ({ account }) => account, isName: true },
  {
    title: 'May use',
    cell: ({ permissions }) => html`<span class="nowrap">${permissionsText(permissions)}</span>`,
    isMinor: true,
  },
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
];

interface KeysProps {
  caption: string;
  keys: readonly Key[];
  open: OpenIt;
  /** All are of one account, whose row is above. */
  isOfAccount?: boolean;
}

export function Keys({ caption, keys, open, isOfAccount = false }: KeysProps): VNode {
  const columns = [
    ...(isOfAccount ? COLUMNS.filter(({ title }) => title !== 'Account') : COLUMNS),
    {
      title: 'Actions',
      isTitleHidden: true,
      cell: (key: Key) => html`<${KeyMenu} of=${key} open=${open} />`,
    },
  ];
  return html`<${Table}
    caption=${caption}
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

function KeyMenu({ of: key, open }: { of: Key; open: OpenIt }): VNode {
  const changes = [
    { title: 'Rotate', run: () => open({ dialog: 'rotate', key }) },
    { title: 'Revoke', run: () => open({ dialog: 'revoke', key }), isDangerous: true },
  ];
  const items = [
    { title: 'Requests', href: hrefOf('requests', { key: key.id }) },
    ...(isValid(key) ? changes : []),
  ];
  return html`<span class="actions">
    <${Menu} label=${`Actions of the key ${key.name ?? key.prefix}`} items=${items} />
  </span>`;
}
