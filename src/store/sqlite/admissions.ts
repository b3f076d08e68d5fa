// Counts requests against their account's limit of the hour. Requests of one tick of the event loop are counted in one
// transaction, because the commit costs most (docs/decisions/0005). No promise resolves before the commit.
import { HOUR_MS } from '../../clock.ts';
import type { AdmissionCount, AdmissionKey } from '../store.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';

interface PendingAdmission {
  accountId: number;
  limit: number;
  now: number;
  resolve: (count: AdmissionCount) => void;
  reject: (error: unknown) => void;
}

type Statements = ReturnType<typeof prepareAdmissions>;

export function prepareAdmissions(db: Db) {
  const used = db
    .prepare<[accountId: number, hour: number], number>(
      'SELECT requests FROM hours WHERE account_id = ? AND hour = ?',
    )
    .pluck();
  // Two statements are faster than one with RETURNING, which makes SQLite open a temporary table for the row.
  const set = db.prepare<[accountId: number, hour: number, requests: number]>(
    `INSERT INTO hours (account_id, hour, requests) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = excluded.requests`,
  );

  /** Requests of the same account and hour share one read and one write. */
  const countAll = db.transaction((pending: readonly PendingAdmission[]): AdmissionCount[] => {
    const tallies = new Map<string, Tally>();
    const counts = pending.map(({ accountId, limit, now }): AdmissionCount => {
      const hour = now - (now % HOUR_MS);
      const name = `${accountId} ${hour}`;
      let tally = tallies.get(name);
      if (tally === undefined) {
        const before = used.get(accountId, hour) ?? 0;
        tallies.set(name, (tally = { accountId, hour, before, now: before }));
      }
      if (tally.now >= limit) return { outcome: 'full', used: tally.now, hour, now };
      return { outcome: 'admitted', used: ++tally.now, hour, now };
    });
    for (const { accountId, hour, before, now } of tallies.values()) {
      if (now > before) set.run(accountId, hour, now);
    }
    return counts;
  });
  return { used, countAdmissions: (pending: readonly PendingAdmission[]) => countAll.immediate(pending) };
}

interface Tally {
  accountId: number;
  hour: number;
  before: number;
  now: number;
}

export interface Admissions {
  admit: (key: AdmissionKey, limit: number, now: number) => Promise<AdmissionCount>;
  /** Counts the pending requests now. */
  flush(): Promise<void>;
}

export function createAdmissions(connection: Pick<Connection<Statements>, 'run'>): Admissions {
  let pending: PendingAdmission[] = [];

  async function flush(): Promise<void> {
    const batch = pending;
    if (batch.length === 0) return;
    pending = [];
    try {
      const counts = await connection.run((sql) => sql.countAdmissions(batch));
      for (const [index, count] of counts.entries()) batch[index]?.resolve(count);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    // The key is as found in this turn of the event loop (docs/decisions/0006), so it is not read again.
    admit: ({ accountId }, limit, now) =>
      new Promise((resolve, reject) => {
        const length = pending.push({ accountId, limit, now, resolve, reject });
        if (length === 1) process.nextTick(() => void flush());
      }),
    flush,
  };
}
