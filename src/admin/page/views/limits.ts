// Limits of accounts: what is spent, held and left of each, when it begins anew, and grants, which raise them until a time.
import { useState } from 'preact/hooks';
import { get, write, type AccountLimits, type Grant, type Page } from '../api.ts';
import * as format from '../format.ts';
import { html } from '../html.ts';
import { AskDialog, textOf } from '../parts/dialog.ts';
import { Select, Text } from '../parts/fields.ts';
import { amountAlone, amountText, PER, Share, shareOf } from '../parts/limit.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { Name, Time } from '../parts/text.ts';
import { hrefOf, type ViewProps } from '../route.ts';
import type { VNode } from 'preact';

const PAGE_ROWS = '50';
const ORDERS = [
  { value: 'fullest', title: 'Fullest first' },
  { value: 'oldest', title: 'Oldest account first' },
];

type Doing = { raise: AccountLimits } | { revoke: Grant; account: string } | undefined;

export function LimitsView({ place, change }: ViewProps): VNode {
  const { account, order = 'fullest', cursor } = place.query;
  const limits = useLoaded(
    (signal) => get<Page<AccountLimits>>('/limits', { q: account, order, cursor, limit: PAGE_ROWS }, signal),
    [account, order, cursor],
  );
  const [doing, setDoing] = useState<Doing>();
  const [said, setSaid] = useState('');
  const done = (text: string): void => {
    setDoing(undefined);
    setSaid(text);
    limits.reload();
  };
  const filter = (query: Readonly<Record<string, string | undefined>>, isMore?: boolean): void =>
    change({ cursor: undefined, ...query }, isMore);
  return html`
    <h1 tabindex="-1">Limits</h1>
    <div class="filters" role="group" aria-label="Filter">
      <${Text}
        label="Account"
        name="account"
        value=${account ?? ''}
        onChange=${(value: string, isMore: boolean) => filter({ account: value }, isMore)}
      />
      <${Select}
        label="Order"
        name="order"
        value=${order}
        choices=${ORDERS}
        onChange=${(value: string) => filter({ order: value })}
      />
    </div>
    <p role="status" class="said">${said}</p>
    <${Await} of=${limits}>
      ${({ data, next }: Page<AccountLimits>) =>
        data.length === 0
          ? html`<${None} isFiltered=${account !== undefined || cursor !== undefined} />`
          : html`
              <${Table}
                caption="Limits of accounts"
                columns=${columnsOf(setDoing)}
                rows=${data.flatMap(rowsOf)}
                keyOf=${({ of, kind, limit }: Row) => `${of.account} ${kind ?? ''} ${limit?.per ?? ''}`}
                rowClass=${({ isFirst }: Row) => (isFirst ? undefined : 'goes-on')}
                asCards
              />
              <nav class="pages" aria-label="Pages">
                ${cursor !== undefined && html`<a href=${hrefOf('limits', { ...place.query, cursor: undefined })}>First page</a>`}
                ${next !== null && html`<a href=${hrefOf('limits', { ...place.query, cursor: next })}>More accounts</a>`}
              </nav>
            `}
    <//>
    ${doing !== undefined && 'raise' in doing && html`<${Raise} of=${doing.raise} done=${done} onClose=${() => setDoing(undefined)} />`}
    ${
      doing !== undefined &&
      'revoke' in doing &&
      html`<${Revoke}
        grant=${doing.revoke}
        account=${doing.account}
        done=${done}
        onClose=${() => setDoing(undefined)}
      />`
    }
  `;
}

function None({ isFiltered }: { isFiltered: boolean }): VNode {
  if (isFiltered) return html`<p>No account has this in its name.</p>`;
  return html`<${Empty} title="There are no accounts yet.">
    <p><a href=${hrefOf('keys')}>Create a key</a>: its account comes with it.</p>
  <//>`;
}

type LimitRow = AccountLimits['limits'][number];

interface Row {
  of: AccountLimits;
  /** undefined: nothing limits the account. */
  kind: LimitRow['kind'] | undefined;
  /** undefined: the tier does not limit this kind, of which the account has a grant. */
  limit: LimitRow | undefined;
  isFirst: boolean;
}

function rowsOf(of: AccountLimits): Row[] {
  const limited = of.limits.map((limit) => ({ kind: limit.kind, limit }));
  const granted = new Set(of.grants.map(({ kind }) => kind));
  const free = [...granted].filter((kind) => limited.every((row) => row.kind !== kind));
  const rows = [...limited, ...free.map((kind) => ({ kind, limit: undefined }))];
  const shown = rows.length === 0 ? [{ kind: undefined, limit: undefined }] : rows;
  return shown.map((row, at) => ({ of, ...row, isFirst: at === 0 }));
}

const amount = (of: (limit: LimitRow) => number) => ({
  cell: ({ limit }: Row) => (limit === undefined ? '' : amountAlone(limit.kind, of(limit))),
  isNumber: true,
});

function columnsOf(act: (doing: Doing) => void): readonly Column<Row>[] {
  return [
    {
      title: 'Account',
      cell: ({ of: { account }, isFirst }) =>
        isFirst
          ? html`<a href=${hrefOf('requests', { account, errors: 'true' })}><${Name} of=${account} /></a>`
          : html`<span class="again"><${Name} of=${account} /></span>`,
      isHead: true,
    },
    {
      title: 'Tier',
      cell: ({ of: { tier }, isFirst }) => (isFirst ? tier : html`<span class="again">${tier}</span>`),
      isName: true,
      isMinor: true,
    },
    {
      title: 'Limit',
      cell: ({ of, kind, limit }) => html`
        ${
          limit === undefined
            ? `no limit${kind === undefined ? '' : ` of ${kind}`}`
            : html`<span class="nowrap"
                  >${`${amountText(limit.kind, limit.limit + limit.granted)} ${PER[limit.per]}`}</span
                >${limit.count === 'fresh' && ', without cache reads'}`
        }
        <${Grants} of=${of} kind=${kind} act=${act} />
      `,
    },
    {
      title: 'Used',
      cell: ({ limit }) => limit !== undefined && html`<${Share} limit=${limit} />`,
      isNumber: true,
    },
    {
      title: 'Spent',
      cell: ({ limit }) =>
        limit === undefined
          ? ''
          : `${limit.unpriced > 0 ? '≥ ' : ''}${amountAlone(limit.kind, limit.spent)}${limit.estimated > 0 ? ' ~' : ''}`,
      isNumber: true,
      isMinor: true,
    },
    { title: 'Held', ...amount(({ held }) => held), isMinor: true },
    { title: 'Left', ...amount(({ left }) => left) },
    {
      title: 'Begins anew',
      cell: ({ limit }) => limit !== undefined && html`<${Time} at=${limit.resets_at} />`,
    },
    {
      title: 'Actions',
      isTitleHidden: true,
      cell: ({ of, isFirst, limit }) =>
        isFirst &&
        limit !== undefined &&
        html`<button type="button" class="link" onClick=${() => act({ raise: of })}>
          Raise<span class="hidden"> the limits of ${of.account}</span>
        </button>`,
    },
  ];
}

interface GrantsProps {
  of: AccountLimits;
  kind: Row['kind'];
  act: (doing: Doing) => void;
}

/** What raises the limit now. */
function Grants({ of, kind, act }: GrantsProps): VNode {
  const grants = of.grants.filter((grant) => grant.kind === kind);
  return html`${grants.map(
    (grant) =>
      html`<div class="grant">
        <span class="nowrap">+${amountText(grant.kind, grant.amount)}</span>${' '}
        <span class="nowrap"
          >until ${format.timeOfHour(grant.until)}${' '}
          <button
            type="button"
            class="link danger"
            onClick=${() => act({ revoke: grant, account: of.account })}
          >
            Revoke<span class="hidden"> ${grant.id} of ${of.account}</span>
          </button></span
        >
      </div>`,
  )}`;
}

const KINDS = { requests: 'Requests', tokens: 'Tokens', cost: 'Cost in USD' } as const;
const HOUR = 3_600_000;
const FOR = [
  { value: '1', title: 'For an hour' },
  { value: '2', title: 'For two hours' },
  { value: '8', title: 'For eight hours' },
  { value: '24', title: 'For a day' },
  { value: '168', title: 'For a week' },
  { value: '720', title: 'For 30 days' },
];

interface DialogProps {
  done: (text: string) => void;
  onClose: () => void;
}

function Raise({ of, done, onClose }: DialogProps & { of: AccountLimits }): VNode {
  // The kind of the fullest limit first, which is why it is raised.
  const fullestFirst = [...of.limits].sort((one, other) => shareOf(other) - shareOf(one));
  const kinds = [...new Set(fullestFirst.map(({ kind }) => kind))];
  const run = async (form: FormData): Promise<void> => {
    const kind = kinds.find((name) => name === textOf(form, 'kind')) ?? 'requests';
    const amount = Number((textOf(form, 'amount') ?? '').replace(',', '.'));
    if (!(amount > 0)) throw new Error('Give how much more, as a number.');
    const until = new Date(Date.now() + Number(textOf(form, 'for') ?? '1') * HOUR).toISOString();
    const path = `/limits/${encodeURIComponent(of.account)}/grants`;
    await write('POST', path, { [kind]: amount, until });
    done(`${of.account} has ${amountText(kind, amount)} more until ${format.timeOfHour(until)}.`);
  };
  return html`
    <${AskDialog} title=${`Raise the limits of ${of.account}`} action="Raise" run=${run} onClose=${onClose}>
      <p>This raises every limit of that kind at once, for all gateways on this database.</p>
      <${Select}
        label="Limits of"
        name="kind"
        value=${kinds[0]}
        choices=${kinds.map((kind) => ({ value: kind, title: KINDS[kind] }))}
      />
      <${Text} label="How much more" name="amount" required />
      <${Select} label="How long" name="for" value="2" choices=${FOR} />
    <//>
  `;
}

function Revoke({ grant, account, done, onClose }: DialogProps & { grant: Grant; account: string }): VNode {
  const run = async (): Promise<void> => {
    await write('DELETE', `/grants/${encodeURIComponent(grant.id)}`);
    done(`The grant of ${account} has ended.`);
  };
  return html`
    <${AskDialog} title="Revoke the grant?" action="Revoke" isDangerous run=${run} onClose=${onClose}>
      <p>
        ${account} has ${amountText(grant.kind, grant.amount)} more until${' '}
        <span class="nowrap">${format.timeOfHour(grant.until)}</span>. Revoking ends this at once, for all
        gateways on this database.
      </p>
    <//>
  `;
}
