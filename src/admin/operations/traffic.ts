// Operations for usage, requests, and the audit.
import { z } from 'zod';
import { limitOf } from '../../accounts/access.ts';
import { requestJson } from '../../accounts/json.ts';
import { summarizeUsage } from '../../accounts/usage-report.ts';
import { HOUR_MS, isoTime } from '../../clock.ts';
import { readRequestId } from '../../ids.ts';
import { parseDuration } from '../../config/scalars.ts';
import { GROUPINGS, type AuditRow as StoredAuditRow } from '../../store/store.ts';
import { ANSWERED, operation, type AdminParts, type Call, type Operation } from '../operation.ts';
import { decodeCursor, encodeCursor, Problem, sendReport } from '../reply.ts';
import { isLarge, listUsage, type ReportQuery } from '../reports.ts';
import { anyName, AuditRow, page, PAGE, Request, Usage, UsageSummary } from '../schemas.ts';
import { unknownAccount } from './accounts.ts';

/** Tolerance, because clocks of several machines differ. */
const SLACK_MS = 10 * 60_000;
const LONGEST_REQUEST_MS = 24 * HOUR_MS;
const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

export const since = z
  .string()
  .max(64)
  .optional()
  .meta({ description: 'A duration (24h, 7d) before now, or an ISO date or time; default: 24h' });

/** Throws Problem 400. */
export function readSince(text: string | undefined, now: number): number {
  if (text === undefined) return now - DEFAULT_WINDOW_MS;
  const duration = parseDuration(text);
  const at = duration === undefined ? Date.parse(text) : now - duration;
  if (!Number.isNaN(at) && at <= now && at >= 0) return at;
  throw new Problem(
    400,
    'invalid_request',
    'the query: since: give a duration such as 24h, or a past ISO date or time',
  );
}

export const trafficOperations: readonly Operation[] = [
  operation({
    id: 'readUsage',
    method: 'GET',
    path: '/usage',
    tag: 'usage',
    summary: 'Requests against the limit, tokens, cost and errors of each account in a window of time',
    query: z.strictObject({ account: anyName.optional(), since, by: z.enum(GROUPINGS).optional() }),
    reply: page(Usage),
    problems: [404],
    async run({ query: { account: name, since: text, by } }, parts, call) {
      const { store, current, clock } = parts;
      const now = clock.now();
      const since = readSince(text, now);
      const one = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && one === undefined) throw unknownAccount();
      const all = await store.listAccounts();
      const { tiers } = current.config;
      const accounts = (one === undefined ? all : [one]).map((account) => {
        const limit = limitOf(account.tier, tiers);
        return { account, limit: limit === Infinity ? null : limit };
      });
      const query = { window: { since, now, by, only: one?.id }, accounts };
      if (!isLarge(query.window, all.length)) return listUsage(query, store);
      return answerLarge({ report: 'usage', ...query }, parts, call);
    },
  }),
  operation({
    id: 'listRequests',
    method: 'GET',
    path: '/requests',
    tag: 'requests',
    summary: 'Requests that ended, the newest first; never their content',
    query: z.strictObject({
      ...PAGE,
      since,
      account: anyName.optional(),
      model: anyName.optional(),
      errors: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only those that were not fully answered' }),
    }),
    reply: page(Request),
    problems: [404],
    async run({ query }, { store, clock }) {
      const { limit, account: name, model } = query;
      const account = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && account === undefined) throw unknownAccount();
      // The cursor holds the time of the last request of the previous page, and how many of that time it listed.
      const [until, seen] =
        query.cursor === undefined ? [undefined, 0] : decodeCursor(query.cursor, [0, 0] as const);
      const found = await store.listRequests({
        since: readSince(query.since, clock.now()),
        until,
        accountId: account?.id,
        model,
        errors: query.errors === 'true',
        limit: limit + seen + 1,
      });
      const rows = found.slice(seen, seen + limit);
      const last = found.length > seen + limit ? rows.at(-1) : undefined;
      const ofLast = rows.filter(({ at }) => at === last?.at).length + (last?.at === until ? seen : 0);
      return {
        data: rows.map(requestJson),
        next: last === undefined ? null : encodeCursor([last.at, ofLast]),
      };
    },
  }),
  operation({
    id: 'readRequest',
    method: 'GET',
    path: '/requests/{id}',
    tag: 'requests',
    summary: 'One request with its attempts, by its x-request-id',
    params: z.object({ id: anyName }),
    reply: Request,
    problems: [404],
    async run({ params }, { store }) {
      const id = readRequestId(params.id);
      const from = (id?.from ?? 0) - SLACK_MS;
      const [found] =
        id === undefined
          ? []
          : await store.findRequests({
              prefix: id.prefix,
              from,
              until: id.to + LONGEST_REQUEST_MS,
              limit: 1,
            });
      if (found?.requestId !== id?.prefix || found === undefined)
        throw new Problem(404, 'unknown_request', 'no stored request has this ID');
      return requestJson(found);
    },
  }),
  operation({
    id: 'readUsageSummary',
    method: 'GET',
    path: '/usage/summary',
    tag: 'usage',
    summary: 'Totals of a window of time, of all accounts or one, and of its groups',
    query: z.strictObject({
      account: anyName.optional(),
      since,
      by: z.enum(GROUPINGS).default('hour'),
    }),
    reply: UsageSummary,
    problems: [404],
    async run({ query: { account: name, since: text, by } }, parts, call) {
      const { store, clock } = parts;
      const now = clock.now();
      const one = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && one === undefined) throw unknownAccount();
      const window = { since: readSince(text, now), now, by, only: one?.id };
      if (!isLarge(window, (await store.listAccounts()).length)) return summarizeUsage(window, store);
      return answerLarge({ report: 'summary', window }, parts, call);
    },
  }),
  operation({
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    summary: 'What was changed through this API, the newest first',
    query: z.strictObject(PAGE),
    reply: page(AuditRow),
    async run({ query: { limit, cursor } }, { store }) {
      const [before] = cursor === undefined ? [Number.MAX_SAFE_INTEGER] : decodeCursor(cursor, [0] as const);
      const rows = await store.listAudit(before, limit);
      const last = rows.at(-1);
      const next = last === undefined || rows.length < limit ? null : encodeCursor([last.id]);
      return { data: rows.map(auditJson), next };
    },
  }),
];

async function answerLarge(
  query: ReportQuery,
  { reports }: AdminParts,
  { exchange }: Call,
): Promise<typeof ANSWERED> {
  sendReport(exchange, await reports.make(query, exchange.cancellation));
  return ANSWERED;
}

function auditJson({ id, at, actor, address, action, detail, status }: StoredAuditRow) {
  return {
    id,
    at: isoTime(at),
    actor,
    address,
    operation: action,
    detail: JSON.parse(detail) as Record<string, unknown>,
    status,
  };
}
