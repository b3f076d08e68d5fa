// The store on one SQLite file. Calls are synchronous underneath, a few microseconds each; every process on the machine may
// share the file.
import type { Grouping, Store, UsageRow } from '../store.ts';
import { openFile, storeError } from './file.ts';
import { migrate } from './migrations.ts';
import { accountOf, keyOf, totalsOf, type AccountRow, type KeyRow, type TotalsRow } from './rows.ts';
import { prepareStatements } from './statements.ts';

export async function openSqlite(path: string): Promise<Store> {
  const db = await openFile(path);
  try {
    migrate(db, path);
  } catch (error) {
    db.close();
    throw storeError(error, path);
  }
  const sql = prepareStatements(db);

  /** Whatever SQLite throws becomes a rejection with StoreError. */
  async function run<Result>(task: () => Result): Promise<Result> {
    try {
      return task();
    } catch (error) {
      throw storeError(error, path);
    }
  }

  function readKey(id: string): ReturnType<typeof keyOf> | undefined {
    const row = sql.keyById.get(id) as KeyRow | undefined;
    return row === undefined ? undefined : keyOf(row);
  }

  const addAll = db.transaction((rows: readonly UsageRow[]) => {
    for (const row of rows) sql.addUsage.run({ ...row, streamed: row.streamed ? 1 : 0 });
  });
  const touchAll = db.transaction((uses: ReadonlyMap<string, number>) => {
    for (const [key, at] of uses) sql.touch.run(at, key);
  });

  return {
    location: path,
    admit: (account, hour, limit) => run(() => sql.admit.get({ account, hour, limit }) as number | undefined),
    used: (account, hour) => run(() => (sql.used.get(account, hour) as number | undefined) ?? 0),

    findKey: (hash) =>
      run(() => {
        const row = sql.findKey.get(hash) as KeyRow | undefined;
        return row === undefined ? undefined : keyOf(row);
      }),
    createKey: (key) =>
      run(() =>
        db
          .transaction(() => {
            sql.addAccount.run(key.account, key.tier, key.createdAt);
            const account = sql.account.get(key.account) as AccountRow;
            const { id, hash, prefix, label, createdAt, expiresAt } = key;
            const models = key.models === null ? null : JSON.stringify(key.models);
            const permissions = key.permissions.join(',');
            sql.addKey.run({
              ...{ id, account: account.id, hash, prefix, label, permissions, models, createdAt, expiresAt },
            });
            const created = readKey(id);
            if (created === undefined) throw new Error('the key that was just written is not there');
            return created;
          })
          .immediate(),
      ),
    listKeys: (account) => run(() => (sql.keys.all({ account: account ?? null }) as KeyRow[]).map(keyOf)),
    revokeKey: (id, at) =>
      run(() => {
        sql.revoke.run(at, id);
        return readKey(id);
      }),
    touchKeys: (uses) => run(() => touchAll.immediate(uses)),

    findAccount: (name) =>
      run(() => {
        const row = sql.account.get(name) as AccountRow | undefined;
        return row === undefined ? undefined : accountOf(row);
      }),
    listAccounts: () =>
      run(() =>
        (sql.accounts.all() as (AccountRow & { keys: number })[]).map((row) => ({
          ...accountOf(row),
          keys: row.keys,
        })),
      ),
    assignTier: (name, tier) =>
      run(() => {
        sql.assignTier.run(tier, name);
        const row = sql.account.get(name) as AccountRow | undefined;
        return row === undefined ? undefined : accountOf(row);
      }),

    recordUsage: (rows) => run(() => addAll.immediate(rows)),
    admissionsByHour: (account, since) =>
      run(() => sql.hours.all(account, since) as { hour: number; requests: number }[]),
    totals: (account, since) =>
      run(() => totalsOf(sql.totals.get({ account: account ?? null, since }) as TotalsRow)),
    totalsBy: (grouping, account, since) =>
      run(() =>
        (sql.totalsBy[grouping].all({ account: account ?? null, since }) as GroupRow[]).map((row) => ({
          group: groupOf(grouping, row),
          totals: totalsOf(row),
        })),
      ),
    async prune(before) {
      while ((await run(() => sql.pruneUsage.run(before))).changes > 0) await new Promise(setImmediate);
      await run(() => sql.pruneHours.run(before));
    },
    idle: () => run(() => void db.pragma('wal_checkpoint(PASSIVE)')),
    close: () => run(() => void db.close()),
  };
}

type GroupRow = TotalsRow & {
  account?: string | null;
  key?: string;
  model?: string | null;
  provider?: string | null;
  hour?: number;
};

function groupOf(grouping: Grouping, row: GroupRow): Record<string, string | null> {
  const groups = {
    account: () => ({ account: row.account ?? null }),
    key: () => ({ key: row.key ?? null }),
    model: () => ({ model: row.model ?? null, provider: row.provider ?? null }),
    hour: () => ({ hour: new Date(row.hour ?? 0).toISOString() }),
  } satisfies Record<Grouping, () => Record<string, string | null>>;
  return groups[grouping]();
}
