// The columns of a usage row, each once. The type of a row, the statements of both engines, the totals of reports and the members of
// an export come from this table; besides it, a new column needs a migration of each engine and the code that measures it.
import type { EndpointName } from '../canonical/request.ts';
import { snakeCase } from '../snake-case.ts';

/** What a column may hold, and the type of such a value. */
interface Values {
  /** Milliseconds since the epoch. */
  time: number;
  account: number;
  key: string;
  endpoint: EndpointName;
  /** Clients choose it, so it may hold any character. Its length is limited when it is stored. */
  model: string;
  /** Of a provider, or of an error. */
  name: string;
  status: number;
  flag: boolean;
  count: number;
  number: number;
  milliseconds: number;
  request: string;
  json: string;
}

export type UsageKind = keyof Values;

interface UsageColumn {
  kind: UsageKind;
  nullable?: true;
  /** What a row of an older gateway has, in an export or a spool file, of a column that is not nullable. */
  older?: false;
  /** Tokens that the sums of hours and days hold, in a column of the same name: the member of the totals. */
  summed?: string;
  /** The member of a request as JSON (accounts/request-json.ts); absent: the JSON has no member for the value alone. */
  shown?: string;
}

/** By member of the row, in the order of the statements and of an export. The name of the column is the same in snake case. What a row
 *  shows is a member of each request in `gateway requests --json`, in the admin API and in live events. */
const USAGE = {
  /** When the request ended. */
  at: { kind: 'time', shown: 'at' },
  accountId: { kind: 'account' },
  keyId: { kind: 'key', shown: 'key' },
  endpoint: { kind: 'endpoint', shown: 'endpoint' },
  modelAsked: { kind: 'model', shown: 'model_asked' },
  /** null: no target was reached. */
  provider: { kind: 'name', nullable: true, shown: 'provider' },
  /** The client's name for the model that answered. */
  model: { kind: 'model', nullable: true, shown: 'model' },
  status: { kind: 'status', shown: 'status' },
  streamed: { kind: 'flag', shown: 'stream' },
  /** Tokens that were neither read from a cache nor written to one. null: unknown, here and below; an unknown number is never
   *  recorded as 0. The total includes the caches. */
  input: { kind: 'count', nullable: true, summed: 'inputTokens', shown: 'input_tokens' },
  cacheRead: { kind: 'count', nullable: true, summed: 'cacheReadTokens', shown: 'cache_read_tokens' },
  cacheWrite: { kind: 'count', nullable: true, summed: 'cacheWriteTokens', shown: 'cache_write_tokens' },
  output: { kind: 'count', nullable: true, summed: 'outputTokens', shown: 'output_tokens' },
  reasoning: { kind: 'count', nullable: true, shown: 'reasoning_tokens' },
  costUsd: { kind: 'number', nullable: true, shown: 'cost_usd' },
  firstByteMs: { kind: 'milliseconds', nullable: true, shown: 'first_byte_ms' },
  durationMs: { kind: 'milliseconds', shown: 'duration_ms' },
  /** An error kind, `client_closed`, `truncated`, …; null: fully answered. */
  error: { kind: 'name', nullable: true, shown: 'error' },
  /** null: an older gateway recorded the request, here and in the next member. */
  requestId: { kind: 'request', nullable: true, shown: 'id' },
  /** Targets that were contacted. */
  attempts: { kind: 'count', nullable: true, shown: 'attempts' },
  /** JSON, opaque to the store: notes about the request (accounts/request-json.ts). null: none. */
  detail: { kind: 'json', nullable: true },
  /** `conv_` and base62. null: an older gateway recorded the request. */
  conversation: { kind: 'name', nullable: true, shown: 'conversation' },
  /** What the client says of itself. null: nothing, in the next five members too. */
  agent: { kind: 'name', nullable: true, shown: 'agent' },
  parentAgent: { kind: 'name', nullable: true, shown: 'parent_agent' },
  agentType: { kind: 'name', nullable: true, shown: 'agent_type' },
  class: { kind: 'name', nullable: true, shown: 'class' },
  /** The task of a person that it belongs to. */
  prompt: { kind: 'name', nullable: true, shown: 'prompt' },
  /** Of the request, or of its key. */
  label: { kind: 'name', nullable: true, shown: 'label' },
  client: { kind: 'name', nullable: true, shown: 'client' },
  /** Why tokens that a cache had were read anew: the cause, the place, their number and what they cost. null: they were not. */
  cacheMiss: { kind: 'name', nullable: true },
  cacheMissDetail: { kind: 'name', nullable: true },
  cacheMissTokens: { kind: 'count', nullable: true, summed: 'cacheMissTokens' },
  cacheMissCostUsd: { kind: 'number', nullable: true },
  /** Its tokens and its cost are in the sums of its account's limits already. */
  settled: { kind: 'flag', older: false },
} as const satisfies Record<string, UsageColumn>;

type Usage = typeof USAGE;
type ValueOf<Column extends UsageColumn> =
  Values[Column['kind']] | (Column extends { nullable: true } ? null : never);

/** How an admitted request ended. */
export type UsageRow = { -readonly [Member in keyof Usage]: ValueOf<Usage[Member]> };

/** Totals of the tokens of requests whose usage is known. */
export type TokenTotals = Record<Extract<Usage[keyof Usage], { summed: string }>['summed'], number>;

/** The members of a request as JSON that are columns: a time as text, and null where a request has no such value. */
export type ShownColumns = {
  [
    Member in keyof Usage as Usage[Member] extends { shown: infer Name extends string } ? Name : never
  ]: Usage[Member]['kind'] extends 'time' ? string : Values[Usage[Member]['kind']] | null;
};

interface NamedColumn extends UsageColumn {
  member: keyof UsageRow;
  name: string;
}

/** Objects of one shape: they are read for each value of each row. */
export const USAGE_COLUMNS: readonly NamedColumn[] = Object.entries<UsageColumn>(USAGE).map(
  ([member, { kind, nullable, older, summed, shown }]) => ({
    ...{ kind, nullable, older, summed, shown },
    ...{ member: member as keyof UsageRow, name: snakeCase(member) },
  }),
);

/** In the order of a request's JSON. */
export const SHOWN_COLUMNS = USAGE_COLUMNS.flatMap(({ member, kind, shown }) =>
  shown === undefined ? [] : [{ member, kind, shown: shown as keyof ShownColumns }],
);

/** Columns of usage_sums, and the members of the totals that are read from them. */
export const TOKENS = USAGE_COLUMNS.flatMap(({ name, summed }) =>
  summed === undefined ? [] : [{ name, total: summed as keyof TokenTotals }],
);

/** Columns whose values SQLite stores as 0 and 1. */
export const FLAGS = USAGE_COLUMNS.filter(({ kind }) => kind === 'flag').map(({ member }) => member);

/** Usage is known: a condition on usage rows. */
export const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';

export const USAGE_NAMES = USAGE_COLUMNS.map(({ name }) => name).join(', ');

/** Selects each StoredRequest. */
export const REQUEST = `
  SELECT id AS "rowId", (SELECT name FROM accounts WHERE id = account_id) AS account,
    ${USAGE_COLUMNS.map(({ member, name }) => `${name} AS "${member}"`).join(', ')}`;

/** Characters of the name of a model. */
export const MAX_MODEL_LENGTH = 256;

/** The stored value. */
export function valueOf(
  row: UsageRow,
  { member, kind, older }: NamedColumn,
): string | number | boolean | null {
  // Rows that an older gateway left in a spool file lack newer members.
  const value = row[member] ?? older ?? null;
  return kind === 'model' && typeof value === 'string' ? value.slice(0, MAX_MODEL_LENGTH) : value;
}

/** Tokens of the input, with those of the caches. null: unknown. */
export function inputOf({
  input,
  cacheRead,
  cacheWrite,
}: Pick<UsageRow, 'input' | 'cacheRead' | 'cacheWrite'>): number | null {
  return input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0);
}
