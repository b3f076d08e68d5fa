// A dialog of the browser's own: it keeps the focus inside, closes by Escape, and gives the focus back.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html, type Children } from '../html.ts';
import { Failure } from './load.ts';
import type { VNode } from 'preact';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: Children;
}

let dialogs = 0;

export function Dialog({ title, onClose, children }: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [id] = useState(() => `dialog-${(dialogs += 1)}`);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const from = document.activeElement;
    // Escape would close it at once, and say so later: meanwhile a key could not open it again.
    const leave = (event: Event): void => {
      event.preventDefault();
      close.current();
    };
    // Browsers let a page keep its dialog open once only; one that is still wanted opens again.
    const closed = (): void => {
      close.current();
      setTimeout(() => {
        if (element.isConnected && !element.open) element.showModal();
      });
    };
    element.addEventListener('cancel', leave);
    element.addEventListener('close', closed);
    element.showModal();
    return () => {
      element.removeEventListener('close', closed);
      element.close();
      if (from instanceof HTMLElement && from.isConnected) from.focus();
    };
  }, []);
  return html`
    <dialog ref=${dialog} aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      ${children}
    </dialog>
  `;
}

interface AskProps {
  title: string;
  /** What the button does, as a verb. */
  action: string;
  isDangerous?: boolean;
  run: (form: FormData) => Promise<void>;
  onClose: () => void;
  children: Children;
}

/** Fields or a question, a button that does it, and one that does not. */
export function AskDialog({ title, action, isDangerous = false, run, onClose, children }: AskProps): VNode {
  const [error, setError] = useState<Error>();
  const [isRunning, setRunning] = useState(false);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    if (isRunning || !(event.target instanceof HTMLFormElement)) return;
    setRunning(true);
    run(new FormData(event.target)).then(
      () => setRunning(false),
      (failure: unknown) => {
        setRunning(false);
        setError(failure as Error);
      },
    );
  }

  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form onSubmit=${submit}>
        ${children} ${error !== undefined && html`<${Failure} error=${error} />`}
        <div class="buttons">
          <button type="button" class="quiet" onClick=${onClose}>Cancel</button>
          <button type="submit" class=${isDangerous ? 'danger' : 'primary'} aria-disabled=${isRunning}>
            ${action}
          </button>
        </div>
      </form>
    <//>
  `;
}

/** What a field of the form holds, without space around it; undefined: nothing. */
export const textOf = (form: FormData, name: string): string | undefined => {
  const value = form.get(name);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
};
