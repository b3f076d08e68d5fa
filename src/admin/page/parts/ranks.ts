// Names in the order of a number, each with a bar: the model first, who serves it after it.
import { html, type Children } from '../html.ts';
import { Bar, Name } from './text.ts';
import type { VNode } from 'preact';

interface Rank {
  key: string;
  name: string;
  detail?: string | undefined;
  href: string | undefined;
  value: number;
  /** As it is shown. */
  text: Children;
}

const MOST = 10;

interface RanksProps {
  title: string;
  ranks: readonly Rank[];
  /** Where all of them are, unless they are in the table below. */
  all?: string | undefined;
  /** What is not among them, and why. */
  note?: string | undefined;
}

export function Ranks({ title, ranks, all, note }: RanksProps): VNode {
  const inOrder = ranks.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  const [first] = inOrder;
  return html`
    <figure class="chart">
      <figcaption><span class="chart-title">${title}</span></figcaption>
      ${
        first === undefined
          ? html`<p class="note">None.</p>`
          : html`<ol class="ranks" aria-label=${title}>
              ${inOrder.slice(0, MOST).map(
                (rank) =>
                  html`<li key=${rank.key}>
                    <span class="rank-name">
                      ${rank.href === undefined ? html`<${Name} of=${rank.name} />` : html`<a href=${rank.href}><${Name} of=${rank.name} /></a>`}
                      ${rank.detail !== undefined && html`<small title=${rank.detail}>${rank.detail}</small>`}
                    </span>
                    <${Bar} part=${rank.value} whole=${first.value} />
                    <span class="rank-value">${rank.text}</span>
                  </li>`,
              )}
            </ol>`
      }
      ${inOrder.length > MOST && html`<${More} count=${inOrder.length - MOST} all=${all} />`}
      ${note !== undefined && html`<p class="quiet-text">${note}</p>`}
    </figure>
  `;
}

function More({ count, all }: { count: number; all: string | undefined }): VNode {
  return html`<p class="quiet-text">
    ${all === undefined ? `And ${count} more, in the table.` : html`<a href=${all}>And ${count} more</a>`}
  </p>`;
}
