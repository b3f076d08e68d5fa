// The page at which a client's person ends up: the owner of the gateway approves or denies; everybody else learns what to do.
import { render, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { openSession, whenSessionIsOver } from './api.ts';
import { html } from './html.ts';
import { keepFocus } from './parts/focus.ts';
import { Code } from './parts/text.ts';
import { applyTheme } from './parts/theme.ts';
import { SignIns } from './views/sign-ins.ts';

/** Of the link. Anything else than a code is not shown. */
function linkedCode(): string | undefined {
  const code = new URLSearchParams(location.search).get('user_code')?.toUpperCase();
  return code !== undefined && /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/.test(code) ? code : undefined;
}

const CODE = linkedCode();

function Device(): VNode {
  const [state, setState] = useState<'opening' | 'owner' | 'other'>('opening');
  useEffect(() => {
    const other = (): void => setState('other');
    whenSessionIsOver(other);
    openSession(undefined).then(({ scope }) => setState(scope === 'own' ? 'other' : 'owner'), other);
  }, []);
  if (state === 'opening')
    return html`<main class="alone" aria-busy="true">
      <h1 class="hidden">Sign in a client</h1>
    </main>`;
  if (state === 'other') return html`<${ForOthers} />`;
  return html`<main class="alone with-table">
    <h1 tabindex="-1">Sign in a client</h1>
    <p>Compare the code with the one that your client shows. Nothing is approved by opening this page.</p>
    <${SignIns} code=${CODE} />
  </main>`;
}

function ForOthers(): VNode {
  return html`<main class="alone">
    <h1 tabindex="-1">Sign in a client</h1>
    <p>The owner of the gateway approves this. On the machine of the gateway, as the user who started it:</p>
    <${Code} label="Command" text=${`gateway approve ${CODE ?? 'CODE'} --account NAME`} isOneLine />
    <p>Or in a browser: open the link of this command, then come back to this page.</p>
    <${Code} label="Command for the dashboard" text="gateway dashboard" isOneLine />
    <p class="quiet-text">
      Approve only a code that your own client shows. A code works for ten minutes, and once.
    </p>
  </main>`;
}

applyTheme();
keepFocus();
const root = document.querySelector('#page');
if (root !== null) render(html`<${Device} />`, root);
