// Values with their names: large ones at the head of a view, lists of facts, a part of a whole as a bar.
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

/** A part of a whole as a bar beside its number. */
export function Bar({ part, whole }: { part: number; whole: number }): VNode {
  const width = whole <= 0 ? 0 : Math.min(100, (100 * part) / whole);
  return html`<span class="bar" aria-hidden="true"><span style=${{ width: `${width}%` }}></span></span>`;
}

export interface Fact {
  name: string;
  value: Children;
}

export function Facts({ facts }: { facts: readonly Fact[] }): VNode {
  return html`<dl class="facts">
    ${facts.map(
      ({ name, value }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Large numbers at the head of a view. */
export function Figures({
  label,
  figures,
}: {
  label: string;
  figures: readonly (Fact & { note?: Children })[];
}): VNode {
  return html`<dl class="figures" aria-label=${label}>
    ${figures.map(
      ({ name, value, note }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}${note !== undefined && html`<span class="note">${note}</span>`}</dd>
        </div>`,
    )}
  </dl>`;
}
