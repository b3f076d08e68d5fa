// Single requests, from the usage rows: the last ones, and one by its id. Both follow the index of times.
import type { ProtocolName } from '../../../canonical/request.ts';
import type { RequestIdQuery, RequestQuery, StoredRequest } from '../../store.ts';
import type { Connection, Value } from '../connection.ts';

const COLUMNS = `
  at, account_id AS "accountId", (SELECT name FROM accounts WHERE id = account_id) AS account, key_id AS "keyId",
  endpoint, model_asked AS "modelAsked", provider, model, status, streamed, input, cache_read AS "cacheRead",
  cache_write AS "cacheWrite", output, reasoning, cost_usd AS "costUsd", first_byte_ms AS "firstByteMs",
  duration_ms AS "durationMs", error, request_id AS "requestId", attempts, detail`;

const FILTERS = {
  since: (value: string) => `at >= ${value}`,
  until: (value: string) => `at <= ${value}`,
  accountId: (value: string) => `account_id = ${value}`,
  model: (value: string) =>
    `(model_asked = ${value} OR model = ${value} OR provider || '/' || model = ${value})`,
  errors: (value: string) => `(${value}::boolean AND error IS NOT NULL)`,
} as const satisfies Record<Exclude<keyof RequestQuery, 'limit'>, (value: string) => string>;

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

type Row = StoredRequest & { endpoint: ProtocolName };

export function createRequests(connection: Connection) {
  return {
    listRequests(query: RequestQuery): Promise<StoredRequest[]> {
      const values: Value[] = [query.limit];
      const conditions = FILTER_NAMES.flatMap((name) => {
        const value = query[name];
        if (value === undefined || value === false) return [];
        return [FILTERS[name](`$${values.push(value)}`)];
      });
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const text = `SELECT ${COLUMNS} FROM usage ${where} ORDER BY at DESC, id DESC LIMIT $1`;
      return connection.read<Row>({ text }, ...values);
    },
    findRequests: ({ from, until, prefix, limit }: RequestIdQuery): Promise<StoredRequest[]> =>
      connection.read<Row>(
        {
          text: `SELECT ${COLUMNS} FROM usage WHERE at >= $1 AND at <= $2 AND starts_with(request_id, $3) ORDER BY at, id LIMIT $4`,
        },
        from,
        until,
        prefix,
        limit,
      ),
  };
}
