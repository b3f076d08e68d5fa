// Requests that were refused, in SQLite.
import type { StoredRefusal } from '../../holds/refusals.ts';
import { DELETE_SURPLUS, refusalList, refusalsById, SET_TIMES } from '../../holds/refusals-sql.ts';
import type { RefusalStore } from '../../store.ts';
import { deleteInSteps } from '../background.ts';
import type { Connection } from '../connection.ts';
import { namedValues } from './requests.ts';

const ADD = `
  INSERT INTO refusals (at, request_id, account_id, key_id, endpoint, model_asked, conversation, label, client, status,
    error, message, times)
  SELECT @at, @requestId, @accountId, @keyId, @endpoint, @modelAsked, @conversation, @label, @client, @status,
    @error, @message, @times
  WHERE EXISTS (SELECT 1 FROM accounts WHERE id = @accountId) ${SET_TIMES}`;
const PRUNE = 'DELETE FROM refusals WHERE id IN (SELECT id FROM refusals WHERE at < ? LIMIT ?)';

/** Seldom asked: statements are not kept. */
export function refusalsOf({ run }: Pick<Connection<unknown>, 'run'>): RefusalStore {
  const all = (sqlOf: (add: (value: string | number) => string) => string | undefined) => {
    const { values, add } = namedValues();
    const sql = sqlOf(add);
    if (sql === undefined) return Promise.resolve([]);
    return run((_, db) => db.prepare<[object], StoredRefusal>(sql).all(values));
  };
  return {
    recordRefusals: (rows) =>
      run((_, db) => {
        const add = db.prepare<[object]>(ADD);
        const surplus = db.prepare(DELETE_SURPLUS);
        db.transaction(() => {
          for (const row of rows) add.run(row);
          surplus.run();
        }).immediate();
      }),
    listRefusals: (query) => all((add) => refusalList(query, add)),
    findRefusals: (query) => all((add) => refusalsById(query, add)),
  };
}

export const pruneRefusals = (
  connection: Parameters<typeof deleteInSteps>[0],
  before: number,
): Promise<void> => deleteInSteps(connection, PRUNE, before);
