// Sums of conversations, of the last requests: what each took in tokens and money. A request only sets the slots of one that is
// older; the sums are made for a frame.
import { isoTime } from '../clock.ts';
import type { UsageRow } from '../store/store.ts';

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

/** Requests that are summed up. */
const MOST_REQUESTS = 1000;
const MOST_CONVERSATIONS = 20;
const CONVERSATION_DIGITS = 8;

/** What the sums of a conversation need of a request. */
interface Part {
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

/**
 * Each request takes the object of the one that it replaces: a new object would live long enough to be copied twice by the garbage
 * collector.
 */
export class Conversations {
  readonly #parts: Part[] = [];
  #total = 0;

  add(row: UsageRow, account: string, conversation: string | undefined): void {
    const part = (this.#parts[this.#total % MOST_REQUESTS] ??= newPart());
    part.accountId = row.accountId;
    part.account = account;
    part.conversation = conversation;
    part.model = row.model ?? row.modelAsked;
    part.input = (row.input ?? 0) + (row.cacheRead ?? 0) + (row.cacheWrite ?? 0);
    part.output = row.output ?? 0;
    part.costUsd = row.costUsd ?? NaN;
    part.at = row.at;
    this.#total += 1;
  }

  /** The latest first. */
  list(): LiveConversation[] {
    const found: LiveConversation[] = [];
    const accounts = new Map<number, Groups>();
    const parts = this.#parts.length;
    for (let back = 1; back <= parts; back += 1) {
      const part = this.#parts[(this.#total - back) % parts];
      if (part === undefined) continue;
      const group = groupOf(accounts, part);
      const name = part.conversation ?? part.model;
      const later = group.get(name);
      if (later !== undefined) addPart(later, part);
      else if (found.length < MOST_CONVERSATIONS) {
        const conversation = conversationOf(part);
        group.set(name, conversation);
        found.push(conversation);
      }
    }
    return found;
  }
}

function groupOf(
  accounts: Map<number, Groups>,
  { accountId, conversation }: Part,
): Map<string, LiveConversation> {
  let groups = accounts.get(accountId);
  if (groups === undefined) accounts.set(accountId, (groups = { hashes: new Map(), models: new Map() }));
  return conversation === undefined ? groups.models : groups.hashes;
}

function newPart(): Part {
  return {
    accountId: 0,
    account: '',
    conversation: undefined,
    model: '',
    input: 0,
    output: 0,
    costUsd: NaN,
    at: NaN,
  };
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
}: Part): LiveConversation {
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

function addPart(conversation: LiveConversation, { input, output, costUsd }: Part): void {
  conversation.requests += 1;
  conversation.input_tokens += input;
  conversation.output_tokens += output;
  if (!Number.isNaN(costUsd)) conversation.cost_usd = (conversation.cost_usd ?? 0) + costUsd;
}
