// What the admin API answers with: JSON with an ETag, pages of a list, and errors as RFC 9457 describes them.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { HeaderList, SiteExchange } from '../gateway/exchange.ts';
import { withoutKeys } from '../ids.ts';

/** A refusal that the client sees. Its detail never holds a secret. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  /** A word for programs. */
  readonly code: string;
  /** Faults of the query or the body, each with its path. */
  readonly faults: readonly { path: string; message: string }[] | undefined;
  readonly headers: HeaderList;

  constructor(
    status: number,
    code: string,
    detail: string,
    more: { faults?: readonly { path: string; message: string }[]; headers?: HeaderList } = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.faults = more.faults;
    this.headers = more.headers ?? [];
  }
}

const NO_CONTENT_MAY_RUN = "default-src 'none'; frame-ancestors 'none'";

/** On every answer below `/admin`. */
export function safeHeaders(policy = NO_CONTENT_MAY_RUN): HeaderList {
  return [
    'content-security-policy',
    policy,
    'x-content-type-options',
    'nosniff',
    'x-frame-options',
    'DENY',
    'referrer-policy',
    'no-referrer',
    'cross-origin-opener-policy',
    'same-origin',
    'cross-origin-resource-policy',
    'same-origin',
    'cross-origin-embedder-policy',
    'require-corp',
    'permissions-policy',
    'camera=(), geolocation=(), microphone=()',
  ];
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function sendProblem({ sink, requestId }: SiteExchange, problem: Problem): void {
  const { status, code, message, faults } = problem;
  const body = {
    type: 'about:blank',
    title: TITLES[status] ?? 'Error',
    status,
    detail: message,
    code,
    request_id: requestId,
    ...(faults !== undefined && { errors: faults }),
  };
  const own = ['content-type', 'application/problem+json', 'cache-control', 'no-store'];
  if (status === 401 || status === 403) own.push('x-should-retry', 'false');
  sink.send(status, [...safeHeaders(), ...own, ...problem.headers], withoutKeys(JSON.stringify(body)));
}

/** Makes the tag of an answer. */
export type TagOf = (body: string | Buffer) => string;

/** Tags are keyed hashes, so that nobody can guess the content from a tag alone. The key is the database's: all workers and gateways on
 *  it give the same tags. Without the database, tags are those of this process. */
export function createTags(itemKey: () => Buffer): TagOf {
  const own = randomBytes(32);
  let shared: Buffer | undefined;
  const key = (): Buffer => {
    try {
      shared ??= createHmac('sha256', itemKey()).update('tags of the admin API').digest();
    } catch {
      return own;
    }
    return shared;
  };
  return (body) => `"${createHmac('sha256', key()).update(body).digest('base64url').slice(0, 27)}"`;
}

/** The tag of what is public. */
export function publicTag(body: Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
}

type Tags = string | string[] | undefined;

const namesOf = (header: Tags): string[] =>
  String(header ?? '')
    .split(',')
    .map((name) => name.trim());

/** Whether `If-None-Match` names the tag. */
export function isKnownTag(header: Tags, tag: string): boolean {
  return namesOf(header).some((name) => [tag, '*'].includes(name.replace(/^W\//, '')));
}

/** Evaluates `If-Match` and `If-None-Match` of a write (RFC 9110, 13.1). `tag`: of what is there now; undefined: a path without one.
 *  Throws Problem 412. */
export function checkConditions(headers: SiteExchange['headers'], tag: string | undefined): void {
  const { 'if-match': match, 'if-none-match': none } = headers;
  if (match !== undefined && tag === undefined)
    throw new Problem(412, 'no_tag', 'nothing at this path has a tag that if-match could name; leave it out');
  if (match !== undefined && !namesOf(match).some((name) => name === tag || name === '*'))
    throw new Problem(412, 'changed_meanwhile', 'it was changed since the tag of if-match; read it again');
  if (none !== undefined && tag !== undefined && isKnownTag(none, tag))
    throw new Problem(412, 'exists', 'it is as the tag of if-none-match says, so nothing was changed');
}

export function sendJson(
  { sink, headers, method }: SiteExchange,
  {
    status = 200,
    value,
    more = [],
    tagOf,
  }: { status?: number; value: unknown; more?: HeaderList; tagOf: TagOf },
): void {
  const body = JSON.stringify(value);
  // The answer to a write may hold a secret.
  if (method !== 'GET' && method !== 'HEAD')
    sink.send(status, [...jsonHeaders(more), 'cache-control', 'no-store'], body);
  else sendTagged({ sink, headers }, { status, body, tag: tagOf(body), more });
}

/** What a process of its own made. */
export interface Report {
  text: Buffer;
  /** SHA-256. */
  digest: string;
}

/** A report has a digest already: hashing tens of megabytes would delay other requests. */
export function sendReport(
  exchange: SiteExchange,
  { text, digest }: Report,
  { type, tagOf }: { type: string; tagOf: TagOf },
): void {
  sendTagged(exchange, { status: 200, body: text, tag: tagOf(digest), more: [], type });
}

function sendTagged(
  { sink, headers }: Pick<SiteExchange, 'sink' | 'headers'>,
  answer: { status: number; body: Buffer | string; tag: string; more: HeaderList; type?: string },
): void {
  const { status, body, tag, more, type } = answer;
  const own = [...jsonHeaders(more, type), 'cache-control', 'private, no-cache', 'etag', tag];
  if (isKnownTag(headers['if-none-match'], tag)) sink.send(304, own, '');
  else sink.send(status, own, body);
}

function jsonHeaders(more: HeaderList, type = 'application/json'): HeaderList {
  return [...safeHeaders(), 'content-type', type, 'vary', 'cookie, authorization', ...more];
}
