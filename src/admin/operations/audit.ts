// The operation for the audit: who changed what, when and from where.
import { z } from 'zod';
import { auditRowsJson } from '../../accounts/admin.ts';
import type { AdminStore, AuditRow as StoredAuditRow } from '../../store/admin/admin-records.ts';
import { operation, type Operation } from '../operation.ts';
import { AuditRow, page, PAGE } from '../schemas.ts';
import { encodeCursor, pageOfRows, type Order } from './views/cursor.ts';
import { count, decodeCursor } from './paging.ts';
import { readSince, since } from './traffic.ts';

/** Rows that one page looks at, because they have no index but their ID: SQLite reads them in some 10 ms. */
const MOST_LOOKED = 50_000;
/** Rows are in the order of time, but for clocks of several machines that differ. */
const SLACK_MS = 10 * 60_000;

const auditPlace = z.tuple([count]);
const BY_ROW: Order<Pick<StoredAuditRow, 'id'>, typeof auditPlace> = {
  list: 'audit',
  place: auditPlace,
  placeOf: (row) => [row.id],
};

const name = z.string().min(1).max(128).optional();

export const auditOperations: readonly Operation[] = [
  operation({
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    summary: 'What was changed through this API and by commands, the newest first',
    query: z.strictObject({
      ...PAGE,
      since: since.meta({ description: 'As of usage; default: all' }),
      actor: name.meta({ description: 'Exactly this one' }),
      operation: name.meta({ description: 'Only this operation' }),
    }),
    reply: page(AuditRow),
    async run({ query }, { store, clock }) {
      const { limit, cursor, actor, operation: action } = query;
      const from = query.since === undefined ? 0 : readSince(query.since, clock.now());
      const before = decodeCursor(BY_ROW, cursor)?.[0] ?? (await newestOf(store)) + 1;
      const lowest = Math.max(0, before - MOST_LOOKED);
      const found = await store.listAudit(before, limit + 1, { actor, action, since: from, from: lowest });
      const { items, next } = pageOfRows(found, limit, BY_ROW);
      const rest =
        next === null && (await goesOn(store, lowest, from)) ? encodeCursor(BY_ROW, [lowest]) : next;
      return { data: await auditRowsJson(items, store), next: rest };
    },
  }),
];

async function newestOf(store: AdminStore): Promise<number> {
  return (await store.listAudit(Number.MAX_SAFE_INTEGER, 1))[0]?.id ?? 0;
}

/** Whether rows below this ID may be of the window. */
async function goesOn(store: AdminStore, lowest: number, since: number): Promise<boolean> {
  if (lowest === 0) return false;
  const [next] = await store.listAudit(lowest, 1);
  return next !== undefined && next.at >= since - SLACK_MS;
}
