// The requests of a window of time, one page after the other, and one of them by its id.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, type Page, type Query, type RequestJson } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { useLive } from '../../live.ts';
import { Await, Empty, useLoaded } from '../../parts/load.ts';
import { Outcome, toneOf } from './outcome.ts';
import { Table, type Column } from '../../parts/table.ts';
import { Name, Time, Unknown } from '../../parts/text.ts';
import { hasEnded, windowOf } from '../../parts/window.ts';
import { hrefOf, type ViewProps } from '../../route.ts';
import { fits, filtersOf, isTail, RequestFilters } from './filters.ts';
import { RequestView } from './one.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '50';

export function RequestsView(props: ViewProps): VNode {
  const { item } = props.place;
  return item === undefined
    ? html`<${List} ...${props} />`
    : html`<${RequestView} id=${item} place=${props.place} />`;
}

function List({ place, change }: ViewProps): VNode {
  const { since = '24h', cursor } = place.query;
  const window = windowOf(place.query);
  const filters = filtersOf(place.query);
  const isFirst = cursor === undefined;
  const requests = useLoaded(
    (signal) =>
      get<Page<RequestJson>>('/requests', { ...window, ...filters, cursor, limit: PAGE_ROWS }, signal),
    [window, filters, cursor],
  );
  const isFiltered = Object.keys(filters).length > 0;
  const found = useNewRequests(filters, requests.value);
  const fresh = hasEnded(place.query) ? NOTHING_NEW : found;
  const isLive = isTail(place.query);
  const show = (): void => {
    if (isFirst) requests.reload();
    else change({ cursor: undefined });
  };
  return html`
    <h1 tabindex="-1">Requests</h1>
    <${RequestFilters} place=${place} change=${change} />
    ${isLive ? html`<${Tail} fresh=${fresh} />` : html`<${Newer} ...${{ isFirst, isFiltered, fresh, show }} />`}
    <${Await}
      of=${requests}
      wayOut=${isFiltered && html`<a href=${hrefOf('requests', { since })}>Remove the filter</a>`}
    >
      ${({ data, next }: Page<RequestJson>) => {
        const rows = isLive ? withFresh(fresh.rows, data) : data;
        if (rows.length === 0 && next === null) return html`<${None} ...${{ isFiltered, since }} />`;
        return html`
          ${
            rows.length === 0
              ? html`<p>No request of those looked at so far fits this filter.</p>`
              : html`<${Table}
                  caption="Requests, the newest first"
                  columns=${columnsFor(place.query, rows)}
                  rows=${rows}
                  keyOf=${(row: RequestJson, index: number) => row.id ?? String(index)}
                  rowClass=${(row: RequestJson) => (row.error === null ? undefined : `fault ${toneOf(row)}`)}
                  asCards
                />`
          }
          <nav class="pages" aria-label="Pages">
            ${
              !isFirst &&
              html`<a href=${hrefOf('requests', { ...place.query, cursor: undefined })}>Newest</a>`
            }
            ${
              next !== null &&
              html`<a href=${hrefOf('requests', { ...place.query, live: undefined, cursor: next })}>Older</a>`
            }
          </nav>
        `;
      }}
    <//>
  `;
}

function None({ isFiltered, since }: { isFiltered: boolean; since: string }): VNode {
  return html`<${Empty} title=${isFiltered ? 'No request fits this filter.' : 'No requests in this window.'}>
    <p>
      ${
        isFiltered
          ? html`<a href=${hrefOf('requests', { since })}>Remove the filter</a>, or choose a longer window.`
          : html`<a href=${hrefOf('connect')}>Connect a tool</a> to send the first request.`
      }
    </p>
  <//>`;
}

interface Fresh {
  /** That fit the filter, the newest first, 200 at most. */
  rows: readonly RequestJson[];
  /** That fit the filter. */
  count: number;
  /** That ended too fast to be shown; whether they fit is not known. */
  missed: number;
}

const NOTHING_NEW: Fresh = { rows: [], count: 0, missed: 0 };
const MOST_FRESH = 200;

/** What ended since the list was loaded. */
function useNewRequests(filters: Query, loaded: unknown): Fresh {
  const ended = useLive((state) => state.ended);
  const total = useLive((state) => state.endedTotal);
  const [fresh, setFresh] = useState(NOTHING_NEW);
  const seen = useRef({ first: ended[0], total });

  useEffect(() => {
    seen.current = { first: ended[0], total };
    setFresh(NOTHING_NEW);
  }, [loaded, JSON.stringify(filters)]);

  useEffect(() => {
    const { first, total: before } = seen.current;
    const known = first === undefined ? -1 : ended.indexOf(first);
    const added = known === -1 ? ended.slice(0, total - before) : ended.slice(0, known);
    seen.current = { first: ended[0], total };
    if (total <= before) return;
    const fitting = added.filter((request) => fits(request, filters));
    const missed = Math.max(0, total - before - added.length);
    if (fitting.length + missed === 0) return;
    setFresh(({ rows, count, missed: more }) => ({
      rows: [...fitting, ...rows].slice(0, MOST_FRESH),
      count: count + fitting.length,
      missed: more + missed,
    }));
  }, [ended, total]);
  return fresh;
}

/** The list may have been loaded after one of them ended. */
function withFresh(fresh: readonly RequestJson[], loaded: readonly RequestJson[]): readonly RequestJson[] {
  const ids = new Set(loaded.map(({ id }) => id));
  return [...fresh.filter(({ id }) => !ids.has(id)), ...loaded].slice(0, MOST_FRESH);
}

function Tail({ fresh: { missed } }: { fresh: Fresh }): VNode {
  return html`<p class="newer quiet-text">
    New requests appear as they end.
    ${missed > 0 && ` ${format.count(missed)} more ended too fast to be shown; a reload lists them.`}
  </p>`;
}

interface NewerProps {
  isFirst: boolean;
  isFiltered: boolean;
  fresh: Fresh;
  show: () => void;
}

function Newer({ isFirst, isFiltered, fresh: { count, missed }, show }: NewerProps): VNode {
  const more = isFiltered ? count : count + missed;
  const text =
    more > 0 ? `${format.count(more)}${isFiltered && missed > 0 ? ' or more' : ''} newer: show` : '';
  return html`<p class="newer">
    <button type="button" class="quiet" onClick=${show}>
      ${text === '' ? (isFirst ? 'Refresh' : 'Newest') : text}
    </button>
  </p>`;
}

/** A request keeps the filters, so that the way back leads to the same list. */
function columnsFor(query: Query, rows: readonly RequestJson[]): readonly Column<RequestJson>[] {
  const first: Column<RequestJson> = {
    title: 'Ended',
    cell: ({ at, id }) =>
      id === null
        ? html`<${Time} at=${at} whole />`
        : html`<a href=${hrefOf('requests', query, id)}><${Time} at=${at} whole /></a>`,
    isHead: true,
  };
  const took = format.durations(rows.map((row) => row.duration_ms));
  const figures = figuresFor(rows);
  return [
    first,
    ...COLUMNS,
    {
      title: 'Outcome',
      cell: (request) => html`<${Outcome} of=${request} isBrief isWide=${figures.length === 0} />`,
    },
    ...figures,
    { title: 'Took', cell: (row) => took(row.duration_ms), isNumber: true },
  ];
}

/** Only those that some row has: a list of failures leaves their room to the words. */
function figuresFor(rows: readonly RequestJson[]): readonly Column<RequestJson>[] {
  const figure = (
    title: string,
    of: (row: RequestJson) => number | null,
    formatOf: (values: readonly (number | null)[]) => (value: number | null) => string,
  ): Column<RequestJson>[] => {
    const values = rows.map(of);
    if (values.every((value) => value === null)) return [];
    const shown = formatOf(values);
    return [{ title, cell: (row) => shown(of(row)), isNumber: true, isMinor: true }];
  };
  return [
    ...figure(
      'Input',
      (row) => row.input_tokens,
      () => format.count,
    ),
    ...figure(
      'Output',
      (row) => row.output_tokens,
      () => format.count,
    ),
    ...figure(
      'Cost',
      (row) => row.cost_usd,
      (values) => format.costs(values, true),
    ),
    ...figure('First byte', (row) => row.first_byte_ms, format.durations),
  ];
}

const COLUMNS: readonly Column<RequestJson>[] = [
  {
    title: 'Request',
    cell: ({ id }) =>
      id === null ? html`<${Unknown} />` : html`<code class="id"><${Name} of=${id} /></code>`,
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
];
