// Usage rows as single requests: the last ones, or one by its id. Both follow the index of times, the only one. What no index answers
// looks at rows one by one, so the caller says how many.
import type {
  RequestIdQuery,
  RequestPlace,
  RequestQuery,
  RequestWindow,
  StoredRequest,
} from '../../store.ts';
import {
  conversationParts,
  type ConversationPart,
  type ConversationQuery,
} from '../../conversation-parts.ts';
import { REQUEST } from '../../usage-columns.ts';
import type { Connection, Value } from '../connection.ts';

type Filters = Omit<RequestQuery, 'limit'>;

/** Conditions of the filters that are given. `add` takes a value and returns its place in the query. */
function conditionsOf(filters: Filters, add: (value: Value) => string): string[] {
  const { since, before, downTo, accountId, model, errors, status, missed } = filters;
  const { keyId, provider, endpoint, label, error, conversation } = filters;
  const place = ({ at, rowId }: RequestPlace): string => `(${add(at)}::bigint, ${add(rowId)}::bigint)`;
  const conditions: string[] = [];
  if (since !== undefined) conditions.push(`at >= ${add(since)}`);
  if (before !== undefined) conditions.push(`(at, id) < ${place(before)}`);
  if (downTo !== undefined) conditions.push(`(at, id) >= ${place(downTo)}`);
  if (accountId !== undefined) conditions.push(`account_id = ${add(accountId)}`);
  if (model !== undefined) {
    const name = add(model);
    conditions.push(`(model_asked = ${name} OR model = ${name} OR provider || '/' || model = ${name})`);
  }
  if (errors === true) conditions.push('error IS NOT NULL');
  if (missed === true) conditions.push('cache_miss IS NOT NULL');
  if (status !== undefined) conditions.push(`status BETWEEN ${add(status.from)} AND ${add(status.to)}`);
  const equal = { key_id: keyId, provider, endpoint, label, error, conversation };
  for (const [column, value] of Object.entries(equal))
    if (value !== undefined) conditions.push(`${column} = ${add(value)}`);
  return conditions;
}

export function createRequests(connection: Connection) {
  function newestFirst<Found>(select: string, filters: Filters, more: [limit: number, offset: number]) {
    const values: Value[] = [...more];
    const conditions = conditionsOf(filters, (value) => `$${values.push(value)}`);
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const text = `${select} FROM usage ${where} ORDER BY at DESC, id DESC LIMIT $1 OFFSET $2`;
    return connection.read<Found>({ text }, ...values);
  }

  return {
    listRequests: ({ limit, ...filters }: RequestQuery): Promise<StoredRequest[]> =>
      newestFirst<StoredRequest>(REQUEST, filters, [limit, 0]),
    passRequests: async (window: RequestWindow, count: number): Promise<RequestPlace | undefined> =>
      (await newestFirst<RequestPlace>('SELECT at, id AS "rowId"', window, [1, count - 1]))[0],
    conversationParts: (query: ConversationQuery): Promise<ConversationPart[]> => {
      const values: Value[] = [];
      const text = conversationParts(query, (value) => `$${values.push(value)}`);
      return connection.read<ConversationPart>({ text }, ...values);
    },
    findRequests: ({ from, until, prefix, limit, most }: RequestIdQuery): Promise<StoredRequest[]> =>
      connection.read<StoredRequest>(
        {
          text: `${REQUEST}
            FROM (SELECT * FROM usage WHERE at >= $1 AND at <= $2 ORDER BY at, id LIMIT $5) AS looked
            WHERE starts_with(request_id, $3) ORDER BY at, id LIMIT $4`,
        },
        from,
        until,
        prefix,
        limit,
        most ?? null,
      ),
  };
}
