// Sums of conversations, of the last requests: what each took in tokens and money. Made for each frame.
import { isoTime } from '../clock.ts';

export interface LiveConversation {
  /** The beginning of a hash. null: routing had no choice, so requests are grouped by account and model. */
  conversation: string | null;
  account: string;
  model: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** null: no price is known. */
  cost_usd: number | null;
  last_at: string;
}

const MOST_CONVERSATIONS = 20;
const CONVERSATION_DIGITS = 8;

/** What the sums of a conversation need of a finished request. */
export interface FinishedPart {
  accountId: number;
  account: string;
  conversation: string | undefined;
  model: string;
  input: number;
  output: number;
  /** NaN: no price is known. */
  costUsd: number;
  at: number;
}

/** Conversations of one account, by their hash; and by the model, of requests that have none. */
interface Groups {
  hashes: Map<string, LiveConversation>;
  models: Map<string, LiveConversation>;
}

/** The latest first, as the requests. */
export function conversationsOf(requests: Iterable<FinishedPart>): LiveConversation[] {
  const found: LiveConversation[] = [];
  const accounts = new Map<number, Groups>();
  for (const request of requests) {
    const group = groupOf(accounts, request);
    const name = request.conversation ?? request.model;
    const later = group.get(name);
    if (later !== undefined) addPart(later, request);
    else if (found.length < MOST_CONVERSATIONS) {
      const conversation = conversationOf(request);
      group.set(name, conversation);
      found.push(conversation);
    }
  }
  return found;
}

function groupOf(
  accounts: Map<number, Groups>,
  { accountId, conversation }: FinishedPart,
): Map<string, LiveConversation> {
  let groups = accounts.get(accountId);
  if (groups === undefined) accounts.set(accountId, (groups = { hashes: new Map(), models: new Map() }));
  return conversation === undefined ? groups.models : groups.hashes;
}

/** A conversation as its last request shows it. */
function conversationOf({
  account,
  conversation,
  model,
  input,
  output,
  costUsd,
  at,
}: FinishedPart): LiveConversation {
  return {
    conversation: conversation?.slice(0, CONVERSATION_DIGITS) ?? null,
    account,
    model,
    requests: 1,
    input_tokens: input,
    output_tokens: output,
    cost_usd: Number.isNaN(costUsd) ? null : costUsd,
    last_at: isoTime(at),
  };
}

function addPart(conversation: LiveConversation, { input, output, costUsd }: FinishedPart): void {
  conversation.requests += 1;
  conversation.input_tokens += input;
  conversation.output_tokens += output;
  if (!Number.isNaN(costUsd)) conversation.cost_usd = (conversation.cost_usd ?? 0) + costUsd;
}
