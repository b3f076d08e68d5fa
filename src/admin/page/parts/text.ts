// Small pieces of text: states, times, names, text to be copied; and values with their names: figures at the head of a view,
// lists of facts, a part of a whole as a bar.
import { useRef, useState } from 'preact/hooks';
import * as format from '../format.ts';
import { html, type Children } from '../html.ts';
import { useClosedGap } from '../gap.ts';
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

const LONGEST_NAME = 16;
const TAIL = 7;

/** A name of any length on one line: cut in its middle where there is no room, whole in its title and for screen readers. */
export function Name({ of }: { of: string }): VNode {
  if (of.length <= LONGEST_NAME) return html`<span class="nowrap">${of}</span>`;
  return html`<${CutName} of=${of} />`;
}

function CutName({ of }: { of: string }): VNode {
  // Not between the two halves of one character, nor before a space.
  let at = of.length - TAIL - (/[\udc00-\udfff]/.test(of.charAt(of.length - TAIL)) ? 1 : 0);
  while (of.charAt(at) === ' ') at += 1;
  const place = useRef<HTMLSpanElement>(null);
  useClosedGap(place, at, of);
  return html`<span
    ref=${place}
    class="cut"
    title=${of}
    data-head=${of.slice(0, at)}
    data-tail=${of.slice(at)}
    ><span>${of}</span></span
  >`;
}

type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** A state by word and colour; the word alone is enough. */
export function State({ tone, children }: { tone: Tone; children: Children }): VNode {
  return html`<span class="state ${tone}">${children}</span>`;
}

export const HEALTH_TONES = { healthy: 'good', cooling: 'warn', failing: 'bad' } as const;

const COPIED_MS = 2000;

/** Copies `text`; `onCopy` is called then; `children` is what the button shows, `label` what is copied, for screen readers. `shown` is selected where there is no clipboard. */
export function CopyButton({
  text,
  label,
  children = 'Copy',
  shown,
  onCopy,
}: {
  /** Or what gives it. */
  text: string | (() => Promise<string>);
  label: string;
  children?: Children;
  onCopy?: (() => void) | undefined;
  shown?: { readonly current: HTMLElement | null };
}): VNode {
  const [copied, setCopied] = useState('');
  const button = useRef<HTMLButtonElement>(null);

  async function copy(): Promise<void> {
    try {
      // Without TLS, browsers have no clipboard for pages of other machines.
      const given = typeof text === 'string' ? text : await text();
      if (navigator.clipboard !== undefined) await navigator.clipboard.writeText(given);
      else if (!copiedBySelection(given, button.current)) throw new Error('not copied');
      setCopied('Copied');
      onCopy?.();
    } catch {
      const code = shown?.current ?? null;
      if (code !== null) getSelection()?.selectAllChildren(code);
      setCopied(code === null ? 'Not copied' : 'Press Ctrl+C');
    }
    setTimeout(() => setCopied(''), COPIED_MS);
  }

  return html`<button ref=${button} type="button" class="quiet" onClick=${() => void copy()}>
      <span aria-hidden="true">${copied === '' ? children : copied}</span>
      <span class="hidden">Copy: ${label}</span>
    </button>
    <span class="hidden" role="status">${copied}</span>`;
}

/** Beside the button, because a dialog takes the focus of everything outside of it. */
function copiedBySelection(text: string, beside: HTMLElement | null): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'hidden';
  beside?.after(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  beside?.focus();
  return isCopied;
}

interface CodeProps {
  text: string;
  label: string;
  isOneLine?: boolean;
  /** Nothing of it may be out of sight. */
  wraps?: boolean;
  /** When it was copied, by the button or by hand. */
  onCopy?: () => void;
}

/** Text with a button that copies it. */
export function Code({ text, label, isOneLine = false, wraps = false, onCopy }: CodeProps): VNode {
  const code = useRef<HTMLElement>(null);
  return html`
    <div class="code ${isOneLine ? 'one-line' : ''} ${wraps ? 'wraps' : ''}">
      <pre
        tabindex="0"
        role="group"
        aria-label=${label}
        onCopy=${onCopy}
      ><code ref=${code}>${text}</code></pre>
      <${CopyButton} text=${text} label=${label} shown=${code} onCopy=${onCopy} />
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
