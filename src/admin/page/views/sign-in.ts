// Nobody is signed in: how to get a link, and why the last one did not work.
import { html } from '../html.ts';
import { Failure } from '../parts/load.ts';
import { Code } from '../parts/text.ts';
import type { VNode } from 'preact';

export function SignIn({ error }: { error: Error | undefined }): VNode {
  return html`
    <main class="alone">
      <h1>Open the dashboard</h1>
      ${error !== undefined && html`<${Failure} error=${error} />`}
      <p>Run this on the machine of the gateway, as the user who started it:</p>
      <${Code} label="Command" text="gateway dashboard" isOneLine />
      <p class="quiet-text">
        It prints a link that opens this page. A link works once, within 60 seconds; the session lasts until
        it is not used for 12 hours. After a restart of the gateway, open a new link.
      </p>
    </main>
  `;
}
