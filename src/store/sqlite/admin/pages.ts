// Lists of keys and accounts, as the admin API pages through them.
import type { Statement } from 'better-sqlite3';
import { accountPage, keyPage, keysOfAccount, passedKeys, type Words } from '../../admin/key-list.ts';
import type { AccountQuery, KeyQuery } from '../../admin/key-records.ts';
import { toAccount, toKey, type AccountRow, type KeyRow } from '../../rows.ts';
import type { Key, KeyPlace } from '../../store.ts';
import type { Db } from '../driver.ts';

/** SQLite's `lower` knows the letters a to z alone. */
const WORDS: Words = {
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  lower: (text) => `lower(${text})`,
};

type Value = string | number;

export function preparePages(db: Db) {
  const statements = new Map<string, Statement<Value[]>>();
  /** There are as many texts as ways to combine the filters. Values are bound in the order in which they stand in the text. */
  function all<Row>(write: (bind: (value: Value) => string) => string): Row[] {
    const values: Value[] = [];
    const sql = write((value) => (values.push(value), '?'));
    const statement = statements.get(sql) ?? db.prepare<Value[]>(sql);
    statements.set(sql, statement);
    return statement.all(...values) as Row[];
  }
  return {
    keys: (query: KeyQuery): Key[] => all<KeyRow>((bind) => keyPage(query, bind, WORDS)).map(toKey),
    passed: (query: Parameters<typeof passedKeys>[0], count: number): KeyPlace | undefined =>
      all<KeyPlace>((bind) => passedKeys(query, count, bind))[0],
    accounts: (query: AccountQuery = {}, now: number) =>
      all<AccountRow & { keys: number }>((bind) => accountPage(query, bind(now), bind, WORDS)).map((row) => ({
        ...toAccount(row),
        keys: row.keys,
      })),
    countKeys: (accountId: number, now: number): number =>
      all<{ keys: number }>((bind) => `SELECT (${keysOfAccount(bind(accountId), bind(now))}) AS keys`)[0]
        ?.keys ?? 0,
  };
}
