// Everything below `/admin`: the API and the files of its page. The order of the checks is the order of this file: origin, operation's
// credential, path and method, input, and only then the operation. A change is recorded before it is made.
import { audited, LOCAL, noted } from '../accounts/admin.ts';
import { GatewayError } from '../errors.ts';
import { ClientGone, type HeaderList, type SiteExchange } from '../gateway/exchange.ts';
import type { Logger } from '../log.ts';
import { withoutKeys } from '../ids.ts';
import { createThrottle } from '../accounts/throttle.ts';
import { createSignIn } from '../sign-in/sign-in.ts';
import type { SignInStore } from '../store/admin/sign-ins.ts';
import { StoreError, type ItemStore } from '../store/store.ts';
import { readAssets, sendAsset, type Assets } from './assets.ts';
import { createAuthenticator, type Caller, checkOrigin, isPage, ROOT_OF_TICKETS } from './authenticate.ts';
import { createEvents, type LiveFeed } from './operations/events.ts';
import { API, fullPath } from './operations/openapi.ts';
import {
  ANSWERED,
  readInput,
  readQuery,
  type AdminParts,
  type Call,
  type Input,
  type Operation,
} from './operation.ts';
import { checkConditions, createTags, Problem, safeHeaders, sendJson, sendProblem } from './reply.ts';
import { createReports } from './reports.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { accountOperations } from './operations/accounts.ts';
import { askOperations } from './operations/as-key/ask.ts';
import { auditOperations } from './operations/audit.ts';
import { searchOperations } from './operations/search.ts';
import { gatewayOperations } from './operations/gateway.ts';
import { memberOperations } from './operations/as-key/member.ts';
import { signInOperations } from './operations/sign-ins.ts';
import { conversationOperations } from './operations/views/conversations.ts';
import { limitOperations } from './operations/views/limits.ts';
import { nowOperations } from './operations/views/now.ts';
import { documentOperation, sessionOperations, streamOperations } from './operations/session.ts';
import { trafficOperations } from './operations/traffic.ts';
import { usageOperations } from './operations/usage.ts';
import { tryOperations } from './operations/as-key/try.ts';

const owners: readonly Operation[] = [
  ...accountOperations,
  ...signInOperations,
  ...limitOperations,
  ...conversationOperations,
  ...trafficOperations,
  ...usageOperations,
  ...nowOperations,
  ...gatewayOperations,
  ...auditOperations,
  ...tryOperations,
  ...askOperations,
  ...searchOperations,
  ...streamOperations,
];

const described: readonly Operation[] = [...owners, ...memberOperations(owners), ...sessionOperations];

export const OPERATIONS: readonly Operation[] = [...described, documentOperation(described)];

/** Both are for one use. */
export interface NewLink {
  /** With the code in the fragment, which browsers do not send. */
  path: string;
  /** Leads a browser of the user to such a path. It may stand where other users see it. */
  ticketPath: string;
  expires_in_seconds: number;
}

export interface Admin {
  answer(exchange: SiteExchange): Promise<void>;
  createLink(): Promise<NewLink>;
  endStreams(): void;
}

export interface AdminOptions
  extends
    Omit<AdminParts, 'sessions' | 'authenticator' | 'events' | 'live' | 'reports' | 'signIns' | 'tagOf'>,
    Record<'live', LiveFeed> {
  store: AdminParts['store'] & SignInStore & Pick<ItemStore, 'itemKey'>;
  /** Those of all workers; undefined: this process has its own. */
  sessions?: Sessions | undefined;
}

const ROOT = '/admin';

interface SiteParts {
  parts: AdminParts;
  log: Logger;
  assets: () => Promise<Assets>;
}

export function createAdmin({ live, log, ...options }: AdminOptions): Admin {
  const sessions = options.sessions ?? createSessions(options);
  const events = createEvents({ live, clock: options.clock });
  const authenticator = createAuthenticator({ ...options, sessions });
  const signIns = { signIn: createSignIn(options), throttle: createThrottle(options.clock) };
  const reports = createReports(() => options.current.config.database);
  const tagOf = createTags(() => options.store.itemKey());
  let assets: Promise<Assets> | undefined;
  const site: SiteParts = {
    parts: { ...options, log, live, sessions, authenticator, events, reports, signIns, tagOf },
    log,
    assets: () => (assets ??= readAssets()),
  };

  return {
    async answer(exchange) {
      try {
        await answer(exchange, site);
      } catch (error) {
        if (error instanceof ClientGone) throw error;
        refuse(exchange, error, log);
      }
    },
    async createLink() {
      const { code, ticket, expiresInMs } = await sessions.createLink();
      await noted(site.parts, { actor: 'owner', address: LOCAL, action: 'createLink' }, 201);
      const expires_in_seconds = expiresInMs / 1000;
      return { path: `${ROOT}/#link=${code}`, ticketPath: ROOT_OF_TICKETS + ticket, expires_in_seconds };
    },
    endStreams: () => events.close(),
  };
}

async function answer(exchange: SiteExchange, site: SiteParts): Promise<void> {
  checkOrigin(exchange);
  const { path, query, method } = exchange;
  if (withoutKeys(query) !== query) {
    const message = 'a secret does not belong in a URL, which logs and histories hold; revoke it';
    throw new Problem(400, 'secret_in_url', message);
  }
  const ways = operationsAt(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
  const isApi = path === API || path.startsWith(`${API}/`);
  if (ways.length === 0 && !isApi) return sendPage(exchange, await site.assets());

  const found = ways.find(({ operation }) => operation.method === (method === 'HEAD' ? 'GET' : method));
  const caller =
    found?.operation.public === true
      ? undefined
      : await site.parts.authenticator.authenticate(exchange, found?.operation ?? UNKNOWN);
  if (ways.length === 0)
    throw new Problem(404, 'not_found', 'the admin API has no such path; GET /admin/api/v1/openapi.json');
  if (found === undefined || (method === 'HEAD' && found.operation.replyType !== undefined))
    throw notAllowed(method, ways);
  await perform(found.operation, { exchange, params: found.params, caller }, site);
}

/** Without an operation, whoever is known learns that there is none. */
const UNKNOWN = { scope: 'read', audience: 'both' } as const;

async function perform(
  operation: Operation,
  { exchange, params, caller }: { exchange: SiteExchange; params: object; caller: Caller | undefined },
  { parts, log }: SiteParts,
): Promise<void> {
  const query = readQuery(exchange.query);
  const body = operation.body === undefined ? undefined : await readJson(exchange, operation.largest);
  const input = readInput(operation, { params, query, body });
  const headers: HeaderList = [];
  const { tagOf } = parts;
  const check = (item: unknown): void => checkConditions(exchange.headers, tagOf(JSON.stringify(item)));
  const call: Call = { exchange, caller, headers, check, noted: {} };
  if (operation.scope === 'write' && !operation.conditional) checkConditions(exchange.headers, undefined);
  const isChange = operation.scope === 'write' && caller !== undefined;
  const value = isChange
    ? await recorded(operation, { input, call, actor: caller.id }, parts)
    : await operation.run(input, parts, call);
  if (operation.scope === 'write')
    log.info('admin', { request: exchange.requestId, operation: operation.id, actor: caller?.id });
  if (value !== ANSWERED) sendJson(exchange, { status: operation.status, value, more: headers, tagOf });
}

/** What an audit row holds of parameters and body. */
const MOST_DETAIL = 4096;

function recorded(
  operation: Operation,
  { input, call, actor }: { input: Input; call: Call; actor: string },
  parts: AdminParts,
): Promise<unknown> {
  const kept = Object.entries(input.body).filter(([name]) => !operation.unrecorded.includes(name));
  const text = JSON.stringify({ ...input.params, ...renamed({ ...input, body: Object.fromEntries(kept) }) });
  const detail = text.length > MOST_DETAIL ? JSON.stringify({ ...input.params, cut: true }) : text;
  const address = call.exchange.remoteAddress;
  return audited(
    parts,
    { actor, address, action: operation.id, detail },
    {
      change: () => operation.run(input, parts, call),
      noted: () => call.noted,
      statusOf: () => operation.status,
      failed: (error) => (error instanceof Problem ? error.status : 500),
    },
  );
}

/** A member of the body that has the name of a parameter is the new value. */
function renamed({ params, body }: Input): object {
  return Object.fromEntries(
    Object.entries(body ?? {}).map(([name, value]) => [name in params ? `new_${name}` : name, value]),
  );
}

/** Rejects with Problem 400, 413 or 415. */
async function readJson(exchange: SiteExchange, most: number): Promise<unknown> {
  const type = String(exchange.headers['content-type'] ?? '')
    .split(';')[0]
    ?.trim()
    .toLowerCase();
  // A form of another site can send any other type.
  if (type !== 'application/json')
    throw new Problem(415, 'not_json', 'send JSON, with content-type: application/json');
  const bytes = await bodyOf(exchange, most);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    throw new Problem(400, 'malformed', 'the body is not JSON in UTF-8');
  }
}

async function bodyOf(exchange: SiteExchange, most: number): Promise<Buffer> {
  try {
    return await exchange.readBody(most);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.kind !== 'too_large') throw error;
    throw new Problem(413, 'too_large', `the body is larger than ${most / 1024} KiB`);
  }
}

interface Way {
  operation: Operation;
  params: Record<string, string>;
}

const PATTERNS = OPERATIONS.map((operation) => ({
  operation,
  segments: fullPath(operation).split('/'),
}));

/** The operations of a path, whatever the method. */
function operationsAt(path: string): Way[] {
  const given = path.split('/');
  return PATTERNS.flatMap(({ operation, segments }) => {
    if (segments.length !== given.length) return [];
    const params: Record<string, string> = {};
    for (const [at, segment] of segments.entries()) {
      const value = given[at] ?? '';
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (name === undefined && segment !== value) return [];
      if (name !== undefined) params[name] = decoded(value);
    }
    return [{ operation, params }];
  });
}

/** Throws Problem 400. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Problem(400, 'invalid_request', 'the path is not percent-encoded properly');
  }
}

function notAllowed(method: string, ways: readonly Way[]): Problem {
  const methods = ways.map(({ operation }) => operation.method);
  const allow = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ');
  return new Problem(405, 'method_not_allowed', `${method.slice(0, 20)} is not for this path; use ${allow}`, {
    headers: ['allow', allow],
  });
}

function sendPage(exchange: SiteExchange, assets: Assets): void {
  const { path, method, sink } = exchange;
  if (path === ROOT && (method === 'GET' || method === 'HEAD'))
    sink.send(308, [...safeHeaders(), 'location', `${ROOT}/`], '');
  else sendAsset(exchange, assets.get(isPage(path) ? '' : path.slice(ROOT.length + 1)));
}

function refuse(exchange: SiteExchange, error: unknown, log: Logger): void {
  const { requestId: request, path, sink } = exchange;
  const problem = problemOf(error);
  const { status, code } = problem;
  if (problem === error || status < 500) log.info('refused', { request, path, status, kind: code });
  else {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('a request of the admin API failed', { request, path, detail });
  }
  if (sink.opened) sink.end();
  else sendProblem(exchange, problem);
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreError)
    return new Problem(503, 'database_away', 'the database cannot be used now', {
      headers: ['retry-after', '1'],
    });
  if (error instanceof GatewayError && error.status < 500)
    return new Problem(error.status, 'invalid_request', error.message);
  return new Problem(500, 'internal', 'the gateway failed; its log says more');
}
