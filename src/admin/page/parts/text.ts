// Small pieces of text: states, times, names, text to be copied; and values with their names: figures at the head of a view,
// lists of facts, a part of a whole as a bar.
import { useRef, useState } from 'preact/hooks';
import * as format from '../format.ts';
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

/** Relative, with the whole time as its title. */
export function Time({ at, whole = false }: { at: string | null; whole?: boolean }): VNode {
  if (at === null) return html`<${Unknown} />`;
  const text = whole ? format.timeShort(at) : format.ago(at);
  return html`<time datetime=${at} title=${format.time(at)}>${text}</time>`;
}

export function Unknown({ word = 'unknown' }: { word?: string }): VNode {
  return html`<span aria-hidden="true">${format.UNKNOWN}</span><span class="hidden">${word}</span>`;
}

type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** A state by word and colour; the word alone is enough. */
export function State({ tone, children }: { tone: Tone; children: Children }): VNode {
  return html`<span class="state ${tone}">${children}</span>`;
}

export const HEALTH_TONES = { healthy: 'good', cooling: 'warn', failing: 'bad' } as const;

const COPIED_MS = 2000;

/** Text with a button that copies it. */
export function Code({
  text,
  label,
  isOneLine = false,
}: {
  text: string;
  label: string;
  isOneLine?: boolean;
}): VNode {
  const code = useRef<HTMLElement>(null);
  const [copied, setCopied] = useState('');

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied('Copied');
    } catch {
      // Without TLS, browsers have no clipboard for pages of other machines.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      setCopied('Press Ctrl+C');
    }
    setTimeout(() => setCopied(''), COPIED_MS);
  }

  return html`
    <div class="code ${isOneLine ? 'one-line' : ''}">
      <pre tabindex="0" role="group" aria-label=${label}><code ref=${code}>${text}</code></pre>
      <button type="button" class="quiet" onClick=${() => void copy()}>
        <span aria-hidden="true">${copied === '' ? 'Copy' : copied}</span>
        <span class="hidden">Copy: ${label}</span>
      </button>
      <span class="hidden" role="status">${copied}</span>
    </div>
  `;
}

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
