// What agents say that they did in a conversation.
import { mergeOfWork, SUM_OF_WORK } from '../../holds/work-sql.ts';
import { NO_WORK, type Work, type WorkStore } from '../../holds/work.ts';
import { deleteInSteps } from '../background.ts';
import type { Connection } from '../connection.ts';

const ADD = `
  INSERT INTO conversation_work AS w
    (account_id, conversation, series, commits, pull_requests, lines_added, lines_removed, at)
  SELECT @accountId, @conversation, @series, @commits, @pullRequests, @linesAdded, @linesRemoved, @at
  WHERE EXISTS (SELECT 1 FROM accounts WHERE id = @accountId)
  ON CONFLICT DO UPDATE SET ${mergeOfWork('min', 'max')}`;
const PRUNE = `DELETE FROM conversation_work WHERE (account_id, conversation, series) IN
  (SELECT account_id, conversation, series FROM conversation_work WHERE at < ? LIMIT ?)`;

/** Asked about once a minute by each client: statements are not kept. */
export function workOf({ run }: Pick<Connection<unknown>, 'run'>): WorkStore {
  return {
    countWork: (accountId, rows, at) =>
      run((_, db) => {
        const add = db.prepare<[object]>(ADD);
        db.transaction(() => {
          for (const row of rows) add.run({ ...row, accountId, at });
        }).immediate();
      }),
    workOf: (accountId, conversation) =>
      run(
        (_, db) =>
          db
            .prepare<[number, string], Work>(`${SUM_OF_WORK} WHERE account_id = ? AND conversation = ?`)
            .get(accountId, conversation) ?? NO_WORK,
      ),
  };
}

/** Counts that did not change since that time. */
export const pruneWork = (connection: Parameters<typeof deleteInSteps>[0], before: number): Promise<void> =>
  deleteInSteps(connection, PRUNE, before);
