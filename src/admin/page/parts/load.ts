// Data of the API in a component: what is shown while it loads, and what to do if it fails.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

export interface Loaded<Value> {
  /** The last one that arrived stays while a newer one is on its way. */
  value: Value | undefined;
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** Loads again if a member of `inputs` changes, and every `everyMs` while the page is visible. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  everyMs?: number,
): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((before) => before + 1), []);

  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted)
          setState((before) => ({ ...before, error: error as Error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...inputs, turn]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  return { ...state, reload };
}

/** Draws `children` once there is a value; an error stands above an older value. */
export function Await<Value>({
  of,
  children,
}: {
  of: Loaded<Value>;
  children: (value: Value) => Children;
}): VNode {
  const { value, error, reload } = of;
  return html`
    ${error !== undefined && html`<${Failure} error=${error} retry=${reload} />`}
    ${value === undefined ? error === undefined && html`<p class="loading">Loading…</p>` : children(value)}
  `;
}

export function Failure({ error, retry }: { error: Error; retry?: () => void }): VNode {
  const faults = error instanceof ApiError ? error.faults.slice(1) : [];
  return html`
    <div class="failure" role="alert">
      <p>${error.message}</p>
      ${
        faults.length > 0 &&
        html`<ul>
          ${faults.map(({ path, message }) => html`<li>${path}: ${message}</li>`)}
        </ul>`
      }
      ${retry !== undefined && html`<button type="button" class="quiet" onClick=${retry}>Try again</button>`}
    </div>
  `;
}

/** Nothing to show, and the next step. */
export function Empty({ title, children }: { title: string; children?: Children }): VNode {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children}
  </div>`;
}
