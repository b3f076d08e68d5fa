// A table of keys, each with a menu of what can be done with it.
import { PERMISSIONS } from '../../../../canonical/request.ts';
import type { Key } from '../../api.ts';
import * as format from '../../format.ts';
import { html, type Children } from '../../html.ts';
import { Menu } from '../../parts/menu.ts';
import { Table, type Column } from '../../parts/table.ts';
import { Name, State, Time, Unknown } from '../../parts/text.ts';
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
  { title: 'Models', cell: ({ models }) => modelsOf(models), isMinor: true, isName: true },
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

/** The account stands above it, and leaves room for this. */
const OF_ACCOUNT: readonly Column<Key>[] = COLUMNS.map((column) =>
  column.title === 'Account'
    ? { title: 'Created', cell: (key) => html`<${Time} at=${key.created_at} />`, isExtra: true }
    : column,
);

interface KeysProps {
  caption: string;
  keys: readonly Key[];
  open: OpenIt;
  /** All are of one account, whose row is above. */
  isOfAccount?: boolean;
}

export function Keys({ caption, keys, open, isOfAccount = false }: KeysProps): VNode {
  const columns = [
    ...(isOfAccount ? OF_ACCOUNT : COLUMNS),
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

/** Characters of names that have room beside the number of the others. */
const ROOM = 16;

const permissionsText = (permissions: Key['permissions']): string =>
  permissions.length === PERMISSIONS.length ? 'all' : permissions.join(', ');

function modelsOf(models: readonly string[] | null): Children {
  if (models === null) return 'all';
  const two = models.slice(0, 2).join(', ');
  const named = two.length > ROOM ? 1 : 2;
  const names = models.slice(0, named).join(', ');
  if (models.length <= named) return names;
  return html`<span class="and-more" title=${models.join(', ')}>
    <${Name} of=${names} /><span>and ${format.count(models.length - named)} more</span>
  </span>`;
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
