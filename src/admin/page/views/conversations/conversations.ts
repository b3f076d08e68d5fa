// Conversations of a window of time with what each one cost, and one of them by its id.
import { get, type Account, type Conversation, type Page, type Query } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { AccountFilter, Text } from '../../parts/fields.ts';
import { Await, Empty, useLoaded } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { State, Time, Unknown } from '../../parts/text.ts';
import { WindowFields, windowOf } from '../../parts/window.ts';
import { hrefOf, type ViewProps } from '../../route.ts';
import { ConversationView } from './conversation.ts';
import { shortId, STOPS } from './words.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '100';

export function ConversationsView(props: ViewProps): VNode {
  const { item } = props.place;
  return item === undefined
    ? html`<${List} ...${props} />`
    : html`<${ConversationView} id=${item} key=${item} />`;
}

function List({ place, change }: ViewProps): VNode {
  const { account, label, cursor } = place.query;
  const window = windowOf(place.query);
  const found = useLoaded(
    (signal) =>
      get<Page<Conversation>>(
        '/conversations',
        { ...window, account, label, cursor, limit: PAGE_ROWS },
        signal,
      ),
    [window, account, label, cursor],
  );
  const filter = (query: Query, isMore?: boolean): void => change({ ...query, cursor: undefined }, isMore);
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const isFiltered = account !== undefined || label !== undefined;
  const all = html`<a
    href=${hrefOf('conversations', { ...place.query, account: undefined, label: undefined, cursor: undefined })}
    >Remove the filter</a
  >`;
  const names = accounts.value?.data.map((row) => row.account) ?? (account === undefined ? [] : [account]);
  return html`
    <h1 tabindex="-1">Conversations</h1>
    <div class="filters" role="group" aria-label="Filter">
      <${WindowFields} query=${place.query} onChange=${filter} />
      <${AccountFilter}
        value=${account ?? ''}
        names=${names}
        onChange=${(value: string) => filter({ account: value })}
      />
      <${Text}
        label="Label"
        name="label"
        value=${label ?? ''}
        onChange=${(value: string, isMore: boolean) => filter({ label: value }, isMore)}
      />
    </div>
    <${Await} of=${found} wayOut=${isFiltered && all}>
      ${({ data, next }: Page<Conversation>) =>
        data.length === 0 && cursor === undefined
          ? html`<${Empty}
              title=${isFiltered ? 'No conversation fits this filter.' : 'No conversations in this window.'}
            >
              <p>
                ${
                  isFiltered
                    ? html`${all}, or choose a longer window.`
                    : 'Requests with the same conversation id, or with the same beginning, are one conversation.'
                }
              </p>
            <//>`
          : html`
              <${Table}
                caption="Conversations, the latest first"
                columns=${columnsFor(data)}
                rows=${data}
                keyOf=${({ id }: Conversation) => id}
                asCards
              />
              <nav class="pages" aria-label="Pages">
                ${cursor !== undefined && html`<a href=${hrefOf('conversations', { ...place.query, cursor: undefined })}>Latest</a>`}
                ${next !== null && html`<a href=${hrefOf('conversations', { ...place.query, cursor: next })}>Older</a>`}
              </nav>
              <p class="quiet-text">Sums are of whole conversations, also of what was before this window.</p>
            `}
    <//>
  `;
}

function columnsFor(rows: readonly Conversation[]): readonly Column<Conversation>[] {
  const cost = format.costs(
    rows.map((row) => row.cost_usd),
    true,
  );
  const lost = format.costs(
    rows.map((row) => row.misses_cost_usd),
    true,
  );
  const input = format.shorts(rows.map((row) => row.input_tokens));
  const output = format.shorts(rows.map((row) => row.output_tokens));
  return [
    ...COLUMNS,
    { title: 'Input', cell: (row) => input(row.input_tokens), isNumber: true, isMinor: true },
    { title: 'Output', cell: (row) => output(row.output_tokens), isNumber: true, isMinor: true },
    { title: 'Cost', cell: (row) => cost(row.cost_usd), isNumber: true },
    {
      title: 'Cache misses',
      cell: ({ misses, misses_cost_usd: known }) =>
        html`${format.count(misses)}<span class="aside"
            >${misses > 0 && known !== null && `(${lost(known)})`}</span
          >`,
      isNumber: true,
      isLesser: true,
    },
    ...(rows.some(({ stopped }) => stopped !== null) ? [STATE] : []),
  ];
}

const STATE: Column<Conversation> = {
  title: 'State',
  cell: ({ stopped }) =>
    stopped !== null && html`<span class="stop"><${State} tone="bad">${STOPS[stopped]}<//></span>`,
};

const COLUMNS: readonly Column<Conversation>[] = [
  {
    title: 'Conversation',
    cell: ({ id }) =>
      html`<a href=${hrefOf('conversations', {}, id)}><code class="id">${shortId(id)}</code></a>`,
    isHead: true,
  },
  { title: 'Last request', cell: ({ last_at: at }) => html`<${Time} at=${at} />`, isLesser: true },
  {
    title: 'Account',
    cell: ({ account }) => account ?? html`<${Unknown} word="removed account" />`,
    isName: true,
  },
  { title: 'Label', cell: ({ label }) => label ?? '', isName: true, isMinor: true },
  { title: 'Program', cell: ({ client }) => client ?? html`<${Unknown} />`, isName: true, isMinor: true },
  { title: 'Requests', cell: ({ requests }) => format.count(requests), isNumber: true, isMinor: true },
  { title: 'Sub-agents', cell: ({ subagents }) => format.count(subagents), isNumber: true, isExtra: true },
];
