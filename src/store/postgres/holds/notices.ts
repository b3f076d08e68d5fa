// Which window of a limit people were told of, so that they are told once, whichever machine notices it.
import type { NoticeStore } from '../../holds/holds.ts';
import type { Connection } from '../connection.ts';

const CLAIM = {
  text: `INSERT INTO notices (account_id, kind, per, until, threshold) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (account_id, kind, per) DO UPDATE SET until = excluded.until, threshold = excluded.threshold
    WHERE (excluded.until, excluded.threshold) > (notices.until, notices.threshold)`,
};

export function createNotices(connection: Connection): NoticeStore {
  return {
    async claimNotice({ accountId, kind, per, until, threshold }) {
      const { changes } = await connection.run(CLAIM, accountId, kind, per, until, threshold);
      return changes === 1;
    },
  };
}
