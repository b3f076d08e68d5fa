// Conversations as sums of usage rows: what each agent spent in it, by task, kind of work, target and client. Both engines run the same
// statement.
import { KNOWN, type UsageRow } from './usage-columns.ts';

/** Where a conversation stands in the list: its last request of the window. */
export interface ConversationPlace {
  at: number;
  conversation: string;
}

/** Conversations with a request in the window, the latest first. */
export interface ConversationQuery {
  since?: number | undefined;
  /** Not at this time itself. */
  until?: number | undefined;
  /** Those that stand behind. */
  before?: ConversationPlace | undefined;
  ids?: readonly string[] | undefined;
  accountId?: number | undefined;
  label?: string | undefined;
  /** A conversation's id or its beginning. */
  prefix?: string | undefined;
  /** At most so many conversations. */
  limit: number;
}

/** What the requests of a part have in common. */
type Named = Pick<
  UsageRow,
  | 'accountId'
  | 'agent'
  | 'parentAgent'
  | 'agentType'
  | 'class'
  | 'prompt'
  | 'label'
  | 'client'
  | 'provider'
  | 'model'
>;

/** The sums of all requests of a conversation that are named alike, also of those before the window. */
export interface ConversationPart extends Named {
  conversation: string;
  /** When its last request of the window ended. */
  place: number;
  /** null: the account was removed. */
  account: string | null;
  requests: number;
  errors: number;
  /** With what was read from caches or written to them. */
  inputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  /** null: no price is known. */
  costUsd: number | null;
  misses: number;
  missesCostUsd: number | null;
  /** When the first one arrived, and the last one ended. */
  startedAt: number;
  lastAt: number;
  /** When the last one arrived. */
  lastStartedAt: number;
}

const NAMES: Readonly<Record<keyof Named, string>> = {
  accountId: 'account_id',
  agent: 'agent',
  parentAgent: 'parent_agent',
  agentType: 'agent_type',
  class: 'class',
  prompt: 'prompt',
  label: 'label',
  client: 'client',
  provider: 'provider',
  model: 'model',
};

const whole = (expression: string): string => `CAST(coalesce(${expression}, 0) AS bigint)`;
const tokens = (expression: string): string => whole(`sum(CASE WHEN ${KNOWN} THEN ${expression} END)`);
const counted = (condition: string): string => whole(`sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`);

const SUMS: Readonly<
  Record<Exclude<keyof ConversationPart, keyof Named | 'conversation' | 'account' | 'place'>, string>
> = {
  requests: 'count(*)',
  errors: counted('error IS NOT NULL'),
  inputTokens: tokens('input + coalesce(cache_read, 0) + coalesce(cache_write, 0)'),
  cacheReadTokens: tokens('cache_read'),
  cacheWriteTokens: tokens('cache_write'),
  outputTokens: tokens('output'),
  costUsd: 'sum(cost_usd)',
  misses: counted('cache_miss IS NOT NULL'),
  missesCostUsd: 'sum(cache_miss_cost_usd)',
  startedAt: whole('min(at - duration_ms)'),
  lastAt: 'max(at)',
  lastStartedAt: whole('max(at - duration_ms)'),
};

/** Behind all ids that begin with the text: no character of base62 stands behind it. */
function endOf(prefix: string): string {
  return `${prefix}{`;
}

export function conversationParts(
  { since, until, before, ids, accountId, label, prefix, limit }: ConversationQuery,
  add: (value: string | number) => string,
): string {
  const conditions = ['at IS NOT NULL'];
  // A condition on the conversation would draw SQLite to its index, away from that of times.
  if (since !== undefined) conditions.push(`at >= ${add(since)}`);
  if (until !== undefined) conditions.push(`at < ${add(until)}`);
  if (ids !== undefined) conditions.push(`conversation IN (${ids.map(add).join(', ')})`);
  if (accountId !== undefined) conditions.push(`account_id = ${add(accountId)}`);
  if (label !== undefined) conditions.push(`label = ${add(label)}`);
  if (prefix !== undefined) {
    conditions.push(`conversation >= ${add(prefix)}`, `conversation < ${add(endOf(prefix))}`);
  }
  const behind =
    before === undefined
      ? ''
      : `AND (max(at), conversation) < (${add(before.at)}, ${add(before.conversation)})`;
  const named = Object.entries(NAMES).map(([member, column]) => `${column} AS "${member}"`);
  const sums = Object.entries(SUMS).map(([member, sum]) => `${sum} AS "${member}"`);
  return `
    WITH chosen AS (
      SELECT conversation, max(at) AS place FROM usage WHERE ${conditions.join(' AND ')}
      GROUP BY conversation HAVING min(conversation) IS NOT NULL ${behind}
      ORDER BY max(at) DESC, conversation DESC LIMIT ${add(limit)}
    )
    SELECT conversation, min(place) AS place,
      (SELECT name FROM accounts WHERE id = account_id) AS account, ${[...named, ...sums].join(', ')}
    FROM chosen JOIN usage USING (conversation)
    GROUP BY conversation, ${Object.values(NAMES).join(', ')}`;
}
