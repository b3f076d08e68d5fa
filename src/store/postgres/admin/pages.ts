// Lists of keys and accounts, as the admin API pages through them.
import { accountPage, keyPage, keysOfAccount, passedKeys, type Words } from '../../admin/key-list.ts';
import type { AccountQuery, KeyQuery } from '../../admin/key-records.ts';
import { toAccount, toKey, type AccountRow, type KeyRow } from '../../rows.ts';
import type { Key, KeyPlace } from '../../store.ts';
import type { Connection, Value } from '../connection.ts';

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)';

/** As SQLite: the letters a to z alone. */
const WORDS: Words = {
  contains: (text, part) => `position(${part} IN ${text}) > 0`,
  lower: (text) => `lower((${text}) COLLATE "C")`,
};

export function createPages(connection: Connection) {
  function all<Row>(write: (bind: (value: Value) => string) => string): Promise<Row[]> {
    const values: Value[] = [];
    const text = write((value) => `$${values.push(value)}`);
    return connection.read<Row>({ text }, ...values);
  }
  return {
    pageOfKeys: async (query: KeyQuery): Promise<Key[]> =>
      (await all<KeyRow>((bind) => keyPage(query, bind, WORDS))).map(toKey),
    passKeys: async (query: Parameters<typeof passedKeys>[0], count: number): Promise<KeyPlace | undefined> =>
      (await all<KeyPlace>((bind) => passedKeys(query, count, bind)))[0],
    listAccounts: async (query: AccountQuery = {}) =>
      (await all<AccountRow & { keys: number }>((bind) => accountPage(query, NOW, bind, WORDS))).map(
        (row) => ({ ...toAccount(row), keys: row.keys }),
      ),
    countKeys: async (accountId: number): Promise<number> =>
      (await all<{ keys: number }>((bind) => `SELECT (${keysOfAccount(bind(accountId), NOW)}) AS keys`))[0]
        ?.keys ?? 0,
  };
}
