// Lists of keys and accounts as people look at them: by state, the newest or the oldest first, found by a part of a name. The
// statements are those of both engines.
import { IS_LEASE, KEY } from '../rows.ts';
import type { AccountQuery, KeyPlace, KeyQuery } from './key-records.ts';

/** A list of keys reads what ended, and what is valid, from the index alone: a page of valid keys behind 100,000 ended ones is read
 *  in milliseconds. */
export const KEY_ORDER = `
  CREATE INDEX keys_order ON keys (created_at, id, revoked_at, expires_at);
  DROP INDEX keys_account;
  CREATE INDEX keys_account ON keys (account_id, created_at, id, revoked_at, expires_at);
`;

/** Gives a value to the statement; returns what stands for it. Calls come in the order in which the values stand in the text. */
type Bind = (value: string | number) => string;

/** What the engines write differently: whether a text contains another, and what makes a to z of A to Z alone. */
export interface Words {
  contains: (text: string, part: string) => string;
  lower: (text: string) => string;
}

const VALID = (now: string): string =>
  `(keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > ${now}))`;

/** Selects each KeyRow of a page. */
export function keyPage(query: KeyQuery, bind: Bind, words: Words): string {
  const { state, order, accountId, find, after, last, now, most } = query;
  const [behind, upTo, direction] = order === 'oldest' ? ['>', '<=', 'ASC'] : ['<', '>=', 'DESC'];
  const place = ({ createdAt, id }: KeyPlace): string => `(CAST(${bind(createdAt)} AS bigint), ${bind(id)})`;
  const conditions = [
    accountId !== undefined && `keys.account_id = ${bind(accountId)}`,
    after && `(keys.created_at, keys.id) ${behind} ${place(after)}`,
    last && `(keys.created_at, keys.id) ${upTo} ${place(last)}`,
    state === 'valid' && VALID(bind(now)),
    state === 'ended' && `NOT ${VALID(bind(now))}`,
    find !== undefined && found(KEY_TEXTS, find, bind, words),
  ].filter((condition) => typeof condition === 'string');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `${KEY} ${where} ORDER BY keys.created_at ${direction}, keys.id ${direction} LIMIT ${bind(most)}`;
}

/** Selects the KeyPlace of the last of `count` keys behind the place of the query; nothing, if there are fewer. */
export function passedKeys(
  { order, accountId, after }: Pick<KeyQuery, 'order' | 'accountId' | 'after'>,
  count: number,
  bind: Bind,
): string {
  const [behind, direction] = order === 'oldest' ? ['>', 'ASC'] : ['<', 'DESC'];
  const conditions = [
    accountId !== undefined && `account_id = ${bind(accountId)}`,
    after && `(created_at, id) ${behind} (CAST(${bind(after.createdAt)} AS bigint), ${bind(after.id)})`,
  ].filter((condition) => typeof condition === 'string');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `SELECT created_at AS "createdAt", id FROM keys ${where}
    ORDER BY created_at ${direction}, id ${direction} LIMIT 1 OFFSET ${bind(count - 1)}`;
}

/** Texts of a key; no name has a line break, so no part of two of them is found. */
const KEY_TEXTS = "coalesce(label, '') || '\n' || prefix || '\n' || keys.id || '\n' || accounts.name";

const found = (texts: string, find: string, bind: Bind, { contains, lower }: Words): string =>
  contains(lower(texts), bind(find.replace(/[A-Z]/g, (letter) => letter.toLowerCase())));

/** Keys of an account that its owner sees: not the ended ones of `gateway run`. `account`: its number. */
export const keysOfAccount = (account: string, now: string): string =>
  `SELECT count(*) FROM keys WHERE account_id = ${account}
     AND NOT (${IS_LEASE} AND (revoked_at IS NOT NULL OR expires_at <= ${now}))`;

/** Selects each AccountRow of a page, with its `keys`. `now`: the time in the engine's words. */
export function accountPage(query: AccountQuery, now: string, bind: Bind, words: Words): string {
  const { order = 'oldest', find, after, most } = query;
  const [behind, direction] = order === 'oldest' ? ['>', 'ASC'] : ['<', 'DESC'];
  const conditions = [
    after !== undefined && `accounts.id ${behind} ${bind(after)}`,
    find !== undefined && found('accounts.name', find, bind, words),
  ].filter((condition) => typeof condition === 'string');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `SELECT accounts.*, (${keysOfAccount('accounts.id', now)}) AS keys FROM accounts ${where}
    ORDER BY accounts.id ${direction}${most === undefined ? '' : ` LIMIT ${bind(most)}`}`;
}
