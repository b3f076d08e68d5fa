// The field of the header that finds a request, a conversation, an account or a model: `/` goes to it, arrows choose, Enter opens.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, type SearchResult } from '../api.ts';
import { html } from '../html.ts';
import { hrefOf } from '../route.ts';
import { Name } from './text.ts';
import type { VNode } from 'preact';

const TYPING_MS = 150;
const LIST = 'search-results';
const idOf = (at: number): string => `${LIST}-${at}`;

const KINDS = {
  request: 'Request',
  conversation: 'Conversation',
  account: 'Account',
  model: 'Model',
} as const;

function placeOf({ kind, name }: SearchResult): string {
  if (kind === 'request') return hrefOf('requests', {}, name);
  if (kind === 'conversation') return hrefOf('conversations', {}, name);
  return hrefOf('requests', { since: '30d', [kind]: name });
}

/** Text is typed elsewhere. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'));

export function Search(): VNode {
  const input = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const { results, forget } = useResults(text);
  const [chosen, setChosen] = useState(0);
  useEffect(() => setChosen(0), [results]);
  useReach(input, box, forget);

  function close(): void {
    setText('');
    forget();
  }
  const isOpen = results !== undefined && text !== '';
  const found = results instanceof Error || results === undefined ? [] : results;
  const nothing = results instanceof Error ? results.message : 'Nothing found';
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') close();
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % found.length);
    }
    const one = found[chosen];
    if (event.key !== 'Enter' || one === undefined) return;
    event.preventDefault();
    location.hash = placeOf(one);
    close();
  };
  return html`<div class="search" role="search" aria-label="Anything by name or id" ref=${box}>
    <input
      ref=${input}
      type="search"
      role="combobox"
      aria-label="Search"
      placeholder="Find: id, account, model"
      aria-keyshortcuts="/"
      aria-autocomplete="list"
      aria-expanded=${isOpen && found.length > 0 ? 'true' : 'false'}
      aria-controls=${LIST}
      aria-activedescendant=${isOpen && found.length > 0 ? idOf(chosen) : undefined}
      autocomplete="off"
      maxlength="128"
      value=${text}
      onInput=${({ target }: Event) => setText((target as HTMLInputElement).value)}
      onKeyDown=${onKey}
    />
    <kbd aria-hidden="true">/</kbd>
    <${Found} found=${isOpen ? found : []} chosen=${chosen} close=${close} />
    <p class=${isOpen && found.length === 0 ? 'nothing' : 'hidden'} role="status">
      ${isOpen ? (found.length === 0 ? nothing : `${found.length} found`) : ''}
    </p>
  </div>`;
}

interface FoundProps {
  found: readonly SearchResult[];
  chosen: number;
  close: () => void;
}

function Found({ found, chosen, close }: FoundProps): VNode {
  return html`<div id=${LIST} role="listbox" aria-label="Found" hidden=${found.length === 0}>
    ${found.map(
      (one, at) =>
        html`<a
          id=${idOf(at)}
          role="option"
          tabindex="-1"
          aria-selected=${at === chosen ? 'true' : 'false'}
          href=${placeOf(one)}
          onClick=${close}
          ><span class="kind">${KINDS[one.kind]}</span>
          <${Name} of=${one.name} />
          ${one.account !== null && html`<span class="quiet-text">${one.account}</span>`}
          ${one.times !== undefined && html`<span class="quiet-text">stands for ${one.times} that were refused alike</span>`}</a
        >`,
    )}
  </div>`;
}

/** `/` goes to the field, and a press elsewhere closes the list. */
function useReach(
  input: { readonly current: HTMLInputElement | null },
  box: { readonly current: HTMLElement | null },
  forget: () => void,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isOther = event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target);
      if (event.key !== '/' || isOther || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    const onPointer = ({ target }: Event): void => {
      if (box.current?.contains(target as Node) !== true) forget();
    };
    addEventListener('keydown', onKey);
    addEventListener('pointerdown', onPointer);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('pointerdown', onPointer);
    };
  }, []);
}

type Results = readonly SearchResult[] | Error;

/** undefined: nothing was asked, or the answer is not there. */
function useResults(text: string): { results: Results | undefined; forget: () => void } {
  const [results, setResults] = useState<Results>();
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === '') {
      setResults(undefined);
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      get<{ data: SearchResult[] }>('/search', { q: wanted }, abort.signal).then(
        ({ data }) => {
          if (!abort.signal.aborted) setResults(data);
        },
        (error: unknown) => {
          if (!abort.signal.aborted) setResults(error as Error);
        },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return { results, forget: () => setResults(undefined) };
}
