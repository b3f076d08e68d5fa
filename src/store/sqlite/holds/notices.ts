// Which window of a limit people were told of, so that they are told once.
import type { NoticeStore } from '../../holds/holds.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

type Reached = Parameters<NoticeStore['claimNotice']>[0];

export function prepareNotices(db: Db) {
  const claim = db.prepare<[Reached]>(
    `INSERT INTO notices (account_id, kind, per, until, threshold) VALUES (@accountId, @kind, @per, @until, @threshold)
     ON CONFLICT DO UPDATE SET until = excluded.until, threshold = excluded.threshold
     WHERE (excluded.until, excluded.threshold) > (notices.until, notices.threshold)`,
  );
  return { claimNotice: (reached: Reached): boolean => claim.run(reached).changes === 1 };
}

export function noticesOf({ run }: Pick<Connection<ReturnType<typeof prepareNotices>>, 'run'>): NoticeStore {
  return { claimNotice: (reached) => run((sql) => sql.claimNotice(reached)) };
}
