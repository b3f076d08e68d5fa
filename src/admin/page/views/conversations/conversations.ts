// Conversations of a window of time with what each one cost, and one of them by its id.
import { get, type Account, type Conversation, type Page } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { AccountFilter, Select, Text, WINDOWS } from '../../parts/fields.ts';
import { Await, Empty, useLoaded } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { State, Time, Unknown } from '../../parts/text.ts';
import { hrefOf, type ViewProps } from '../../route.ts';
import { ConversationView } from './conversation.ts';
import { shortId, STOPS } from './words.ts';
import type { VNode } from 'preact';

const MOST_ROWS = 200;

export function ConversationsView(props: ViewProps): VNode {
  const { item } = props.place;
  return item === undefined
    ? html`<${List} ...${props} />`
    : html`<${ConversationView} id=${item} key=${item} />`;
}

function List({ place, change }: ViewProps): VNode {
  const { since = '24h', account, label } = place.query;
  const found = useLoaded(
    (signal) =>
      get<Page<Conversation>>('/conversations', { since, account, label, limit: String(MOST_ROWS) }, signal),
    [since, account, label],
  );
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const names = accounts.value?.data.map((row) => row.account) ?? (account === undefined ? [] : [account]);
  return html`
    <h1 tabindex="-1">Conversations</h1>
    <div class="filters" role="group" aria-label="Filter">
      <${Select}
        label="Window"
        name="since"
        value=${since}
        choices=${WINDOWS}
        onChange=${(value: string) => change({ since: value })}
      />
      <${AccountFilter}
        value=${account ?? ''}
        names=${names}
        onChange=${(value: string) => change({ account: value })}
      />
      <${Text}
        label="Label"
        name="label"
        value=${label ?? ''}
        onChange=${(value: string, isMore: boolean) => change({ label: value }, isMore)}
      />
    </div>
    <${Await} of=${found}>
      ${({ data }: Page<Conversation>) =>
        data.length === 0
          ? html`<${Empty} title="No conversations in this window.">
              <p>Requests of an agent are one conversation by the id that it sends, or by their beginning.</p>
            <//>`
          : html`
              <${Table}
                caption="Conversations, the latest first"
                columns=${COLUMNS}
                rows=${data}
                keyOf=${({ id }: Conversation) => id}
              />
              <p class="quiet-text">
                Sums are of whole conversations, also of what was before this
                window.${data.length === MOST_ROWS && ` The last ${format.count(MOST_ROWS)} are shown; a shorter window or a filter shows others.`}
              </p>
            `}
    <//>
  `;
}

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
  { title: 'Requests', cell: ({ requests }) => format.count(requests), isNumber: true, isLesser: true },
  { title: 'Sub-agents', cell: ({ subagents }) => format.count(subagents), isNumber: true, isExtra: true },
  { title: 'Input', cell: (row) => format.short(row.input_tokens), isNumber: true, isMinor: true },
  { title: 'Output', cell: (row) => format.short(row.output_tokens), isNumber: true, isMinor: true },
  { title: 'Cost', cell: (row) => format.cost(row.cost_usd), isNumber: true },
  {
    title: 'Cache misses',
    cell: ({ misses, misses_cost_usd: cost }) =>
      misses === 0 ? '0' : `${format.count(misses)}${cost === null ? '' : ` (${format.cost(cost)})`}`,
    isNumber: true,
    isLesser: true,
  },
  {
    title: 'State',
    cell: ({ stopped }) => stopped !== null && html`<${State} tone="bad">${STOPS[stopped]}<//>`,
  },
];
