// Sums of conversations, of the last requests: what each took in tokens and money. Made for each frame.
import { isoTime } from '../clock.ts';
import type { Identity } from '../conversations/identity.ts';
import type { Key } from '../store/store.ts';

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

/** What the sums of a conversation need of a finished request. */
export type FinishedPart = Pick<Identity, 'conversation' | 'client' | 'label'> &
  Pick<Key, 'account'> & {
    model: string;
    input: number;
    output: number;
    /** NaN: no price is known. */
    costUsd: number;
    at: number;
  };

/** The latest first, as the requests. */
export function conversationsOf(requests: Iterable<FinishedPart>): LiveConversation[] {
  const found = new Map<string, LiveConversation>();
  for (const request of requests) {
    const { conversation } = request;
    if (conversation === null) continue;
    const later = found.get(conversation);
    if (later !== undefined) addPart(later, request);
    else if (found.size < MOST_CONVERSATIONS) found.set(conversation, conversationOf(conversation, request));
  }
  return [...found.values()];
}

/** A conversation as its last request shows it. */
function conversationOf(
  conversation: string,
  { input, output, costUsd, at, ...named }: FinishedPart,
): LiveConversation {
  return {
    ...named,
    conversation,
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
