// Calls of the admin API, and what it sends, in the types of its own schemas. The session is the cookie, which scripts cannot
// read; writes carry the session's second value.
import type { z } from 'zod';
import { percentDecoded } from '../../percent.ts';
import type { LiveFrame, NewRequests } from '../../observe/live.ts';
import type { RequestUnderWay } from '../../observe/under-way.ts';
import type { RequestJson } from '../../accounts/request-json.ts';
import type { Asked as AskedSchema } from '../operations/as-key/ask.ts';
import type { Member as MemberSchema } from '../operations/as-key/member.ts';
import type * as schemas from '../schemas.ts';
import type * as views from '../operations/views/schemas.ts';

export type Account = z.output<typeof schemas.Account>;
export type RemovedAccount = z.output<typeof schemas.RemovedAccount>;
export type Tier = z.output<typeof schemas.Tier>;
export type Key = z.output<typeof schemas.Key>;
export type CreatedKey = z.output<typeof schemas.CreatedKey>;
export type WaitingSignIn = z.output<typeof schemas.WaitingSignIn>;
export type RotatedKey = z.output<typeof schemas.RotatedKey>;
export type Usage = z.output<typeof schemas.Usage>;
export type UsageSummary = z.output<typeof schemas.UsageSummary>;
export type SummaryTotals = UsageSummary['totals'];
export type SearchResult = z.output<typeof schemas.SearchResults>['data'][number];
export type Model = z.output<typeof schemas.Model>;
export type Target = z.output<typeof schemas.Target>;
export type Route = z.output<typeof schemas.Route>;
export type AccountLimits = z.output<typeof views.AccountLimits>;
export type Grant = AccountLimits['grants'][number];
export type Conversation = z.output<typeof views.Conversation>;
export type OneConversation = z.output<typeof views.OneConversation>;
export type Attention = z.output<typeof views.Attention>;
export type StoredSample = z.output<typeof views.Sample>;
export type Configuration = z.output<typeof schemas.Configuration>;
export type Connect = z.output<typeof schemas.Connect>;
export type Member = z.output<typeof MemberSchema>;
export type Asked = z.output<typeof AskedSchema>;
export type AuditRow = z.output<typeof schemas.AuditRow>;
export type Session = z.output<typeof schemas.Session>;
type Problem = z.output<typeof schemas.Problem>;
export type { LiveFrame, NewRequests, RequestJson, RequestUnderWay };
export type LiveRequest = LiveFrame['requests'][number];
export type LiveTarget = LiveFrame['targets'][number];

export interface Page<Item> {
  data: Item[];
  next: string | null;
}

const API = '/admin/api/v1';
const SESSION = '/admin/session';
const LINK = '#link=';

/** A refusal, in words that a person can act on. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly faults: readonly { path: string; message: string }[];

  constructor(status: number, { code = '', detail = '', errors = [] }: Partial<Problem>) {
    super(detail === '' ? `The gateway answered with status ${status}.` : sentence(detail));
    this.status = status;
    this.code = code;
    this.faults = errors;
  }
}

const sentence = (text: string): string => {
  const first = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};

let csrf = '';
/** What stands before the paths of a member's session, which reads its own account alone. */
let ofMember = '';
let onSessionOver: (error: ApiError) => void = () => undefined;

/** `listener` is called when an answer says that there is no session. */
export function whenSessionIsOver(listener: (error: ApiError) => void): void {
  onSessionOver = listener;
}

async function send<Value>(path: string, init: RequestInit = {}, isQuiet = false): Promise<Value> {
  const response = await ask(path, init, isQuiet);
  return (await orThrow(response.json(), init)) as Value;
}

/** The answer, if it is a good one. */
async function ask(path: string, init: RequestInit, isQuiet = false): Promise<Response> {
  const response = await orThrow(fetch(path, { ...init, credentials: 'same-origin' }), init);
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as unknown;
  // A view that was left has no reason to give: it must not replace the one that another view has shown.
  init.signal?.throwIfAborted();
  const problem = new ApiError(response.status, body as Partial<Problem>);
  if (response.status === 401 && !isQuiet) onSessionOver(problem);
  throw problem;
}

/** Throws ApiError if the gateway does not answer whole; of a request that was aborted, what the abort throws. */
async function orThrow<Value>(value: Promise<Value>, { signal }: RequestInit): Promise<Value> {
  try {
    return await value;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, { detail: 'The gateway does not answer. Check that it runs: gateway status' });
  }
}

export type Query = Readonly<Record<string, string | undefined>>;

/** Lists from which the owner chooses; a member has nothing to choose. */
const OF_OWNER: ReadonlySet<string> = new Set(['/accounts', '/keys']);

export function get<Value>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Value> {
  if (isMember() && OF_OWNER.has(path)) return Promise.resolve({ data: [], next: null } as Value);
  return send(addressOf(path, query), { signal: signal ?? null });
}

/** What `get` reads: for links. */
export function addressOf(path: string, query: Query): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  );
  const text = new URLSearchParams(given).toString();
  return API + ofMember + path + (text === '' ? '' : `?${text}`);
}

/** With the tag that `write` takes. */
export async function getWithTag<Value>(path: string): Promise<{ value: Value; tag: string }> {
  const response = await ask(addressOf(path, {}), {});
  return { value: (await response.json()) as Value, tag: response.headers.get('etag') ?? '*' };
}

export async function getText(path: string, query: Query): Promise<string> {
  const response = await fetch(addressOf(path, query), { credentials: 'same-origin' });
  if (!response.ok) throw new ApiError(response.status, {});
  return response.text();
}

/** `tag`: of the item as it must be still; else the answer is a 412. */
export function write<Value>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  tag?: string,
): Promise<Value> {
  const headers = { 'x-gateway-csrf': csrf, ...(tag !== undefined && { 'if-match': tag }) };
  return send(API + path, { method, ...withBody(body, headers) });
}

/** Sends a prompt as a key; `onEvent` gets each event of the answer as it comes. Aborting the signal ends the request. */
export async function tryKey(
  id: string,
  body: object,
  { signal, onEvent }: { signal: AbortSignal; onEvent: (name: string, value: unknown) => void },
): Promise<void> {
  const init = { method: 'POST', signal, ...withBody(body, { 'x-gateway-csrf': csrf }) };
  const { body: stream } = await ask(`${API}/keys/${encodeURIComponent(id)}/try`, init);
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    const frames = (waiting + read.value).split('\n\n');
    waiting = frames.pop() ?? '';
    for (const frame of frames) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
      if (name !== undefined && data !== undefined) onEvent(name, JSON.parse(data));
    }
  }
}

function withBody(body: object | undefined, headers: Readonly<Record<string, string>>): RequestInit {
  if (body === undefined) return { headers };
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The code of a one-time link; it leaves the address bar and the history before anything else happens. `before`: the fragment of the
 *  place that the link took, which is there again. */
export function takeLink(before = ''): string | undefined {
  if (!location.hash.startsWith(LINK)) return undefined;
  const code = percentDecoded(location.hash.slice(LINK.length));
  history.replaceState(null, '', location.pathname + (before.startsWith(LINK) ? '' : before));
  return code;
}

/** Makes a session of the link, or finds the one of the cookie. A link that is not valid does not end a session. */
export async function openSession(link: string | undefined): Promise<Session> {
  return begun(link === undefined ? await send<Session>(SESSION) : await sessionOfLink(link));
}

/** Makes a session of a member's key, which is sent once and kept nowhere. */
export async function openMember(key: string): Promise<Session> {
  return begun(await send<Session>(`${SESSION}/member`, { method: 'POST', ...withBody({ key }, {}) }, true));
}

function begun(session: Session): Session {
  csrf = session.csrf;
  ofMember = session.scope === 'own' ? '/me' : '';
  return session;
}

/** Whether the session is a member's. */
export const isMember = (): boolean => ofMember !== '';

/** Whoever has a session needs no link that is valid. */
async function sessionOfLink(link: string): Promise<Session> {
  try {
    return await send<Session>(SESSION, { method: 'POST', ...withBody({ link }, {}) }, true);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    return await send<Session>(SESSION, {}, true).catch(() => {
      throw error;
    });
  }
}

export async function closeSession(): Promise<void> {
  await send(SESSION, { method: 'DELETE', headers: { 'x-gateway-csrf': csrf } });
}

export const EVENTS = `${API}/events`;
