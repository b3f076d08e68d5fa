// Single requests, from the usage rows: the last ones, and one by its id. Both follow the index of times, of which there is no other.
import type { Statement } from 'better-sqlite3';
import type { ProtocolName } from '../../../canonical/request.ts';
import type { RequestIdQuery, RequestQuery, StoredRequest } from '../../store.ts';
import type { Db } from '../driver.ts';

interface RequestRow {
  at: number;
  account_id: number;
  account: string | null;
  key_id: string;
  endpoint: ProtocolName;
  model_asked: string;
  provider: string | null;
  model: string | null;
  status: number;
  streamed: number;
  input: number | null;
  cache_read: number | null;
  cache_write: number | null;
  output: number | null;
  reasoning: number | null;
  cost_usd: number | null;
  first_byte_ms: number | null;
  duration_ms: number;
  error: string | null;
  request_id: string | null;
  attempts: number | null;
  detail: string | null;
}

const SELECT = 'SELECT *, (SELECT name FROM accounts WHERE id = account_id) AS account FROM usage';

const FILTERS = {
  since: 'at >= @since',
  until: 'at <= @until',
  accountId: 'account_id = @accountId',
  model: "(model_asked = @model OR model = @model OR provider || '/' || model = @model)",
  errors: 'error IS NOT NULL',
} as const satisfies Record<Exclude<keyof RequestQuery, 'limit'>, string>;

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

export function prepareRequests(db: Db) {
  /** Prepared at first use: only commands and the admin API read single requests. */
  const statements = new Map<string, Statement<[object], RequestRow>>();
  const rows = (sql: string, values: object): StoredRequest[] => {
    const statement = statements.get(sql) ?? db.prepare<[object], RequestRow>(sql);
    statements.set(sql, statement);
    return statement.all(values).map(toRequest);
  };
  return {
    list(query: RequestQuery): StoredRequest[] {
      const given = FILTER_NAMES.filter((name) => query[name] !== undefined && query[name] !== false);
      const where = given.length === 0 ? '' : `WHERE ${given.map((name) => FILTERS[name]).join(' AND ')}`;
      const values = Object.fromEntries(
        given.flatMap((name) => (name === 'errors' ? [] : [[name, query[name]]])),
      );
      return rows(`${SELECT} ${where} ORDER BY at DESC, id DESC LIMIT @limit`, {
        ...values,
        limit: query.limit,
      });
    },
    find: (query: RequestIdQuery): StoredRequest[] =>
      rows(
        `${SELECT} WHERE at >= @from AND at <= @until AND substr(request_id, 1, length(@prefix)) = @prefix
         ORDER BY at, id LIMIT @limit`,
        query,
      ),
  };
}

function toRequest(row: RequestRow): StoredRequest {
  return {
    at: row.at,
    accountId: row.account_id,
    account: row.account,
    keyId: row.key_id,
    endpoint: row.endpoint,
    modelAsked: row.model_asked,
    provider: row.provider,
    model: row.model,
    status: row.status,
    streamed: row.streamed === 1,
    input: row.input,
    cacheRead: row.cache_read,
    cacheWrite: row.cache_write,
    output: row.output,
    reasoning: row.reasoning,
    costUsd: row.cost_usd,
    firstByteMs: row.first_byte_ms,
    durationMs: row.duration_ms,
    error: row.error,
    requestId: row.request_id,
    attempts: row.attempts,
    detail: row.detail,
  };
}
