// Sums of conversations, of the last requests: what each took in tokens and money. Made for each frame.
import { isoTime } from '../clock.ts';
import { inputOf, type UsageRow } from '../store/usage-columns.ts';

export interface LiveConversation {
  conversation: string;
  account: string;
  /** The program. null: it does not say. */
  client: string | null;
  label: string | null;
  /** Of the last request. */
  model: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** null: no price is known. */
  cost_usd: number | null;
  last_at: string;
}

const MOST_CONVERSATIONS = 20;

/** A request that ended, and the name that its account had. */
export interface Ended {
  row: UsageRow;
  account: string;
}

/** The latest first, as the requests. */
export function conversationsOf(requests: Iterable<Ended>): LiveConversation[] {
  const found = new Map<string, LiveConversation>();
  for (const request of requests) {
    const { conversation } = request.row;
    if (conversation === null) continue;
    const later = found.get(conversation);
    if (later !== undefined) addRow(later, request.row);
    else if (found.size < MOST_CONVERSATIONS) found.set(conversation, conversationOf(conversation, request));
  }
  return [...found.values()];
}

/** A conversation as its last request shows it. */
function conversationOf(conversation: string, { row, account }: Ended): LiveConversation {
  return {
    conversation,
    account,
    client: row.client,
    label: row.label,
    model: row.model ?? row.modelAsked,
    requests: 1,
    input_tokens: inputOf(row) ?? 0,
    output_tokens: row.output ?? 0,
    cost_usd: row.costUsd,
    last_at: isoTime(row.at),
  };
}

function addRow(conversation: LiveConversation, row: UsageRow): void {
  conversation.requests += 1;
  conversation.input_tokens += inputOf(row) ?? 0;
  conversation.output_tokens += row.output ?? 0;
  if (row.costUsd !== null) conversation.cost_usd = (conversation.cost_usd ?? 0) + row.costUsd;
}
