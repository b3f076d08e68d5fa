// The requests of a window of time, one page after the other, and one of them by its id.
import { useState } from 'preact/hooks';
import { get, type Account, type Model, type Page, type RequestJson } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { useLive } from '../live.ts';
import { Check, Select, Text, WINDOWS } from '../parts/fields.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { State, Time, Unknown } from '../parts/text.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import { RequestView } from './request.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '50';

export function RequestsView(props: ViewProps): VNode {
  const { item } = props.place;
  return item === undefined ? html`<${List} ...${props} />` : html`<${RequestView} id=${item} />`;
}

function List({ place, change }: ViewProps): VNode {
  const { since = '24h', account, model, errors, cursor } = place.query;
  const requests = useLoaded(
    (signal) =>
      get<Page<RequestJson>>(
        '/requests',
        { since, account, model, errors, cursor, limit: PAGE_ROWS },
        signal,
      ),
    [since, account, model, errors, cursor],
  );
  const isFiltered = account !== undefined || model !== undefined || errors !== undefined;
  return html`
    <h1 tabindex="-1">Requests</h1>
    <${Filters} place=${place} change=${change} />
    <${Newer}
      isFirst=${cursor === undefined}
      show=${() => {
        if (cursor === undefined) requests.reload();
        else change({ cursor: undefined });
      }}
    />
    <${Await} of=${requests}>
      ${({ data, next }: Page<RequestJson>) =>
        data.length === 0 && next === null
          ? html`<${Empty}
              title=${isFiltered ? 'No request fits this filter.' : 'No requests in this window.'}
            >
              <p>
                ${
                  isFiltered
                    ? html`<a href=${hrefOf('requests', { since })}>Remove the filter</a>, or choose a longer
                        window.`
                    : html`<a href=${hrefOf('connect')}>Connect a tool</a> to send the first request.`
                }
              </p>
            <//>`
          : html`
              ${
                data.length === 0
                  ? html`<p>No request of those looked at so far fits this filter.</p>`
                  : html`<${Table}
                      caption="Requests, the newest first"
                      columns=${COLUMNS}
                      rows=${data}
                      keyOf=${(row: RequestJson, index: number) => row.id ?? String(index)}
                    />`
              }
              <nav class="pages" aria-label="Pages">
                ${
                  cursor !== undefined &&
                  html`<a href=${hrefOf('requests', { ...place.query, cursor: undefined })}>Newest</a>`
                }
                ${next !== null && html`<a href=${hrefOf('requests', { ...place.query, cursor: next })}>Older</a>`}
              </nav>
            `}
    <//>
  `;
}

function Filters({ place, change }: ViewProps): VNode {
  const { since = '24h', account = '', model = '', errors } = place.query;
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  const names = accounts.value?.data.map((row) => row.account) ?? (account === '' ? [] : [account]);
  const filter = (query: Readonly<Record<string, string | undefined>>, isMore?: boolean): void =>
    change({ cursor: undefined, ...query }, isMore);
  return html`
    <div class="filters" role="group" aria-label="Filter">
      <${Select}
        label="Window"
        name="since"
        value=${since}
        choices=${WINDOWS}
        onChange=${(value: string) => filter({ since: value })}
      />
      <${Select}
        label="Account"
        name="account"
        value=${account}
        choices=${[{ value: '', title: 'All accounts' }, ...names.map((name) => ({ value: name, title: name }))]}
        onChange=${(value: string) => filter({ account: value })}
      />
      <${Text}
        label="Model"
        name="model"
        value=${model}
        suggestions=${models.value?.data.map(({ name }) => name) ?? []}
        onChange=${(value: string, isMore: boolean) => filter({ model: value }, isMore)}
      />
      <${Check}
        label="Only errors"
        name="errors"
        checked=${errors === 'true'}
        onChange=${(checked: boolean) => filter({ errors: checked ? 'true' : undefined })}
      />
    </div>
  `;
}

function Newer({ isFirst, show }: { isFirst: boolean; show: () => void }): VNode {
  const total = useLive((state) => state.endedTotal);
  const [seen, setSeen] = useState(total);
  const more = total - seen;
  const see = (): void => {
    setSeen(total);
    show();
  };
  return html`<p class="newer">
    <button type="button" class="quiet" onClick=${see}>
      ${more > 0 ? `${format.count(more)} newer: show` : isFirst ? 'Refresh' : 'Newest'}
    </button>
  </p>`;
}

const COLUMNS: readonly Column<RequestJson>[] = [
  {
    title: 'Ended',
    cell: ({ at, id }) =>
      id === null
        ? html`<${Time} at=${at} whole />`
        : html`<a href=${hrefOf('requests', {}, id)}><${Time} at=${at} whole /></a>`,
    isHead: true,
  },
  {
    title: 'Request',
    cell: ({ id }) => (id === null ? html`<${Unknown} />` : html`<code class="id">${id}</code>`),
    isExtra: true,
  },
  {
    title: 'Account',
    cell: ({ account }) => account ?? html`<${Unknown} word="removed account" />`,
    isName: true,
    isLesser: true,
  },
  { title: 'Asked for', cell: (request) => request.model_asked ?? html`<${Unknown} />`, isName: true },
  {
    title: 'Target',
    cell: ({ provider, model }) =>
      provider === null ? html`<${Unknown} word="none" />` : `${provider}/${model ?? ''}`,
    isMinor: true,
    isName: true,
  },
  {
    title: 'Status',
    cell: ({ status, error }) =>
      html`<${State} tone=${error === null ? 'good' : 'bad'}
        >${error === null ? status : `${status} ${error}`}<//
      >`,
  },
  { title: 'Input', cell: (request) => format.count(request.input_tokens), isNumber: true, isMinor: true },
  { title: 'Output', cell: (request) => format.count(request.output_tokens), isNumber: true, isLesser: true },
  { title: 'Cost', cell: (request) => format.cost(request.cost_usd), isNumber: true, isMinor: true },
  {
    title: 'First byte',
    cell: (request) => format.duration(request.first_byte_ms),
    isNumber: true,
    isMinor: true,
  },
  { title: 'Took', cell: (request) => format.duration(request.duration_ms), isNumber: true },
];
