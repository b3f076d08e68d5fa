// Operations for conversations: what each one cost, and which part of it; and to let one go on that a brake stopped.
import { z } from 'zod';
import {
  findConversations,
  type FoundConversation,
  ownerOf,
  readConversation,
} from '../../../accounts/conversation-report.ts';
import { nanosOf } from '../../../tier.ts';
import { operation, type AdminParts, type Call, type Operation } from '../../operation.ts';
import { Problem } from '../../reply.ts';
import { MOST_READ } from '../../reports.ts';
import { anyName, page, PAGE } from '../../schemas.ts';
import { unknownAccount } from '../accounts.ts';
import { decodeCursor, count, id as anId } from '../paging.ts';
import { readSince, readUntil, since, until } from '../traffic.ts';
import { BY_LAST, conversationPage } from './conversation-page.ts';
import { answerLarge } from './large-report.ts';
import { Continuation, Continued, Conversation, OneConversation } from './schemas.ts';

const params = z.object({ id: anyName });
const PLACE = { ...BY_LAST, place: z.tuple([count, anId]) };

export const conversationOperations: readonly Operation[] = [
  operation({
    id: 'listConversations',
    method: 'GET',
    path: '/conversations',
    tag: 'conversations',
    summary: 'What each conversation cost, the latest first; sums are of whole conversations',
    query: z.strictObject({
      ...PAGE,
      since,
      until,
      account: anyName.optional(),
      label: anyName.optional(),
    }),
    reply: page(Conversation),
    problems: [404, 429],
    async run({ query }, parts, call) {
      const { store, clock } = parts;
      const { account: name, label, limit } = query;
      const account = name === undefined ? undefined : await store.findAccount(name);
      if (name !== undefined && account === undefined) throw unknownAccount();
      const now = clock.now();
      const [at, conversation] = decodeCursor(PLACE, query.cursor) ?? [];
      const before = at === undefined || conversation === undefined ? undefined : { at, conversation };
      const window = { since: readSince(query.since, now), until: readUntil(query.until, now), before };
      const asked = { ...window, accountId: account?.id, label, limit };
      const isLarge = (await store.passRequests({ since: asked.since }, MOST_READ)) !== undefined;
      if (isLarge) return answerLarge({ report: 'conversations', ...asked }, parts, call);
      return conversationPage(asked, store);
    },
  }),
  operation({
    id: 'readConversation',
    method: 'GET',
    path: '/conversations/{id}',
    tag: 'conversations',
    summary:
      'One conversation with its sub-agents, tasks, models and cache misses, by its id or its beginning',
    params,
    reply: OneConversation,
    problems: [404, 409, 429],
    async run({ params: { id } }, parts, call) {
      const found = await findOne(id, parts, call);
      const requests = found.parts.reduce((sum, part) => sum + part.requests, 0);
      if (requests > MOST_READ) return answerLarge({ report: 'conversation', found }, parts, call);
      return readConversation(found, parts.store);
    },
  }),
  operation({
    id: 'continueConversation',
    method: 'POST',
    path: '/conversations/{id}/continue',
    tag: 'conversations',
    summary: 'Let a conversation go on that a brake stopped: its counts begin anew, at once for all gateways',
    params,
    body: Continuation,
    reply: Continued,
    problems: [404, 409],
    async run({ params: { id }, body: { cost_usd: cost } }, parts, call) {
      const { current, store, clock } = parts;
      if (cost !== undefined && current.config.brakes?.conversation === undefined) {
        const message = 'cost_usd has no effect: the configuration has no brake on what a conversation costs';
        throw new Problem(400, 'no_brake', message);
      }
      const found = await findOne(id, parts, call);
      const most = cost === undefined ? undefined : nanosOf(cost);
      await store.letGoOn({ id: found.id, accountId: ownerOf(found) }, most, clock.now());
      return { id: found.id, stopped: null };
    },
  }),
];

/** Of a member, their own alone: a report is sent before anybody could look at it. Throws Problem 404, and 409 where several begin like this. */
async function findOne(
  id: string,
  { store }: Pick<AdminParts, 'store'>,
  { caller }: Pick<Call, 'caller'>,
): Promise<FoundConversation> {
  const member = caller?.member;
  const all = await findConversations(id, store);
  const [found, other] = all.filter((one) => member === undefined || ownerOf(one) === member.accountId);
  if (found === undefined)
    throw new Problem(404, 'unknown_conversation', 'no conversation has an id that begins like this');
  if (other !== undefined)
    throw new Problem(
      409,
      'several_conversations',
      'several conversations begin like this; give the whole id',
    );
  return found;
}
