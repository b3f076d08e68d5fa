// Operations for browser sessions, for the live events, and for the OpenAPI document of all operations.
import { z } from 'zod';
import { noted } from '../../accounts/admin.ts';
import { cookieOf, cookieName, isBehindTls, ROOT_OF_TICKETS } from '../authenticate.ts';
import { openApiDocument } from './openapi.ts';
import { ANSWERED, operation, type AdminParts, type Call, type Operation } from '../operation.ts';
import { Problem, safeHeaders } from '../reply.ts';
import { isOtherUser } from './other-user.ts';
import type { Key } from '../../store/store.ts';
import { ClosedSession, Session, SessionRequest } from '../schemas.ts';
import type { Session as OpenSession } from '../sessions.ts';

/** The version of the API, not of the gateway. */
const API_VERSION = '1.0.0';

const sessionJson = ({ id, csrf, expiresAt }: OpenSession, member: Key | undefined) => ({
  id,
  scope: member === undefined ? ('write' as const) : ('own' as const),
  account: member?.account ?? null,
  csrf,
  expires_at: expiresAt,
});

/** The cookie has no expiry: the browser forgets it when it closes, the gateway after 12 hours without use. */
function cookieLine({ headers }: Call['exchange'], value: string, { current }: AdminParts): string {
  const isSecure = isBehindTls(headers, current.config.listen.names);
  const end = value === '' ? '; Max-Age=0' : '';
  return `${cookieName(headers)}=${value}; Path=/admin; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${end}`;
}

const MemberSessionRequest = z.strictObject({
  key: z.string().min(1).max(200).meta({ description: 'As gateway keys create shows it once' }),
});

export const sessionOperations: readonly Operation[] = [
  operation({
    id: 'openSession',
    method: 'POST',
    path: '/admin/session',
    tag: 'session',
    summary: 'Make a browser session of a one-time link; sets its cookie',
    public: true,
    body: SessionRequest,
    reply: Session,
    status: 201,
    async run({ body }, parts, { exchange, headers }) {
      const { session, cookie } = await parts.authenticator.openSession(exchange, body.link);
      const { id: actor } = session;
      await noted(parts, { actor, address: exchange.remoteAddress, action: 'openSession' }, 201);
      headers.push('set-cookie', cookieLine(exchange, cookie, parts));
      return sessionJson(session, undefined);
    },
  }),
  operation({
    id: 'openMemberSession',
    method: 'POST',
    path: '/admin/session/member',
    tag: 'session',
    summary: "Make a browser session of a key, which reads its own account alone; sets the session's cookie",
    public: true,
    body: MemberSessionRequest,
    reply: Session,
    status: 201,
    problems: [404],
    async run({ body }, parts, { exchange, headers }) {
      // A link turns the page on for the owner alone.
      if (!parts.current.config.admin)
        throw new Problem(
          404,
          'member_sign_in_off',
          'members sign in where the configuration has admin: true',
        );
      const { session, cookie, key } = await parts.authenticator.openMember(exchange, body.key);
      const detail = JSON.stringify({ key: key.id, account: key.account });
      const address = exchange.remoteAddress;
      await noted(parts, { actor: session.id, address, action: 'openMemberSession', detail }, 201);
      headers.push('set-cookie', cookieLine(exchange, cookie, parts));
      return sessionJson(session, key);
    },
  }),
  operation({
    id: 'openPage',
    method: 'GET',
    path: `${ROOT_OF_TICKETS}{ticket}`,
    tag: 'session',
    summary:
      'For the browser that gateway dashboard --open starts: to the page, with the code of a one-time link',
    public: true,
    params: z.object({ ticket: z.string().max(64) }),
    replyType: 'text/html',
    reply: z.string(),
    status: 303,
    async run({ params }, { sessions }, { exchange }) {
      // Nobody may ever look at what a browser fetches ahead; it asks again when somebody does.
      if (/prefetch/.test(String(exchange.headers['sec-purpose'] ?? '')))
        throw new Problem(503, 'not_ahead', 'this address is for one use, and not fetched ahead');
      const code = await sessions.takeTicket(params.ticket);
      // Who is another user has read the ticket in the arguments of the browser; now it is used up.
      const isForeign = code !== undefined && (await isOtherUser(exchange));
      if (isForeign) throw new Problem(403, 'other_user', 'this address is for another user of this machine');
      // The page says that the link is not valid, or goes on with its session.
      const location = `/admin/#link=${code ?? 'used'}`;
      exchange.sink.send(303, [...safeHeaders(), 'location', location, 'cache-control', 'no-store'], '');
      return ANSWERED;
    },
  }),
  operation({
    id: 'readSession',
    method: 'GET',
    path: '/admin/session',
    tag: 'session',
    summary: "The caller's session, with the value that its writes need",
    audience: 'both',
    reply: Session,
    problems: [404],
    async run(_input, _parts, { caller }) {
      if (caller?.session === undefined) throw noSession();
      return sessionJson(caller.session, caller.member);
    },
  }),
  operation({
    id: 'closeSession',
    method: 'DELETE',
    path: '/admin/session',
    tag: 'session',
    summary: "End the caller's session",
    audience: 'both',
    reply: ClosedSession,
    problems: [404],
    async run(_input, parts, { caller, exchange, headers }) {
      if (caller?.session === undefined) throw noSession();
      await parts.sessions.close(cookieOf(exchange.headers) ?? '');
      headers.push('set-cookie', cookieLine(exchange, '', parts));
      return { closed: true as const };
    },
  }),
];

const noSession = (): Problem =>
  new Problem(404, 'no_session', 'this request has a token, and no browser session');

export const streamOperations: readonly Operation[] = [
  operation({
    id: 'streamEvents',
    method: 'GET',
    path: '/events',
    tag: 'events',
    summary:
      'Server-Sent Events, twice a second at most: `now` (requests in flight, health of targets), `requests` (those that ended, 50 at most and the number of the others), `missed` (events that a slow reader did not get)',
    replyType: 'text/event-stream',
    reply: z.string(),
    async run(_, { events }, { exchange, caller }) {
      if (caller !== undefined) events.open(exchange, caller);
      return ANSWERED;
    },
  }),
];

/** Describes the other operations and itself. */
export function documentOperation(others: readonly Operation[]): Operation {
  const own: Operation = operation({
    id: 'readOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'document',
    summary: 'This document',
    reply: z.record(z.string(), z.unknown()),
    run: async () => openApiDocument([...others, own], API_VERSION),
  });
  return own;
}
