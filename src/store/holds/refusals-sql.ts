// Statements on requests that were refused, which both engines run.
import type { RequestIdQuery, RequestPlace, RequestQuery } from '../store.ts';

/** The database has no more of them. */
const MOST_ROWS = 20_000;

export const DELETE_SURPLUS = `DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ${MOST_ROWS}`;
export const SET_TIMES =
  'ON CONFLICT (request_id) DO UPDATE SET times = excluded.times WHERE refusals.times < excluded.times';

/** In a list with usage rows, refusals stand behind those that ended at the same time. Safe as a number up to 2^53. */
const PLACE = `(${2 ** 52} + id)`;

const COLUMNS = `request_id AS "requestId", account_id AS "accountId", key_id AS "keyId", endpoint, model_asked AS "modelAsked",
  conversation, label, client, status, error, message, times`;
const REFUSAL = `SELECT ${PLACE} AS "rowId", at, (SELECT name FROM accounts WHERE id = account_id) AS account, ${COLUMNS}
  FROM refusals`;

/** Takes a value, and returns its place in the statement. */
type Add = (value: string | number) => string;

/** undefined: none can fit the query. */
export function refusalList(query: RequestQuery, add: Add): string | undefined {
  const { since, before, downTo, accountId, keyId, model, endpoint, label, status, error } = query;
  const { conversation, provider, missed, limit } = query;
  if (provider !== undefined || missed === true) return undefined;
  const place = ({ at, rowId }: RequestPlace): string =>
    `(CAST(${add(at)} AS bigint), CAST(${add(rowId)} AS bigint))`;
  const conditions: string[] = [];
  const equal = (column: string, value: string | number | undefined): void => {
    if (value !== undefined) conditions.push(`${column} = ${add(value)}`);
  };
  if (since !== undefined) conditions.push(`at >= ${add(since)}`);
  // The first condition is for the index.
  if (before !== undefined) conditions.push(`at <= ${add(before.at)}`, `(at, ${PLACE}) < ${place(before)}`);
  if (downTo !== undefined) conditions.push(`at >= ${add(downTo.at)}`, `(at, ${PLACE}) >= ${place(downTo)}`);
  if (status !== undefined) conditions.push(`status BETWEEN ${add(status.from)} AND ${add(status.to)}`);
  equal('account_id', accountId);
  equal('key_id', keyId);
  equal('model_asked', model);
  equal('endpoint', endpoint);
  equal('label', label);
  equal('error', error);
  equal('conversation', conversation);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `${REFUSAL} ${where} ORDER BY at DESC, id DESC LIMIT ${add(limit)}`;
}

export function refusalsById({ prefix, from, until, limit }: Omit<RequestIdQuery, 'most'>, add: Add): string {
  const start = `substr(request_id, 1, ${prefix.length})`;
  return `${REFUSAL} WHERE at >= ${add(from)} AND at <= ${add(until)} AND ${start} = ${add(prefix)}
    ORDER BY at, id LIMIT ${add(limit)}`;
}
