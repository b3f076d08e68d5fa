// A page of conversations, as the gateway itself or the process of a large report makes it.
import {
  listConversations,
  type ConversationReader,
  type ConversationsQuery,
  type ListedConversation,
} from '../../../accounts/conversation-report.ts';
import { pageOfRows } from './cursor.ts';

export const BY_LAST = {
  list: 'conversations',
  placeOf: ({ at, conversation }: ListedConversation): [number, string] => [at, conversation],
};

export async function conversationPage(query: ConversationsQuery, store: ConversationReader) {
  const found = await listConversations({ ...query, limit: query.limit + 1 }, store);
  const { items, next } = pageOfRows(found, query.limit, BY_LAST);
  return { data: items.map(({ json }) => json), next };
}
