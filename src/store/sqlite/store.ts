// The Store on a SQLite file: connects the interface with the prepared statements of each area. An admission resolves after
// its commit, so that a killed process has counted every request that it admitted.
import type { Clock } from '../../clock.ts';
import { readItemKey } from '../items/cipher.ts';
import type { Store, TargetHealth } from '../store.ts';
import { prepareAccounts, removeAccount, removeLeftData } from './accounts.ts';
import { adminOf, prepareAdmin } from './admin/admin.ts';
import { loadedLater } from '../admin/sign-ins.ts';
import { createAdmissions, prepareAdmissions, keysOf, prepareKeys } from './access.ts';
import { createPace, inSteps } from './background.ts';
import { connect, type Connection } from './connection.ts';
import { loadDriver, type Db } from './driver.ts';
import { brakesOf, prepareBrakes } from './holds/brakes.ts';
import { grantsOf, prepareGrants } from './holds/grants.ts';
import { createHolds, prepareHolds } from './holds/holds.ts';
import { noticesOf, prepareNotices } from './holds/notices.ts';
import { prepareItems, pruneItems } from './items.ts';
import { pruneRefusals, refusalsOf } from './usage/refusals.ts';
import { findRequests, prepareRequests } from './usage/requests.ts';
import { prepareUsage, prune, sumUp } from './usage/rows.ts';
import { workLater } from '../holds/work.ts';
import { backup, exportRecords, importRecords } from './transfer.ts';

const work = () => import('./holds/work.ts');

const CREATED = 'SELECT applied_at FROM migrations ORDER BY name LIMIT 1';

export async function openSqlite(file: string, clock: Clock): Promise<Store> {
  const driver = await loadDriver();
  let createdAt = 0;
  const connection = await connect({
    ...{ driver, file, clock },
    // Once more when another file takes the path.
    prepare(db) {
      createdAt = db.prepare<[], number>(CREATED).pluck().get() ?? 0;
      return prepare(db);
    },
  });
  const run = connection.run;
  const inPace = createPace(connection);
  const admissions = createAdmissions(connection);
  const alone = () => connect({ driver, file, clock, prepare: (db) => ({ holds: prepareHolds(db) }) });
  const holds = createHolds(connection, alone, clock);
  return {
    location: file,
    get createdAt() {
      return createdAt;
    },
    itemKey: () => readItemKey(`${file}.key`),

    admit: admissions.admit,
    ...holds.store,
    ...{ ...grantsOf(connection), ...brakesOf(connection), ...noticesOf(connection) },
    used: (accountId, hour) => run((sql) => sql.used.get(accountId, hour) ?? 0),

    ...keysOf(connection),
    pruneKeys: (before) => inSteps(connection, (sql, most) => sql.pruneKeys(before, most)),

    findAccount: (name) => run((sql) => sql.findAccount(name)),
    listAccounts: (query) => run(({ pages }) => pages.accounts(query, clock.now())),
    countKeys: (accountId) => run(({ pages }) => pages.countKeys(accountId, clock.now())),
    assignTier: (account, tier, from) => run((sql) => sql.assignTier(account, tier, from)),
    renameAccount: (name, to) => run((sql) => sql.renameAccount(name, to)),
    removeAccount: (name) => removeAccount(connection, name),

    recordUsage: (rows, batch) => inPace(({ usage }) => usage.record(rows, batch)),
    admissionsByHour: (accountId, since) => run(({ usage }) => usage.admissionsByHour(accountId, since)),
    totals: (accountId, since) => run(({ usage }) => usage.totals(accountId, since)),
    totalsBy: (grouping, accountId, since, until) =>
      run(({ usage }) => usage.totalsBy(grouping, accountId, since, until)),
    rowTotals: (accountId, from, to) => run(({ usage }) => usage.rowTotals(accountId, from, to)),
    listRequests: (query) => run(({ requests }) => requests.list(query)),
    conversationParts: (query) => run(({ requests }) => requests.conversations(query)),
    passRequests: (window, count) => run(({ requests }) => requests.passed(window, count)),
    findRequests: (query) => findRequests(connection, query),
    publishHealth: (unhealthy, recovered) => run((sql) => sql.publishHealth(unhealthy, recovered)),
    listHealth: (now) => run((sql) => sql.listHealth.all(now)),
    prune: (now, keep) => pruneOld(connection, now, keep),
    storeItems: (rows, bounds) => run(({ items }) => items.store(rows, bounds)),
    findItems: (accountId, ids, now, mostBytes) =>
      run(({ items }) => items.find(accountId, ids, now, mostBytes)),
    extendItems: (accountId, ids, until) => run(({ items }) => void items.extend(accountId, ids, until)),
    deleteItems: (accountId, ids) => run(({ items }) => items.remove(accountId, ids)),
    pruneItems: (now) => pruneItems(connection, now),
    ...adminOf(connection),
    ...loadedLater(async () => (await import('./admin/sign-ins.ts')).signInsOf(connection)),
    ...workLater(async () => (await work()).workOf(connection)),
    ...refusalsOf(connection),
    exportRecords: () => exportRecords(driver, file),
    async importRecords(batches, audit) {
      const done = await importRecords(driver, file, batches, audit);
      if (done) await sumUp(connection);
      return done;
    },
    backup: (target, cancellation) => backup(driver, file, target, cancellation),
    ping: () => connection.runOnce((sql) => void sql.ping.get()),
    idle: () => run((_, db) => void db.pragma('wal_checkpoint(PASSIVE)')),
    async close() {
      await admissions.flush();
      await holds.close();
      connection.close();
    },
  };
}

async function pruneOld(connection: Connection<Statements>, now: number, keep: number): Promise<void> {
  await removeLeftData(connection);
  await prune(connection, now, keep);
  await inSteps(connection, (sql, most) => sql.holds.pruneSpending(now, most));
  await inSteps(connection, (sql, most) => sql.pruneGrants(now - keep, most));
  await inSteps(connection, ({ brakes }, most) => brakes.prune(now, keep, most));
  await (await work()).pruneWork(connection, now - keep);
  await pruneRefusals(connection, now - keep);
}

function prepare(db: Db) {
  const keys = prepareKeys(db);
  const holds = prepareHolds(db);
  return {
    ...prepareAdmissions(db),
    ...prepareAccounts(db, keys.forgetKeys, holds.removeLimitsOf),
    ...prepareGrants(db, keys.forgetKeys),
    ...prepareNotices(db),
    holds,
    brakes: prepareBrakes(db),
    ...keys,
    ...prepareHealth(db),
    usage: prepareUsage(db, keys.touchKey, holds.ledger.spend),
    requests: prepareRequests(db),
    items: prepareItems(db),
    admin: prepareAdmin(db),
    database: db,
    ping: db.prepare('SELECT count(*) FROM migrations'),
  };
}

export type Statements = ReturnType<typeof prepare>;

function prepareHealth(db: Db) {
  const set = db.prepare<[string, string, number]>(
    `INSERT INTO health (target, state, until) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, until = excluded.until`,
  );
  const remove = db.prepare<[string]>('DELETE FROM health WHERE target = ?');
  const publish = db.transaction((unhealthy: readonly TargetHealth[], recovered: readonly string[]): void => {
    for (const target of recovered) remove.run(target);
    for (const { target, state, until } of unhealthy) set.run(target, state, until);
  });
  return {
    publishHealth: (unhealthy: readonly TargetHealth[], recovered: readonly string[]) =>
      publish.immediate(unhealthy, recovered),
    listHealth: db.prepare<[number], TargetHealth>('SELECT * FROM health WHERE until > ? ORDER BY target'),
  };
}
