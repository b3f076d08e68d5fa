// Answers with a report that a process of its own makes.
import { ANSWERED, type AdminParts, type Call } from '../../operation.ts';
import { sendReport } from '../../reply.ts';
import type { ReportQuery } from '../../reports.ts';

export async function answerLarge(
  query: ReportQuery,
  { reports, tagOf }: AdminParts,
  { exchange, caller }: Call,
  type = 'application/json',
): Promise<typeof ANSWERED> {
  // Reports are not public, so there is a caller. A member waits in line as a token does.
  const { id, session } = caller ?? { id: exchange.remoteAddress, session: undefined };
  const member = caller?.member;
  const asker = member === undefined ? { id, session } : { id: member.id, session: undefined };
  sendReport(exchange, await reports.make(query, asker, exchange.cancellation), { type, tagOf });
  return ANSWERED;
}
