// Clients that ask to sign in by a code: who asks and from where, and the owner's answer.
import { useState } from 'preact/hooks';
import { get, write, type Account, type Page, type Tier, type WaitingSignIn } from '../api.ts';
import { html } from '../html.ts';
import { AskDialog, textOf } from '../parts/dialog.ts';
import { Select, Text } from '../parts/fields.ts';
import { Await, Empty, useLoaded } from '../parts/load.ts';
import { Table, type Column } from '../parts/table.ts';
import { Name, Time } from '../parts/text.ts';
import type { ViewProps } from '../route.ts';
import { Expiry, expiryOf } from './keys/choices.ts';
import type { VNode } from 'preact';

const EVERY_MS = 2000;

export function SignInsView({ place }: ViewProps): VNode {
  return html`
    <h1 tabindex="-1">Sign-ins</h1>
    <${SignIns} code=${place.query['code']} />
  `;
}

type Waiting = Page<WaitingSignIn> & { on: boolean };
type Open = { dialog: 'approve' | 'deny'; of: WaitingSignIn } | undefined;

/** `code`: of the link that was opened; it stands first, and nothing happens to it before a click. */
export function SignIns({ code }: { code: string | undefined }): VNode {
  const waiting = useLoaded((signal) => get<Waiting>('/sign-ins', {}, signal), [], EVERY_MS);
  const [open, setOpen] = useState<Open>();
  const [note, setNote] = useState('');
  const done = (text: string): void => {
    setNote(text);
    setOpen(undefined);
    waiting.reload();
  };
  const close = (): void => setOpen(undefined);
  return html`
    <p role="status" class="note">${note}</p>
    <${Await} of=${waiting}>
      ${({ data, on }: Waiting) => html`<${Codes} on=${on} codes=${linkedFirst(data, code)} open=${setOpen} />`}
    <//>
    ${open?.dialog === 'approve' && html`<${ApproveDialog} key=${open.of.code} of=${open.of} done=${done} onClose=${close} />`}
    ${open?.dialog === 'deny' && html`<${DenyDialog} key=${open.of.code} of=${open.of} done=${done} onClose=${close} />`}
  `;
}

function linkedFirst(codes: readonly WaitingSignIn[], code: string | undefined): WaitingSignIn[] {
  const isLinked = (one: WaitingSignIn): boolean => one.code === code;
  return [...codes.filter(isLinked), ...codes.filter((one) => !isLinked(one))];
}

interface CodesProps {
  on: boolean;
  codes: readonly WaitingSignIn[];
  open: (dialog: Open) => void;
}

function Codes({ on, codes, open }: CodesProps): VNode {
  if (!on)
    return html`<${Empty} title="Sign-ins are off.">
      <p>With <code>sign_in: on</code> in the configuration, Claude Code can sign in by a code.</p>
    <//>`;
  if (codes.length === 0)
    return html`<${Empty} title="No client waits.">
      <p>Sign in from Claude Code with /login: its code appears here for ten minutes.</p>
    <//>`;
  const columns: Column<WaitingSignIn>[] = [
    {
      title: 'Code',
      cell: (one) => html`<code class="nowrap">${one.code}</code>`,
      isHead: true,
    },
    { title: 'Client', cell: (one) => one.user_agent, isName: true },
    { title: 'From', cell: (one) => one.address },
    { title: 'Asked', cell: (one) => html`<${Time} at=${one.created_at} />` },
    {
      title: 'Actions',
      isTitleHidden: true,
      cell: (of) =>
        html`<span class="actions">
          <button type="button" class="link" onClick=${() => open({ dialog: 'approve', of })}>
            Approve<span class="hidden"> ${of.code}</span>
          </button>
          <button type="button" class="link danger" onClick=${() => open({ dialog: 'deny', of })}>
            Deny<span class="hidden"> ${of.code}</span>
          </button>
        </span>`,
    },
  ];
  return html`<${Table}
    caption="Codes that wait, the oldest first"
    asCards
    columns=${columns}
    rows=${codes}
    keyOf=${({ code }: WaitingSignIn) => code}
  />`;
}

interface DialogProps {
  of: WaitingSignIn;
  done: (note: string) => void;
  onClose: () => void;
}

/** Whoever started the sign-in sees the same code: a link from a stranger shows the code of the stranger's client. */
function ApproveDialog({ of, done, onClose }: DialogProps): VNode {
  const accounts = useLoaded((signal) => get<Page<Account>>('/accounts', { limit: '1000' }, signal), []);
  const tiers = useLoaded((signal) => get<Page<Tier>>('/tiers', {}, signal), []);
  const run = async (form: FormData): Promise<void> => {
    const account = textOf(form, 'account') ?? '';
    await write('POST', '/sign-ins/approve', {
      code: of.code,
      account,
      ...(textOf(form, 'tier') !== undefined && { tier: textOf(form, 'tier') }),
      expires_at: expiryOf(form),
    });
    done(`${of.code} is approved for ${account}.`);
  };
  const choices = [{ value: '', title: 'The default tier' }].concat(
    (tiers.value?.data ?? []).map(({ tier }) => ({ value: tier, title: tier })),
  );
  return html`<${AskDialog} title="Let this client in?" action="Approve" run=${run} onClose=${onClose}>
    <${Question} of=${of} />
    <p>
      Approve it only if your own client shows this code now. A code that somebody sent you is somebody else's
      client.
    </p>
    <${Text}
      label="Account"
      name="account"
      required
      suggestions=${(accounts.value?.data ?? []).map(({ account }) => account)}
      hint="Created if it is new"
    />
    <${Select} label="Tier of a new account" name="tier" value="" choices=${choices} />
    <${Expiry} label="The sign-in expires" />
  <//>`;
}

function DenyDialog({ of, done, onClose }: DialogProps): VNode {
  const run = async (): Promise<void> => {
    await write('POST', '/sign-ins/deny', { code: of.code });
    done(`${of.code} is denied.`);
  };
  return html`<${AskDialog} title="Deny this client?" action="Deny" isDangerous run=${run} onClose=${onClose}>
    <${Question} of=${of} />
    <p>The client is told that it was denied, and its code no longer works.</p>
  <//>`;
}

function Question({ of }: { of: WaitingSignIn }): VNode {
  return html`<p>
    <${Name} of=${of.user_agent} /> at ${of.address} asked for the code${' '}
    <code class="nowrap">${of.code}</code> <span class="nowrap"><${Time} at=${of.created_at} />.</span>
  </p>`;
}
