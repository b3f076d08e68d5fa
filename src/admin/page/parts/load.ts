// Data of the API in a component: what is shown while it loads, and what to do if it fails.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { html, type Children } from '../html.ts';
import type { VNode } from 'preact';

export interface Loaded<Value> {
  /** The last one that arrived. */
  value: Value | undefined;
  error: Error | undefined;
  isLoading: boolean;
  /** The value belongs to inputs that were chosen before. */
  isStale: boolean;
  reload: () => void;
}

interface State<Value> {
  value: Value | undefined;
  error: Error | undefined;
  isLoading: boolean;
  /** The inputs to which the value or the error belongs. */
  of: string | undefined;
}

/**
 * Loads again if a member of `inputs` changes, and every `everyMs` while the page is visible. After a failure, a value of other inputs
 * is dropped.
 */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  everyMs?: number,
): Loaded<Value> {
  const [state, setState] = useState<State<Value>>({
    value: undefined,
    error: undefined,
    isLoading: true,
    of: undefined,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const of = JSON.stringify(inputs);

  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value, error: undefined, isLoading: false, of });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setState((before) => ({
          value: before.of === of ? before.value : undefined,
          error: error as Error,
          isLoading: false,
          of,
        }));
      },
    );
    return () => abort.abort();
  }, [of, turn]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  const { value, error, isLoading } = state;
  const isOwn = state.of === of;
  return {
    value,
    error: isOwn ? error : undefined,
    isLoading,
    isStale: !isOwn && value !== undefined,
    reload,
  };
}

/** Draws `children` once there is a value. A value that does not belong to the inputs is dimmed until the next one is there. */
export function Await<Value>({
  of,
  wayOut,
  children,
}: {
  of: Loaded<Value>;
  /** Beside another try, such as to the list without its filter. */
  wayOut?: Children;
  children: (value: Value) => Children;
}): VNode {
  const { value, error, isStale, reload } = of;
  const isWaiting = isStale || (value === undefined && error === undefined);
  return html`
    ${error !== undefined && html`<${Failure} error=${error} retry=${reload} wayOut=${wayOut} />`}
    <div class="loaded" aria-busy=${isWaiting ? 'true' : undefined}>
      ${isWaiting && html`<${Progress} />`}
      ${value === undefined ? isWaiting && html`<p class="loading">Loading…</p>` : children(value)}
    </div>
  `;
}

const PATIENCE_MS = 150;

/** A line that moves at the upper edge of its place, for what takes longer than a moment. */
function Progress(): VNode {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`${isLong && html`<div class="progress" role="progressbar" aria-label="Loading"></div>`}`;
}

interface FailureProps {
  error: Error;
  retry?: () => void;
  wayOut?: Children;
}

export function Failure({ error, retry, wayOut }: FailureProps): VNode {
  const faults = error instanceof ApiError ? error.faults.slice(1) : [];
  return html`
    <div class="failure" role="alert">
      <p>${withCode(error.message)}</p>
      ${
        faults.length > 0 &&
        html`<ul>
          ${faults.map(({ path, message }) => html`<li>${path}: ${message}</li>`)}
        </ul>`
      }
      ${retry !== undefined && html`<button type="button" class="quiet" onClick=${retry}>Try again</button>`}
      ${wayOut}
    </div>
  `;
}

/** Messages name models and fields between backticks. */
function withCode(message: string): Children {
  const parts = message.split('`');
  return parts.length % 2 === 0
    ? message
    : parts.map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`));
}

/** Nothing to show, and the next step. */
export function Empty({ title, children }: { title: string; children?: Children }): VNode {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children}
  </div>`;
}
