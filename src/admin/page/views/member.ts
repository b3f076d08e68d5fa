// A member's own account: every limit with what is left of it, the key of the session, and the models that it may use.
import { get, type Member, type Model, type Page } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { amountText, PER, Share } from '../parts/limit.ts';
import { Table, type Column } from '../parts/table.ts';
import { Code, Facts, Time } from '../parts/text.ts';
import type { VNode } from 'preact';

const EVERY_MS = 15_000;

export function MemberView(): VNode {
  const member = useLoaded((signal) => get<Member>('', {}, signal), [], EVERY_MS);
  const models = useLoaded((signal) => get<Page<Model>>('/models', { limit: '1000' }, signal), []);
  return html`
    <h1 tabindex="-1">My account</h1>
    <${Await} of=${member}>
      ${(me: Member) => html`
        <${Limits} of=${me} />
        <${Key} of=${me} />
      `}
    <//>
    <section>
      <h2>Models that this key may use</h2>
      <${Await} of=${models}>
        ${({ data }: Page<Model>) =>
          data.length === 0
            ? html`<${Empty} title="None is served now." />`
            : html`<ul class="names">
                ${data.map(({ name }) => html`<li><code>${name}</code></li>`)}
              </ul>`}
      <//>
    </section>
    <section>
      <h2>For programs</h2>
      <p>Limits and usage of the last day, with the key:</p>
      <${Code}
        label="Command"
        text=${`curl ${location.origin}/v1/usage -H "Authorization: Bearer $GATEWAY_KEY"`}
        isOneLine
      />
    </section>
  `;
}

type Limit = Member['limits'][number];

const amount = ({ kind }: Limit, value: number): string =>
  kind === 'cost' ? format.cost(value) : format.count(value);

const columnsOf = (grants: Member['grants']): readonly Column<Limit>[] => [
  {
    title: 'Limit',
    cell: ({ kind, per, limit, granted }) =>
      html`<span class="grants"
        ><span>${`${amountText(kind, limit + granted)} ${PER[per]}`}</span>${grants
          .filter((grant) => grant.kind === kind)
          .map(
            ({ amount: more, until }) =>
              html`<small
                >${`with ${amountText(kind, more)} extra until `}<${Time} at=${until} whole
              /></small>`,
          )}</span
      >`,
    isHead: true,
  },
  { title: 'Used', cell: (limit) => html`<${Share} limit=${limit} />`, isNumber: true },
  {
    title: 'Spent',
    cell: (limit) => `${limit.unpriced > 0 ? '≥ ' : ''}${amount(limit, limit.spent)}`,
    isNumber: true,
  },
  {
    title: 'Held by requests under way',
    cell: (limit) => amount(limit, limit.held),
    isNumber: true,
    isMinor: true,
  },
  { title: 'Left', cell: (limit) => amount(limit, limit.left), isNumber: true },
  { title: 'Begins anew', cell: ({ resets_at: at }) => html`<${Time} at=${at} />` },
];

function Limits({ of: { limits, grants, tier } }: { of: Member }): VNode {
  if (limits.length === 0) return html`<p>Tier ${tier} has no limit.</p>`;
  return html`
    <p class="quiet-text">Tier ${tier}</p>
    <${Table}
      caption="Your limits"
      asCards
      columns=${columnsOf(grants)}
      rows=${limits}
      keyOf=${({ kind, per }: Limit) => `${kind} ${per}`}
    />
  `;
}

function Key({ of: { account, key } }: { of: Member }): VNode {
  return html`<section>
    <h2>This key</h2>
    <${Facts}
      facts=${[
        { name: 'Account', value: account },
        ...(key.name === null ? [] : [{ name: 'Name', value: key.name }]),
        { name: 'Begins with', value: html`<code>${key.prefix}…</code>` },
        { name: 'May use', value: key.permissions.join(', ') },
        {
          name: 'Ends',
          value: key.expires_at === null ? 'never' : html`<${Time} at=${key.expires_at} whole />`,
        },
      ]}
    />
  </section>`;
}
