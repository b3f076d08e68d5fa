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
      cell: ({ operation, detail, names }) => auditWords(operation, detail, names),
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
    { title: 'From', cell: ({ address }) => address, isName: true, isLesser: true },
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

function Detail({ row: { operation, detail, address, actor } }: { row: AuditRow }): VNode {
  const facts = Object.entries(detail).map(([name, value]) => ({
    name: name.replaceAll('_', ' '),
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }));
  return html`<${Facts}
    facts=${[{ name: 'operation', value: html`<code>${operation}</code>` }, { name: 'who', value: html`<code>${actor}</code>` }, { name: 'from', value: address }, ...facts]}
  />`;
}
