// Operations for the usage of a window of time, as JSON or CSV. A process of its own makes large reports.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { limitOf } from '../../accounts/terms.ts';
import { GROUPINGS, type Account } from '../../store/store.ts';
import { ANSWERED, operation, type AdminParts, type Call, type Operation } from '../operation.ts';
import { answerLarge } from './views/large-report.ts';
import { sendReport } from '../reply.ts';
import { FORMATS, isLarge, makeReport, type ReportQuery } from '../reports.ts';
import { anyName, page, Usage, UsageSummary } from '../schemas.ts';
import { unknownAccount } from './accounts.ts';
import { readSince, readUntil, since, until } from './traffic.ts';

const WINDOW = {
  account: anyName.optional(),
  since,
  until,
  format: z.enum(FORMATS).default('json').meta({
    description: 'csv: a row for each group of each account (`/usage`), or of all (`/usage/summary`)',
  }),
};

export const usageOperations: readonly Operation[] = [
  operation({
    id: 'readUsage',
    method: 'GET',
    path: '/usage',
    tag: 'usage',
    summary: 'Requests against the limit, tokens, cost and errors of each account in a window of time',
    query: z.strictObject({ ...WINDOW, by: z.enum(GROUPINGS).optional() }),
    reply: page(Usage),
    problems: [404],
    async run({ query }, parts, call) {
      const one = await onlyAccount(query.account, parts);
      const all = await parts.store.listAccounts();
      const { tiers } = parts.current.config;
      const accounts = (one === undefined ? all : [one]).map((account) => {
        const limit = limitOf(account.tier, tiers);
        return { account, limit: limit === Infinity ? null : limit };
      });
      const window = { ...windowOf(query, parts), by: query.by, only: one?.id };
      return answer({ report: 'usage', window, accounts, format: query.format }, parts, call);
    },
  }),
  operation({
    id: 'readUsageSummary',
    method: 'GET',
    path: '/usage/summary',
    tag: 'usage',
    summary:
      'Totals of a window of time, of all accounts or one, and of its groups; and of the time before, as long as the window',
    query: z.strictObject({ ...WINDOW, by: z.enum(GROUPINGS).default('hour') }),
    reply: UsageSummary,
    problems: [404],
    async run({ query }, parts, call) {
      const one = await onlyAccount(query.account, parts);
      const window = { ...windowOf(query, parts), by: query.by, only: one?.id };
      return answer({ report: 'summary', window, format: query.format }, parts, call);
    },
  }),
];

/** Throws Problem 404. */
async function onlyAccount(
  name: string | undefined,
  { store }: Pick<AdminParts, 'store'>,
): Promise<Account | undefined> {
  if (name === undefined) return undefined;
  const account = await store.findAccount(name);
  if (account === undefined) throw unknownAccount();
  return account;
}

/** Throws Problem 400. */
function windowOf(
  { since, until }: { since?: string | undefined; until?: string | undefined },
  { clock }: Pick<AdminParts, 'clock'>,
) {
  const now = clock.now();
  return { now, since: readSince(since, now), until: readUntil(until, now) };
}

async function answer(
  query: Extract<ReportQuery, { window: unknown }>,
  parts: AdminParts,
  call: Call,
): Promise<typeof ANSWERED> {
  const { store, tagOf } = parts;
  const type = query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json';
  const accounts = (await store.listAccounts()).length;
  if (!isLarge(query.window, accounts)) {
    const text = Buffer.from(await makeReport(query, store));
    sendReport(
      call.exchange,
      { text, digest: createHash('sha256').update(text).digest('base64') },
      { type, tagOf },
    );
    return ANSWERED;
  }
  return answerLarge(query, parts, call, type);
}
