// What was used in a window of time: figures beside those of the time before, charts or names in their order, and the same numbers as a
// table and as CSV. Groups of time include hours without requests.
import {
  addressOf,
  get,
  getText,
  type Account,
  type Page,
  type Query,
  type SummaryTotals,
  type UsageSummary,
} from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Chart, wholeCount, type Line } from '../parts/chart.ts';
import { AccountFilter, Select } from '../parts/fields.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Ranks } from '../parts/ranks.ts';
import { Table, type Column } from '../parts/table.ts';
import { CopyButton, Figures, Name } from '../parts/text.ts';
import { windowOf, WindowFields } from '../parts/window.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import { groupsOf, withoutPrice, type Group } from './usage-groups.ts';
import type { VNode } from 'preact';

const GROUPINGS = [
  { value: 'hour', title: 'Hour' },
  { value: 'day', title: 'Day (UTC)' },
  { value: 'account', title: 'Account' },
  { value: 'key', title: 'Key' },
  { value: 'label', title: 'Label' },
  { value: 'model', title: 'Model' },
  { value: 'provider', title: 'Provider' },
];
const REFRESH_MS = 30_000;
/** The table that has the numbers of the charts. */
const NUMBERS = 'numbers';

export function UsageView({ place, change }: ViewProps): VNode {
  const { by = 'hour', account = '' } = place.query;
  const window = windowOf(place.query);
  const query = { ...window, by, account };
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const summary = useLoaded(
    (signal) => get<UsageSummary>('/usage/summary', query, signal),
    [window, by, account],
    REFRESH_MS,
  );
  const names = accounts.value?.data.map((row) => row.account) ?? (account === '' ? [] : [account]);
  return html`
    <h1 tabindex="-1">Usage</h1>
    <div class="filters" role="group" aria-label="What is shown">
      <${WindowFields} query=${place.query} onChange=${change} />
      <${Select}
        label="By"
        name="by"
        value=${by}
        choices=${GROUPINGS}
        onChange=${(value: string) => change({ by: value })}
      />
      <${AccountFilter}
        value=${account}
        names=${names}
        onChange=${(value: string) => change({ account: value })}
      />
    </div>
    <${Await}
      of=${summary}
      wayOut=${account !== '' && html`<a href=${hrefOf('usage', { ...place.query, account: undefined })}>All accounts</a>`}
    >
      ${(value: UsageSummary) => html`<${Summary} summary=${value} query=${query} place=${place.query} />`}
    <//>
  `;
}

/** Models and accounts of the window, the most expensive first. */
function Leaders({ query, place }: { query: Query; place: Query }): VNode {
  const load = (by: string) => (signal: AbortSignal) =>
    get<UsageSummary>('/usage/summary', { ...query, by }, signal);
  const { since, until, account } = query;
  const models = useLoaded(load('model'), [since, until, account], 2 * REFRESH_MS);
  const accounts = useLoaded(load('account'), [since, until, account], 2 * REFRESH_MS);
  return html`<div class="charts">
    <div>
      <${Await} of=${models}>
        ${(value: UsageSummary) =>
          html`<${CostRanks}
            title="Models by cost"
            groups=${groupsOf(value, place)}
            all=${hrefOf('usage', { ...place, by: 'model' })}
          />`}
      <//>
    </div>
    <div>
      <${Await} of=${accounts}>
        ${(value: UsageSummary) =>
          html`<${CostRanks}
            title="Accounts by cost"
            groups=${groupsOf(value, place)}
            all=${hrefOf('usage', { ...place, by: 'account' })}
          />`}
      <//>
    </div>
  </div>`;
}

interface CostRanksProps {
  title: string;
  groups: readonly Group[];
  all?: string;
}

function CostRanks({ title, groups, all }: CostRanksProps): VNode {
  const cost = format.costs(groups.map(({ totals }) => totals.cost_usd));
  const ranks = groups.map(({ totals, ...group }) => ({
    ...group,
    value: totals.cost_usd ?? 0,
    text: atLeast(totals, cost),
  }));
  return html`<${Ranks} title=${title} ranks=${ranks} all=${all} note=${withoutPrice(groups)} />`;
}

/** Some answers have no known price. */
function atLeast({ unpriced, cost_usd: known }: SummaryTotals, shape: typeof format.cost): string {
  const text = shape(known);
  if (unpriced === 0 || known === null) return text;
  return `≥ ${text.startsWith('<') ? shape(0) : text}`;
}

interface SummaryProps {
  summary: UsageSummary;
  /** Of the summary. */
  query: Query;
  /** Of the view, for its links. */
  place: Query;
}

function Summary({ summary, query, place }: SummaryProps): VNode {
  const { totals } = summary;
  if (totals.requests === 0) {
    return html`<${Empty} title="No requests in this window.">
      <p>
        Choose a longer window, or <a href=${hrefOf('connect')}>connect a tool</a> to send the first request.
      </p>
    <//>`;
  }
  const groups = groupsOf(summary, place);
  const isTime = summary.by === 'hour' || summary.by === 'day';
  return html`
    <${Totals} totals=${totals} before=${summary.before} />
    ${
      isTime
        ? html`<${Charts} groups=${groups} summary=${summary} /><${Leaders} query=${query} place=${place} />`
        : html`<${Names} groups=${groups} />`
    }
    <${Numbers} groups=${groups} by=${summary.by} query=${query} />
  `;
}

function Totals({ totals, before }: { totals: SummaryTotals; before: SummaryTotals }): VNode {
  const { requests, errors, unknown, unpriced } = totals;
  const compared = (pick: (totals: SummaryTotals) => number, note?: string): VNode =>
    html`<${Compared} now=${pick(totals)} before=${before.requests === 0 ? 0 : pick(before)} />${note}`;
  return html`<${Figures}
      label="Totals"
      figures=${[
        { name: 'Requests', value: format.short(requests), note: compared((of) => of.requests) },
        {
          name: 'Errors',
          value: format.short(errors),
          note: compared((of) => of.errors, `${format.share(errors, requests)} of requests`),
        },
        {
          name: 'Input tokens',
          value: format.short(totals.input_tokens),
          note: compared(
            (of) => of.input_tokens,
            `${format.share(totals.cache_read_tokens, totals.input_tokens)} from caches`,
          ),
        },
        {
          name: 'Output tokens',
          value: format.short(totals.output_tokens),
          note: compared(
            (of) => of.output_tokens,
            unknown === 0 ? '' : `unknown for ${format.count(unknown)}`,
          ),
        },
        {
          name: 'Cost',
          value: atLeast(totals, format.cost),
          note: compared(
            (of) => of.cost_usd ?? 0,
            unpriced === 0 ? '' : `no price for ${format.count(unpriced)}`,
          ),
        },
        {
          name: 'First byte, median',
          value: format.duration(totals.first_byte_ms?.p50),
          note: compared(
            (of) => of.first_byte_ms?.p50 ?? 0,
            `95% within ${format.duration(totals.first_byte_ms?.p95)}`,
          ),
        },
      ]}
    />
    ${before.requests > 0 && html`<p class="quiet-text">▲ more, ▼ less than in the same length of time before</p>`}`;
}

/** How much more or less than in the time before. */
function Compared({ now, before }: { now: number; before: number }): VNode {
  const change = format.change(now, before);
  if (change === undefined) return html``;
  return html`<span class="compared" title="against the same length of time before">
    ${change}<span class="hidden"> against the time before</span>
  </span>`;
}

/** Names in their order. */
function Names({ groups }: { groups: readonly Group[] }): VNode {
  const by = (title: string, value: (totals: SummaryTotals) => number): VNode => {
    const short = format.shorts(groups.map(({ totals }) => value(totals)));
    return html`<${Ranks}
      title=${title}
      ranks=${groups.map(({ totals, ...group }) => ({ ...group, value: value(totals), text: short(value(totals)) }))}
    />`;
  };
  return html`<div class="charts">
    ${by('Requests', ({ requests }) => requests)}
    ${by('Tokens', (totals) => totals.input_tokens + totals.output_tokens)}
    <${CostRanks} title="Cost" groups=${groups} /> ${by('Errors', ({ errors }) => errors)}
  </div>`;
}

interface ChartsProps {
  groups: readonly Group[];
  summary: UsageSummary;
}

function Charts({ groups, summary }: ChartsProps): VNode {
  const step = summary.by === 'day' ? ('day' as const) : ('hour' as const);
  const line = (label: string, colour: number, value: (totals: SummaryTotals) => number | null): Line => ({
    label,
    colour,
    values: groups.map(({ totals }) => value(totals)),
  });
  const common = {
    labels: groups.map(({ name }) => name),
    axis: { times: groups.map(({ key }) => Date.parse(key)), step },
    isRunning: Date.parse(summary.until) > Date.parse(groups.at(-1)?.key ?? '') && isNow(summary.until),
    table: NUMBERS,
  };
  return html`
    <div class="charts">
      <${Chart}
        ...${common}
        title="Requests"
        summary=${described('Requests and errors', groups, ({ requests }) => requests, format.short)}
        kind="stack"
        format=${wholeCount}
        lines=${[line('answered', 1, ({ requests, errors }) => requests - errors), line('errors', 4, ({ errors }) => errors)]}
      />
      <${Chart}
        ...${common}
        title="Tokens"
        summary=${described('Tokens by kind', groups, (totals) => totals.input_tokens + totals.output_tokens, format.short)}
        kind="stack"
        format=${wholeCount}
        lines=${[
          line('input', 1, freshInput),
          line('cache read', 2, (totals) => totals.cache_read_tokens),
          line('cache write', 5, (totals) => totals.cache_write_tokens),
          line('output', 3, (totals) => totals.output_tokens),
        ]}
      />
      <${Chart}
        ...${common}
        title="Cost"
        summary=${described('Cost', groups, (totals) => totals.cost_usd ?? 0, format.cost)}
        kind="stack"
        format=${format.price}
        lines=${[line('USD', 1, (totals) => totals.cost_usd)]}
      />
      <${Chart}
        ...${common}
        title="First byte"
        summary=${described('Time to the first byte, median and 95 percent', groups, (totals) => totals.first_byte_ms?.p50 ?? 0, format.duration)}
        kind="line"
        format=${format.duration}
        marks=${format.durationMarks}
        lines=${[
          line('95% within', 3, (totals) => totals.first_byte_ms?.p95 ?? null),
          line('median', 1, (totals) => totals.first_byte_ms?.p50 ?? null),
        ]}
      />
    </div>
  `;
}

const MINUTE_MS = 60_000;
const isNow = (until: string): boolean => Date.now() - Date.parse(until) < 5 * MINUTE_MS;

/** What a chart shows, its highest value, and where the others are. */
function described(
  what: string,
  groups: readonly Group[],
  value: (totals: SummaryTotals) => number,
  text: (value: number) => string,
): string {
  const highest = groups.reduce<Group | undefined>(
    (best, group) => (best === undefined || value(group.totals) > value(best.totals) ? group : best),
    undefined,
  );
  const most = highest === undefined ? '' : `, at most ${text(value(highest.totals))} (${highest.name})`;
  return `${what}${most}. The table “Numbers” below has every value.`;
}

const freshInput = (totals: SummaryTotals): number =>
  Math.max(0, totals.input_tokens - totals.cache_read_tokens - totals.cache_write_tokens);

const number = (
  title: string,
  cell: (totals: SummaryTotals) => string,
  rank?: 'isMinor' | 'isLesser',
): Column<Group> => ({
  title,
  cell: ({ totals }) => cell(totals),
  isNumber: true,
  ...(rank && { [rank]: true }),
});

const MOST_ROWS = 800;

function Numbers({ groups, by, query }: { groups: readonly Group[]; by: string; query: Query }): VNode {
  const used = groups.filter(({ totals }) => totals.requests > 0);
  const isTime = by === 'hour' || by === 'day';
  const rows = isTime ? [...used].reverse() : used;
  const cost = format.costs(rows.map(({ totals }) => totals.cost_usd));
  const median = format.durations(rows.map(({ totals }) => totals.first_byte_ms?.p50));
  const slow = format.durations(rows.map(({ totals }) => totals.first_byte_ms?.p95));
  const columns: Column<Group>[] = [
    {
      title: GROUPINGS.find(({ value }) => value === by)?.title ?? '',
      cell: ({ name, detail, href }) => {
        const text = isTime ? html`<span class="nowrap">${name}</span>` : html`<${Name} of=${name} />`;
        const link = href === undefined ? text : html`<a href=${href}>${text}</a>`;
        if (detail === undefined) return link;
        return html`<span class="rank-name">${link}<small title=${detail}>${detail}</small></span>`;
      },
      isHead: true,
      isName: !isTime,
    },
    number('Requests', ({ requests }) => format.count(requests)),
    number('Errors', ({ errors }) => format.count(errors), 'isLesser'),
    number('Input', (totals) => format.count(freshInput(totals)), 'isLesser'),
    number('Cache read', (totals) => format.count(totals.cache_read_tokens), 'isMinor'),
    number('Cache write', (totals) => format.count(totals.cache_write_tokens), 'isMinor'),
    number('Output', (totals) => format.count(totals.output_tokens), 'isLesser'),
    number('Cost', (totals) => atLeast(totals, cost)),
    number('First byte, median', (totals) => median(totals.first_byte_ms?.p50), 'isMinor'),
    number('95% within', (totals) => slow(totals.first_byte_ms?.p95), 'isMinor'),
  ];
  return html`
    <section>
      <div class="title">
        <h2 id=${NUMBERS}>Numbers</h2>
        <span class="actions">
          <${CopyButton}
            text=${() => getText('/usage/summary', { ...query, format: 'csv' })}
            label="these numbers as CSV"
          >
            Copy as CSV
          <//>
          <a
            class="button quiet"
            href=${addressOf('/usage', { ...query, format: 'csv' })}
            download="usage.csv"
            >Download CSV by account</a
          >
        </span>
      </div>
      <${Table}
        caption="Usage by group; tokens by kind"
        columns=${columns}
        rows=${rows.slice(0, MOST_ROWS)}
        keyOf=${({ key }: Group) => key}
      />
      ${
        rows.length > MOST_ROWS &&
        html`<p class="quiet-text">
          The first ${format.count(MOST_ROWS)} are shown; choose a shorter window or “Day”, or take the CSV.
        </p>`
      }
    </section>
  `;
}
