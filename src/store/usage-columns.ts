// The columns of a usage row, each once. The type of a row, the statements of both engines, the totals of reports and the members of
// an export come from this table; besides it, a new column needs a migration of each engine and the code that measures it.
import type { ProtocolName } from '../canonical/request.ts';
import { snakeCase } from '../snake-case.ts';

/** What a column may hold, and the type of such a value. */
interface Values {
  /** Milliseconds since the epoch. */
  time: number;
  account: number;
  key: string;
  protocol: ProtocolName;
  /** Clients choose it, so it may hold any character. Its length is limited when it is stored. */
  model: string;
  /** Of a provider, or of an error. */
  name: string;
  status: number;
  flag: boolean;
  count: number;
  number: number;
  request: string;
  json: string;
}

export type UsageKind = keyof Values;

interface UsageColumn {
  kind: UsageKind;
  nullable?: true;
  /** Tokens that the sums of hours and days hold, in a column of the same name: the member of the totals. */
  summed?: string;
}

/** By member of the row, in the order of the statements and of an export. The name of the column is the same in snake case. */
const USAGE = {
  /** When the request ended. */
  at: { kind: 'time' },
  accountId: { kind: 'account' },
  keyId: { kind: 'key' },
  endpoint: { kind: 'protocol' },
  modelAsked: { kind: 'model' },
  /** null: no target was reached. */
  provider: { kind: 'name', nullable: true },
  /** The client's name for the model that answered. */
  model: { kind: 'model', nullable: true },
  status: { kind: 'status' },
  streamed: { kind: 'flag' },
  /** Tokens that were neither read from a cache nor written to one. null: unknown, here and below; an unknown number is never
   *  recorded as 0. The total includes the caches. */
  input: { kind: 'count', nullable: true, summed: 'inputTokens' },
  cacheRead: { kind: 'count', nullable: true, summed: 'cacheReadTokens' },
  cacheWrite: { kind: 'count', nullable: true, summed: 'cacheWriteTokens' },
  output: { kind: 'count', nullable: true, summed: 'outputTokens' },
  reasoning: { kind: 'count', nullable: true },
  costUsd: { kind: 'number', nullable: true },
  /** Milliseconds. */
  firstByteMs: { kind: 'number', nullable: true },
  durationMs: { kind: 'number' },
  /** An error kind, `client_closed`, `truncated`, …; null: fully answered. */
  error: { kind: 'name', nullable: true },
  /** null: an older gateway recorded the request, here and in the next member. */
  requestId: { kind: 'request', nullable: true },
  /** Targets that were contacted. */
  attempts: { kind: 'count', nullable: true },
  /** JSON, opaque to the store: notes about the request (accounts/request-json.ts). null: none. */
  detail: { kind: 'json', nullable: true },
} as const satisfies Record<string, UsageColumn>;

type Usage = typeof USAGE;
type ValueOf<Column extends UsageColumn> =
  Values[Column['kind']] | (Column extends { nullable: true } ? null : never);

/** How an admitted request ended. */
export type UsageRow = { -readonly [Member in keyof Usage]: ValueOf<Usage[Member]> };

/** Totals of the tokens of requests whose usage is known. */
export type TokenTotals = Record<Extract<Usage[keyof Usage], { summed: string }>['summed'], number>;

interface NamedColumn extends UsageColumn {
  member: keyof UsageRow;
  name: string;
}

export const USAGE_COLUMNS: readonly NamedColumn[] = Object.entries<UsageColumn>(USAGE).map(
  ([member, column]) => ({ ...column, member: member as keyof UsageRow, name: snakeCase(member) }),
);

/** Columns of usage_sums, and the members of the totals that are read from them. */
export const TOKENS = USAGE_COLUMNS.flatMap(({ name, summed }) =>
  summed === undefined ? [] : [{ name, total: summed as keyof TokenTotals }],
);

/** Columns whose values SQLite stores as 0 and 1. */
export const FLAGS = USAGE_COLUMNS.filter(({ kind }) => kind === 'flag').map(({ member }) => member);

export const USAGE_NAMES = USAGE_COLUMNS.map(({ name }) => name).join(', ');

/** Selects each StoredRequest. */
export const REQUEST = `
  SELECT id AS "rowId", (SELECT name FROM accounts WHERE id = account_id) AS account,
    ${USAGE_COLUMNS.map(({ member, name }) => `${name} AS "${member}"`).join(', ')}`;

/** Characters of the name of a model. */
export const MAX_MODEL_LENGTH = 256;

/** The value as it is stored. */
export function valueOf(row: UsageRow, { member, kind }: NamedColumn): string | number | boolean | null {
  const value = row[member];
  return kind === 'model' && typeof value === 'string' ? value.slice(0, MAX_MODEL_LENGTH) : value;
}
