// The frame of the page: who is signed in, or how to get a link; which view is shown, and the way between views.
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  closeSession,
  openSession,
  takeLink,
  whenSessionIsOver,
  type ApiError,
  type Session,
} from './api.ts';
import { html } from './html.ts';
import { useLive, useLiveStream } from './live.ts';
import { Failure } from './parts/load.ts';
import { Search } from './parts/search.ts';
import { Name } from './parts/text.ts';
import { ThemeSwitch } from './parts/theme.ts';
import { hrefOf, hrefOfView, readPlace, rememberPlace, type ViewProps } from './route.ts';
import { AuditView } from './views/audit.ts';
import { CompareView } from './views/asking/compare.ts';
import { ConnectView } from './views/connect.ts';
import { ConversationsView } from './views/conversations/conversations.ts';
import { KeysView } from './views/keys/keys.ts';
import { LimitsView } from './views/limits.ts';
import { MemberView } from './views/member.ts';
import { ModelsView } from './views/models.ts';
import { NowView } from './views/now/now.ts';
import { RequestsView } from './views/requests/list.ts';
import { SignInsView } from './views/sign-ins.ts';
import { SignIn } from './views/sign-in.ts';
import { TryView } from './views/asking/try.ts';
import { UsageView } from './views/usage.ts';
import type { VNode } from 'preact';

const VIEWS = [
  { view: 'now', title: 'Now', of: NowView },
  { view: 'usage', title: 'Usage', of: UsageView },
  { view: 'requests', title: 'Requests', of: RequestsView },
  { view: 'conversations', title: 'Conversations', of: ConversationsView },
  { view: 'limits', title: 'Limits', of: LimitsView },
  { view: 'keys', title: 'Keys and accounts', of: KeysView },
  { view: 'sign-ins', title: 'Sign-ins', of: SignInsView },
  { view: 'models', title: 'Models', of: ModelsView },
  { view: 'try', title: 'Try it', of: TryView },
  { view: 'compare', title: 'Compare', of: CompareView },
  { view: 'audit', title: 'Audit', of: AuditView },
  { view: 'connect', title: 'Connect', of: ConnectView },
] as const;

/** With a key in place of the owner's link. */
const MEMBER_VIEWS = [
  { view: 'account', title: 'My account', of: MemberView },
  { view: 'usage', title: 'Usage', of: UsageView },
  { view: 'conversations', title: 'Conversations', of: ConversationsView },
  { view: 'requests', title: 'Requests', of: RequestsView },
] as const;
type View = (typeof VIEWS)[number] | (typeof MEMBER_VIEWS)[number];

type SignedIn =
  { state: 'opening' } | { state: 'open'; session: Session } | { state: 'closed'; error: Error | undefined };

/** No cookie was sent: nothing went wrong. */
const isFirstVisit = (error: unknown): boolean =>
  (error as Partial<ApiError>).status === 401 && /^Send a token/.test((error as Error).message);

export function App(): VNode {
  const [session, setSession] = useState<SignedIn>({ state: 'opening' });

  useEffect(() => {
    const fail = (error: unknown): void =>
      setSession({ state: 'closed', error: isFirstVisit(error) ? undefined : (error as Error) });
    const open = (link: string | undefined): void => {
      openSession(link).then((opened) => setSession({ state: 'open', session: opened }), fail);
    };
    const onHash = ({ oldURL }: HashChangeEvent): void => {
      const link = takeLink(new URL(oldURL).hash);
      if (link !== undefined) open(link);
    };
    whenSessionIsOver(fail);
    open(takeLink());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);

  if (session.state === 'opening')
    return html`<main class="alone" aria-busy="true"><h1 class="hidden">Gateway</h1></main>`;
  if (session.state === 'closed')
    return html`<${SignIn}
      error=${session.error}
      onOpen=${(opened: Session) => setSession({ state: 'open', session: opened })}
    />`;
  // Another kind of session has other views.
  const { account } = session.session;
  return html`<${Frame}
    key=${String(account)}
    account=${account}
    onLeave=${() => setSession({ state: 'closed', error: undefined })}
  />`;
}

function usePlace(): ViewProps {
  const [place, setPlace] = useState(() => readPlace(location.hash));
  useEffect(() => {
    const onHash = (): void => setPlace(readPlace(location.hash));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  const change: ViewProps['change'] = (query, isMore = false) => {
    const { view, item, query: before } = readPlace(location.hash);
    const href = hrefOf(view, { ...before, ...query }, item);
    if (isMore) history.replaceState(null, '', href);
    else history.pushState(null, '', href);
    setPlace(readPlace(location.hash));
  };
  return { place, change };
}

/** `account`: of a member; null: the owner is signed in. */
function Frame({ account, onLeave }: { account: string | null; onLeave: () => void }): VNode {
  const { place, change } = usePlace();
  const views: readonly [View, ...View[]] = account === null ? VIEWS : MEMBER_VIEWS;
  const { view, title, of } = views.find((one) => one.view === place.view) ?? views[0];
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const page = `${view}/${place.item ?? ''}`;
  rememberPlace(place);

  useEffect(() => {
    document.title = `${title} – Gateway`;
    // After a link, the keyboard and a screen reader continue at the heading of the new view.
    if (!isFirst.current) main.current?.querySelector('h1')?.focus();
    isFirst.current = false;
    scrollTo(0, 0);
  }, [page]);

  const leave = (): void => {
    closeSession().then(onLeave, onLeave);
  };

  return html`
    <a class="skip" href="#main" onClick=${(event: Event) => skipTo(event, main.current)}
      >Skip to the content</a
    >
    <header>
      <p class="brand">Gateway</p>
      <${Views} views=${views} view=${view} title=${title} />
      ${account === null && html`<${Search} />`}
      ${account === null ? html`<${Connection} />` : html`<p class="session"><${Name} of=${account} /></p>`}
      <div class="tools">
        <${ThemeSwitch} />
        <button type="button" class="quiet" onClick=${leave}>Sign out</button>
      </div>
    </header>
    <main ref=${main} id="main">
      <${ErrorFence} key=${page}><${of} place=${place} change=${change} /><//>
    </main>
  `;
}

/** On narrow screens the views stand behind a button with the name of the current one. */
function Views({ views, view, title }: { views: readonly View[]; view: string; title: string }): VNode {
  const [isOpen, setOpen] = useState(false);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onClick = ({ target }: Event): void => {
      if (nav.current?.contains(target as Node) !== true) setOpen(false);
    };
    addEventListener('click', onClick);
    return () => removeEventListener('click', onClick);
  }, [isOpen]);
  const onKey = ({ key }: KeyboardEvent): void => {
    if (key !== 'Escape') return;
    setOpen(false);
    nav.current?.querySelector('button')?.focus();
  };
  return html`<nav ref=${nav} aria-label="Views" onKeyDown=${onKey}>
    <button
      type="button"
      class="views-button"
      aria-expanded=${isOpen}
      aria-controls="views"
      onClick=${() => setOpen(!isOpen)}
    >
      <span class="hidden">View: </span>${title}
    </button>
    <ul id="views" class=${isOpen ? 'open' : undefined}>
      ${views.map(
        (item) =>
          html`<li>
            <a
              href=${item.view === view ? hrefOf(view) : hrefOfView(item.view)}
              aria-current=${item.view === view ? 'page' : undefined}
              onClick=${() => setOpen(false)}
              >${item.title}</a
            >
          </li>`,
      )}
    </ul>
  </nav>`;
}

/** The fragment is the place in the page. */
function skipTo(event: Event, main: HTMLElement | null): void {
  event.preventDefault();
  main?.querySelector('h1')?.focus();
}

const CONNECTIONS = {
  connecting: { tone: 'plain', text: 'Connecting' },
  open: { tone: 'good', text: 'Live' },
  away: { tone: 'bad', text: 'No connection' },
} as const;

function Connection(): VNode {
  useLiveStream();
  const { tone, text } = CONNECTIONS[useLive(({ connection }) => connection)];
  return html`<p class="session state ${tone}" role="status">${text}</p>`;
}

/** A fault of one view leaves the others usable. */
function ErrorFence({ children }: { children: VNode }): VNode {
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const onError = ({ error: fault }: ErrorEvent): void => {
      if (fault instanceof Error) setError(fault);
    };
    addEventListener('error', onError);
    return () => removeEventListener('error', onError);
  }, []);
  return html`${error !== undefined && html`<${Failure} error=${error} />`}${children}`;
}
