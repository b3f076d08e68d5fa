// What agents say that they did in a conversation.
import { mergeOfWork, SUM_OF_WORK } from '../../holds/work-sql.ts';
import { NO_WORK, type Work, type WorkStore } from '../../holds/work.ts';
import type { Connection } from '../connection.ts';

// In one order, so that two writers never wait for each other.
const ADD = {
  text: `INSERT INTO conversation_work AS w
      (account_id, conversation, series, commits, pull_requests, lines_added, lines_removed, at)
    SELECT $1::bigint, conversation, series, commits, "pullRequests", "linesAdded", "linesRemoved", $3::bigint
    FROM jsonb_to_recordset($2::jsonb) AS given (conversation text, series text, commits bigint,
      "pullRequests" bigint, "linesAdded" bigint, "linesRemoved" bigint)
    WHERE EXISTS (SELECT 1 FROM accounts WHERE id = $1::bigint)
    ORDER BY conversation, series
    ON CONFLICT (account_id, conversation, series) DO UPDATE SET ${mergeOfWork('least', 'greatest')}`,
};
const READ = { text: `${SUM_OF_WORK} WHERE account_id = $1 AND conversation = $2` };

export function createWork(connection: Pick<Connection, 'run' | 'read'>): WorkStore {
  return {
    async countWork(accountId, rows, at) {
      await connection.run(ADD, accountId, JSON.stringify(rows), at);
    },
    workOf: async (accountId, conversation) =>
      (await connection.read<Work>(READ, accountId, conversation))[0] ?? NO_WORK,
  };
}
