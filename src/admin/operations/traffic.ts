// Usage, and what was changed through this API.
import { z } from 'zod';
import { limitOf } from '../../accounts/admission.ts';
import { readUsage } from '../../accounts/usage-report.ts';
import { HOUR_MS, isoTime } from '../../clock.ts';
import { parseDuration } from '../../config/scalars.ts';
import type { AuditRow as StoredAuditRow, Grouping } from '../../store/store.ts';
import { operation, type Operation } from '../operation.ts';
import { decodeCursor, encodeCursor, Problem } from '../reply.ts';
import { anyName, AuditRow, page, PAGE, Usage } from '../schemas.ts';
import { unknownAccount } from './accounts.ts';

const GROUPINGS = [
  'account',
  'key',
  'model',
  'provider',
  'hour',
  'day',
] as const satisfies readonly Grouping[];
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
    async run({ query: { account: name, since: text, by } }, { store, config, clock }) {
      const now = clock.now();
      const start = readSince(text, now);
      const one = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && one === undefined) throw unknownAccount();
      const accounts = one === undefined ? await store.listAccounts() : [one];
      const describe = await readUsage({ since: start, now, by, only: one?.id }, store);
      const { tiers } = config();
      return { data: accounts.map((account) => describe(account, limitOf(account.tier, tiers))), next: null };
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
