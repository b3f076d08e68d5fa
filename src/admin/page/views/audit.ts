// Who changed what, when and from where: by the page, by tokens, by commands.
import { get, type AuditRow, type Page } from '../api.ts';
import { auditName, auditOutcome, auditWords } from '../../../store/admin/audit-words.ts';
import { html } from '../html.ts';
import { Select, Text, WINDOWS } from '../parts/fields.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { Facts, Name, State, Time } from '../parts/text.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '50';
/** The audit is short: most ask for all of it. */
const ALL = [{ value: '', title: 'All' }, ...WINDOWS];

export function AuditView({ place, change }: ViewProps): VNode {
  const { since = '', actor, operation, cursor } = place.query;
  const rows = useLoaded(
    (signal) => get<Page<AuditRow>>('/audit', { since, actor, operation, cursor, limit: PAGE_ROWS }, signal),
    [since, actor, operation, cursor],
  );
  const filter = (query: Readonly<Record<string, string | undefined>>, isMore?: boolean): void =>
    change({ cursor: undefined, ...query }, isMore);
  const known = rows.value?.data ?? [];
  return html`
    <h1 tabindex="-1">Audit</h1>
    <div class="filters" role="group" aria-label="Filter">
      <${Select}
        label="Window"
        name="since"
        value=${since}
        choices=${ALL}
        onChange=${(value: string) => filter({ since: value })}
      />
      <${Text}
        label="Who"
        name="actor"
        value=${actor}
        suggestions=${distinct(known.map((row) => row.actor))}
        onChange=${(value: string, isMore: boolean) => filter({ actor: value }, isMore)}
      />
      <${Text}
        label="Operation"
        name="operation"
        value=${operation}
        suggestions=${distinct(known.map((row) => row.operation))}
        onChange=${(value: string, isMore: boolean) => filter({ operation: value }, isMore)}
      />
    </div>
    <${Await} of=${rows}>
      ${({ data, next }: Page<AuditRow>) => html`
        ${data.length === 0 ? html`<${Nothing} isEnd=${next === null} />` : html`<${Rows} rows=${data} query=${place.query} />`}
        <nav class="pages" aria-label="Pages">
          ${
            cursor !== undefined &&
            html`<a href=${hrefOf('audit', { ...place.query, cursor: undefined })}>Newest</a>`
          }
          ${next !== null && html`<a href=${hrefOf('audit', { ...place.query, cursor: next })}>Older</a>`}
        </nav>
      `}
    <//>
  `;
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort();

function Nothing({ isEnd }: { isEnd: boolean }): VNode {
  if (!isEnd) return html`<p>No change of those looked at so far fits this filter.</p>`;
  return html`<${Empty} title="No change fits this filter.">
    <p><a href=${hrefOf('audit')}>Remove the filter</a>, or choose a longer window.</p>
  <//>`;
}

function Rows({ rows, query }: { rows: readonly AuditRow[]; query: ViewProps['place']['query'] }): VNode {
  const columns: Column<AuditRow>[] = [
    {
      title: 'What',
      cell: ({ operation, detail, names }) => withWholeKeys(auditWords(operation, detail, names)),
      isHead: true,
    },
    { title: 'When', cell: ({ at }) => html`<${Time} at=${at} whole />` },
    {
      title: 'Who',
      cell: ({ actor, names }) =>
        html`<a href=${hrefOf('audit', { ...query, cursor: undefined, actor })}
          ><${Name} of=${auditName(actor, names)}
        /></a>`,
      isName: true,
    },
    { title: 'From', cell: ({ address }) => address, isName: true, isMinor: true },
    {
      title: 'Result',
      cell({ status }) {
        const { text, isGood } = auditOutcome(status);
        return isGood ? text : html`<${State} tone="bad">${text}<//>`;
      },
    },
  ];
  return html`<${Table}
    caption="Changes, the newest first"
    asCards
    columns=${columns}
    rows=${rows}
    keyOf=${({ id }: AuditRow) => String(id)}
    unfold=${(row: AuditRow) => html`<${Detail} row=${row} />`}
  />`;
}

/** `(sk-gw-Ab12…)` has a hyphen where a line could break. */
const withWholeKeys = (text: string): VNode =>
  html`<span
    >${text.split(/(\(\S+…\))/).map((part, at) => (at % 2 === 0 ? part : html`<span class="nowrap">${part}</span>`))}</span
  >`;

/** By the first letters of its id. */
const ACTORS: Readonly<Record<string, string>> = {
  adm: 'a token of the admin API',
  ses: 'a session of the dashboard',
  key: 'the key of a sign-in',
  cli: 'a user of the machine',
};

function Detail({ row: { operation, detail, address, actor } }: { row: AuditRow }): VNode {
  const kind = ACTORS[/^[a-z]+(?=[_ ])/.exec(actor)?.[0] ?? ''];
  const facts = Object.entries(detail).map(([name, value]) => ({
    name: titleOf(name),
    value: valueText(value),
  }));
  return html`<${Facts}
    facts=${[{ name: 'Operation', value: html`<code>${operation}</code>` }, { name: 'Who', value: html`<code>${actor}</code>${kind !== undefined && `, ${kind}`}` }, { name: 'From', value: address }, ...facts]}
  />`;
}

const titleOf = (name: string): string =>
  name === 'id' ? 'ID' : name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

/** What was sent, without the signs of JSON. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, inner]) => `${name.replaceAll('_', ' ')} ${valueText(inner)}`)
      .join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
