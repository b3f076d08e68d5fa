// How to get in: the owner's link, or a member's own key.
import { useRef, useState } from 'preact/hooks';
import { openMember, type Session } from '../api.ts';
import { html } from '../html.ts';
import { Failure } from '../parts/load.ts';
import { Code } from '../parts/text.ts';
import type { VNode } from 'preact';

interface SignInProps {
  error: Error | undefined;
  onOpen: (session: Session) => void;
}

export function SignIn({ error, onOpen }: SignInProps): VNode {
  return html`
    <main class="alone">
      <h1 tabindex="-1">Open the dashboard</h1>
      ${error !== undefined && html`<${Failure} error=${error} />`}
      <p>Run this on the machine of the gateway, as the user who started it:</p>
      <${Code} label="Command" text="gateway dashboard" isOneLine />
      <p class="quiet-text">
        It prints a link that opens this page. A link works once, within 60 seconds; the session lasts until
        it is not used for 12 hours. After a restart of the gateway, open a new link.
      </p>
      <${WithKey} onOpen=${onOpen} />
    </main>
  `;
}

function WithKey({ onOpen }: Pick<SignInProps, 'onOpen'>): VNode {
  const [error, setError] = useState<Error>();
  const [isRunning, setRunning] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const key = field.current?.value.trim() ?? '';
    if (field.current === null || key === '' || isRunning) return;
    // The key stays in no part of the page.
    field.current.value = '';
    setRunning(true);
    setError(undefined);
    openMember(key).then(onOpen, (failure: unknown) => {
      setRunning(false);
      setError(failure as Error);
      field.current?.focus();
    });
  }

  return html`
    <section aria-labelledby="with-key">
      <h2 id="with-key">With your own key</h2>
      <p id="hint-key">
        Shows the limits, the usage and the requests of your account. The session ends when the key does.
      </p>
      ${error !== undefined && html`<${Failure} error=${error} />`}
      <form class="filters of-a-key" onSubmit=${submit}>
        <div class="field">
          <label for="field-key">Key</label>
          <input
            ref=${field}
            id="field-key"
            type="password"
            autocomplete="off"
            spellcheck=${false}
            aria-describedby="hint-key"
            required
          />
        </div>
        <button type="submit" class="primary" aria-disabled=${isRunning}>Sign in</button>
      </form>
    </section>
  `;
}
