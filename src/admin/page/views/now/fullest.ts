// The accounts of which most of a limit is used, each with all of its limits.
import type { AccountLimits } from '../../api.ts';
import * as format from '../../format.ts';
import { html } from '../../html.ts';
import { amountAlone, amountText, PER, Share } from '../../parts/limit.ts';
import { Empty } from '../../parts/load.ts';
import { Table, type Column } from '../../parts/table.ts';
import { Name } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import type { VNode } from 'preact';

const MOST_SHOWN = 10;

export function Fullest({ limits }: { limits: readonly AccountLimits[] }): VNode {
  if (limits.length === 0)
    return html`<${Empty} title="There are no accounts yet.">
      <p><a href=${hrefOf('keys')}>Create a key</a>: its account comes with it.</p>
    <//>`;
  const shown = limits.filter(({ share }) => share !== null).slice(0, MOST_SHOWN);
  return html`
    ${
      shown.length === 0
        ? html`<p class="quiet-text">No account has a limit.</p>`
        : html`<${Table}
            caption="The fullest accounts"
            columns=${COLUMNS}
            rows=${shown}
            keyOf=${({ account }: AccountLimits) => account}
            asCards
          />`
    }
    <p class="below"><a href=${hrefOf('limits')}>All limits</a></p>
  `;
}

const COLUMNS: readonly Column<AccountLimits>[] = [
  {
    title: 'Account',
    cell: ({ account }) => html`<a href=${hrefOf('limits', { account })}><${Name} of=${account} /></a>`,
    isHead: true,
  },
  { title: 'Tier', cell: ({ tier }) => tier, isName: true, isMinor: true },
  {
    title: 'Limits',
    cell: ({ limits }) =>
      html`<ul class="limits">
        ${limits.map(
          (limit) =>
            html`<li>
              <${Share} limit=${limit} />
              <span
                >${`${amountAlone(limit.kind, limit.spent)} of ${amountText(limit.kind, limit.limit + limit.granted)} ${PER[limit.per]}`}</span
              >
              <span class="quiet-text"
                >begins anew${' '}
                <time datetime=${limit.resets_at} title=${format.time(limit.resets_at)}
                  >${format.ago(limit.resets_at)}</time
                ></span
              >
            </li>`,
        )}
      </ul>`,
  },
];
