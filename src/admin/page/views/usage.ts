// What was used in a window of time: figures, charts, and the same numbers as a table. Groups of time include hours without
// requests; other groups are ordered by their requests.
import { get, type Account, type Page, type SummaryTotals, type UsageSummary } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Chart, wholeCount, type Line } from '../parts/chart.ts';
import { Select, WINDOWS } from '../parts/fields.ts';
import { CopyButton, Figures } from '../parts/text.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { VNode } from 'preact';

const GROUPINGS = [
  { value: 'hour', title: 'Hour' },
  { value: 'day', title: 'Day (UTC)' },
  { value: 'account', title: 'Account' },
  { value: 'model', title: 'Model' },
  { value: 'provider', title: 'Provider' },
];
const REFRESH_MS = 30_000;

export function UsageView({ place, change }: ViewProps): VNode {
  const { since = '24h', by = 'hour', account = '' } = place.query;
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const summary = useLoaded(
    (signal) => get<UsageSummary>('/usage/summary', { since, by, account }, signal),
    [since, by, account],
    REFRESH_MS,
  );
  const names = accounts.value?.data.map((row) => row.account) ?? (account === '' ? [] : [account]);
  return html`
    <h1 tabindex="-1">Usage</h1>
    <div class="filters" role="group" aria-label="What is shown">
      <${Select}
        label="Window"
        name="since"
        value=${since}
        choices=${WINDOWS}
        onChange=${(value: string) => change({ since: value })}
      />
      <${Select}
        label="By"
        name="by"
        value=${by}
        choices=${GROUPINGS}
        onChange=${(value: string) => change({ by: value })}
      />
      <${Select}
        label="Account"
        name="account"
        value=${account}
        choices=${[{ value: '', title: 'All accounts' }, ...names.map((name) => ({ value: name, title: name }))]}
        onChange=${(value: string) => change({ account: value })}
      />
    </div>
    <${Await} of=${summary}>${(value: UsageSummary) => html`<${Summary} summary=${value} />`}<//>
  `;
}

function Summary({ summary }: { summary: UsageSummary }): VNode {
  const { totals } = summary;
  if (totals.requests === 0) {
    return html`<${Empty} title="No requests in this window.">
      <p>
        Choose a longer window, or <a href=${hrefOf('connect')}>connect a tool</a> to send the first request.
      </p>
    <//>`;
  }
  const groups = groupsOf(summary);
  return html`
    <${Totals} totals=${totals} />
    <${Charts} groups=${groups} />
    <${Numbers} groups=${groups} by=${summary.by} />
  `;
}

function Totals({ totals }: { totals: SummaryTotals }): VNode {
  const { requests, errors, unknown, unpriced } = totals;
  return html`<${Figures}
    label="Totals"
    figures=${[
      { name: 'Requests', value: format.short(requests) },
      { name: 'Errors', value: format.short(errors), note: format.share(errors, requests) },
      {
        name: 'Input tokens',
        value: format.short(totals.input_tokens),
        note: `${format.share(totals.cache_read_tokens, totals.input_tokens)} from caches`,
      },
      {
        name: 'Output tokens',
        value: format.short(totals.output_tokens),
        note: unknown === 0 ? undefined : `unknown for ${format.count(unknown)}`,
      },
      {
        name: 'Cost',
        value: format.cost(totals.cost_usd),
        note: unpriced === 0 ? undefined : `no price for ${format.count(unpriced)}`,
      },
      {
        name: 'First byte, median',
        value: format.duration(totals.first_byte_ms?.p50),
        note: `95 %: ${format.duration(totals.first_byte_ms?.p95)}`,
      },
    ]}
  />`;
}

function Charts({ groups }: { groups: readonly Group[] }): VNode {
  const labels = groups.map(({ label }) => label);
  const line = (label: string, colour: number, value: (totals: SummaryTotals) => number | null): Line => ({
    label,
    colour,
    values: groups.map(({ totals }) => value(totals)),
  });
  const isTime = groups.some(({ isTime }) => isTime);
  return html`
    <div class="charts">
      <${Chart}
        title="Requests"
        summary="Requests and errors; the table below has the numbers"
        labels=${labels}
        kind="stack"
        format=${wholeCount}
        lines=${[line('answered', 1, ({ requests, errors }) => requests - errors), line('errors', 4, ({ errors }) => errors)]}
      />
      <${Chart}
        title="Tokens"
        summary="Tokens by kind; the table below has the numbers"
        labels=${labels}
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
        title="Cost"
        summary="Cost; the table below has the numbers"
        labels=${labels}
        kind="stack"
        format=${format.price}
        lines=${[line('USD', 1, (totals) => totals.cost_usd)]}
      />
      <${Chart}
        title="First byte"
        summary="Time to the first byte, median and 95 percent; the table below has the numbers"
        labels=${labels}
        kind=${isTime ? 'line' : 'points'}
        format=${format.duration}
        lines=${[
          line('95 %', 3, (totals) => totals.first_byte_ms?.p95 ?? null),
          line('median', 1, (totals) => totals.first_byte_ms?.p50 ?? null),
        ]}
      />
    </div>
  `;
}

const freshInput = (totals: SummaryTotals): number =>
  Math.max(0, totals.input_tokens - totals.cache_read_tokens - totals.cache_write_tokens);

const number = (title: string, cell: (totals: SummaryTotals) => string, isMinor = false): Column<Group> => ({
  title,
  cell: ({ totals }) => cell(totals),
  isNumber: true,
  isMinor,
});

const MOST_ROWS = 800;

function Numbers({ groups, by }: { groups: readonly Group[]; by: string }): VNode {
  const used = groups.filter(({ totals }) => totals.requests > 0);
  const rows = used[0]?.isTime === true ? [...used].reverse() : used;
  const columns: Column<Group>[] = [
    {
      title: GROUPINGS.find(({ value }) => value === by)?.title ?? '',
      cell: ({ label, href, isTime }) =>
        href === undefined
          ? html`<span class=${isTime ? 'nowrap' : undefined}>${label}</span>`
          : html`<a href=${href}>${label}</a>`,
      isHead: true,
      isName: groups[0]?.isTime !== true,
    },
    number('Requests', ({ requests }) => format.count(requests)),
    number('Errors', ({ errors }) => format.count(errors)),
    number('Input', (totals) => format.count(freshInput(totals))),
    number('Cache read', (totals) => format.count(totals.cache_read_tokens), true),
    number('Cache write', (totals) => format.count(totals.cache_write_tokens), true),
    number('Output', (totals) => format.count(totals.output_tokens)),
    number('Cost', (totals) => format.cost(totals.cost_usd)),
    number('First byte p50', (totals) => format.duration(totals.first_byte_ms?.p50), true),
    number('First byte p95', (totals) => format.duration(totals.first_byte_ms?.p95), true),
  ];
  return html`
    <section>
      <div class="title">
        <h2>Numbers</h2>
        <${CopyButton} text=${csvOf(groups, by)} label="these numbers as CSV">Copy as CSV<//>
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
          The first ${format.count(MOST_ROWS)} are shown; choose a shorter window or “Day”.
        </p>`
      }
    </section>
  `;
}

/** Times as the API has them, numbers without separators; a value that a spreadsheet would take for a formula gets an apostrophe. */
function csvOf(groups: readonly Group[], by: string): string {
  const names = Object.keys(NOTHING).filter((name) => name !== 'first_byte_ms') as (keyof SummaryTotals)[];
  const rows = groups.map(({ key, label, isTime, totals }) => [
    isTime ? key : label,
    ...names.map((name) => totals[name] as number | null),
    totals.first_byte_ms?.p50,
    totals.first_byte_ms?.p95,
  ]);
  const head = [by, ...names, 'first_byte_ms_p50', 'first_byte_ms_p95'];
  return [head, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(value: string | number | null | undefined): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

interface Group {
  key: string;
  label: string;
  /** The requests of the group. */
  href: string | undefined;
  isTime: boolean;
  totals: SummaryTotals;
}

const HOUR_MS = 3_600_000;
const STEPS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

const NOTHING: SummaryTotals = {
  requests: 0,
  errors: 0,
  unknown: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: null,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cache_misses: 0,
  cache_miss_tokens: 0,
  cache_miss_cost_usd: 0,
  first_byte_ms: null,
};

function groupsOf({ by, since, until, groups }: UsageSummary): Group[] {
  if (by === 'hour' || by === 'day') return timeGroups(by, Date.parse(since), Date.parse(until), groups);
  return groups
    .map(({ group, totals }) => nameGroup(group, totals))
    .sort((a, b) => b.totals.requests - a.totals.requests);
}

function timeGroups(
  by: 'hour' | 'day',
  since: number,
  until: number,
  groups: UsageSummary['groups'],
): Group[] {
  const step = STEPS[by];
  const known = new Map(groups.map(({ group, totals }) => [Date.parse(group[by] ?? ''), totals]));
  const found: Group[] = [];
  for (let at = since - (since % step); at <= until; at += step) {
    const time = new Date(at).toISOString();
    found.push({
      key: time,
      label: by === 'hour' ? format.timeOfHour(time) : format.dayOf(time),
      href: undefined,
      isTime: true,
      totals: known.get(at) ?? NOTHING,
    });
  }
  return found;
}

/** Requests that no target answered have neither provider nor model. */
function nameGroup(group: Readonly<Record<string, string | null>>, totals: SummaryTotals): Group {
  const { account, provider, model } = group;
  const place = [provider, model].filter((name) => name !== undefined);
  const isUnanswered = place.length > 0 && provider === null;
  const label = isUnanswered ? 'no target answered' : (account ?? place.join('/'));
  const query = account !== undefined ? { account: account ?? undefined } : { model: place.join('/') };
  const hasRequests = account !== undefined || (model !== undefined && !isUnanswered);
  return {
    key: JSON.stringify(group),
    label,
    href: hasRequests ? hrefOf('requests', query) : undefined,
    isTime: false,
    totals,
  };
}
