// The store on a SQLite file: accounts, keys and admissions, one prepared statement each. Every admission is committed
// before it is told, so a killed process has counted what it let through.
import type { Clock } from '../../clock.ts';
import type { Account, Key, NewKey, Permission, Store, TargetHealth } from '../store.ts';
import { connect } from './connection.ts';
import { loadEngine, type Db } from './engine.ts';
import { prepareUsage, prune } from './usage.ts';

interface AccountRow {
  id: number;
  name: string;
  tier: string;
  created_at: number;
}

interface KeyRow {
  id: string;
  account_id: number;
  account: string;
  tier: string;
  prefix: string;
  label: string | null;
  permissions: string;
  models: string | null;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

export async function openSqlite(file: string, clock: Clock): Promise<Store> {
  const engine = await loadEngine();
  const connection = await connect({ engine, file, clock, prepare });
  const run = connection.run;
  return {
    location: file,

    admit: (accountId, hour, limit) => run((sql) => sql.admit.all(accountId, hour, limit, limit)[0]),
    used: (accountId, hour) => run((sql) => sql.used.get(accountId, hour) ?? 0),

    findKey: (hash) => run((sql) => optional(sql.findKey.get(hash), toKey)),
    createKey: (key) => run((sql) => toKey(sql.createKey(key))),
    listKeys: (account) =>
      run((sql) => (account === undefined ? sql.listKeys.all() : sql.listKeysOf.all(account)).map(toKey)),
    revokeKey: (id, at) => run((sql) => optional(sql.revokeKey(id, at), toKey)),
    touchKeys: (uses) => run((sql) => sql.touchKeys(uses)),

    findAccount: (name) => run((sql) => optional(sql.findAccount.get(name), toAccount)),
    listAccounts: () =>
      run((sql) => sql.listAccounts.all().map((row) => ({ ...toAccount(row), keys: row.keys }))),
    assignTier: (account, tier) => run((sql) => optional(sql.assignTier.all(tier, account)[0], toAccount)),

    recordUsage: (rows) => run(({ usage }) => usage.record(rows)),
    admissionsByHour: (accountId, since) => run(({ usage }) => usage.byHour(accountId, since)),
    totals: (accountId, since) => run(({ usage }) => usage.totals(accountId, since)),
    totalsBy: (grouping, accountId, since) => run(({ usage }) => usage.totalsBy(grouping, accountId, since)),
    publishHealth: (outOfTurn, well) => run((sql) => sql.publishHealth(outOfTurn, well)),
    listHealth: (now) => run((sql) => sql.listHealth.all(now)),
    prune: (before) => prune(connection, before),
    idle: () => run((_, db) => void db.pragma('wal_checkpoint(PASSIVE)')),
    close: () => Promise.resolve(connection.close()),
  };
}

const KEY = `
  SELECT keys.id, account_id, accounts.name AS account, accounts.tier, prefix, label, permissions, models,
    keys.created_at, last_used_at, expires_at, revoked_at
  FROM keys JOIN accounts ON accounts.id = account_id`;

function prepare(db: Db) {
  return { ...prepareAccounts(db), ...prepareKeys(db), ...prepareHealth(db), usage: prepareUsage(db) };
}

export type Statements = ReturnType<typeof prepare>;

/** Statements that write are run to their end, with `all` or `run`: `get` stops at the first row, and says nothing where
 *  the commit that follows fails (a full disk). */
function prepareAccounts(db: Db) {
  return {
    admit: db
      .prepare<[accountId: number, hour: number, limit: number, again: number], number>(
        `INSERT INTO hours (account_id, hour, requests) SELECT ?, ?, 1 WHERE ? >= 1
         ON CONFLICT DO UPDATE SET requests = requests + 1 WHERE requests < ? RETURNING requests`,
      )
      .pluck(),
    used: db
      .prepare<[number, number], number>('SELECT requests FROM hours WHERE account_id = ? AND hour = ?')
      .pluck(),
    findAccount: db.prepare<[string], AccountRow>('SELECT * FROM accounts WHERE name = ?'),
    listAccounts: db.prepare<[], AccountRow & { keys: number }>(
      `SELECT accounts.*, (SELECT count(*) FROM keys WHERE account_id = accounts.id) AS keys
       FROM accounts ORDER BY accounts.id`,
    ),
    assignTier: db.prepare<[tier: string, account: string], AccountRow>(
      'UPDATE accounts SET tier = ? WHERE name = ? RETURNING *',
    ),
  };
}

function prepareHealth(db: Db) {
  const set = db.prepare<[string, string, number]>(
    `INSERT INTO health (target, state, until) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, until = excluded.until`,
  );
  const remove = db.prepare<[string]>('DELETE FROM health WHERE target = ?');
  const publish = db.transaction((outOfTurn: readonly TargetHealth[], well: readonly string[]): void => {
    for (const target of well) remove.run(target);
    for (const { target, state, until } of outOfTurn) set.run(target, state, until);
  });
  return {
    publishHealth: (outOfTurn: readonly TargetHealth[], well: readonly string[]) =>
      publish.immediate(outOfTurn, well),
    listHealth: db.prepare<[number], TargetHealth>('SELECT * FROM health WHERE until > ? ORDER BY target'),
  };
}

function prepareKeys(db: Db) {
  const findById = db.prepare<[string], KeyRow>(`${KEY} WHERE keys.id = ?`);
  const addAccount = db.prepare(
    'INSERT INTO accounts (name, tier, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING',
  );
  const addKey = db.prepare(
    `INSERT INTO keys (id, hash, account_id, prefix, label, permissions, models, created_at, expires_at)
     VALUES (?, ?, (SELECT id FROM accounts WHERE name = ?), ?, ?, ?, ?, ?, ?)`,
  );
  const revoke = db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const touch = db.prepare(
    'UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
  );
  const create = db.transaction((key: NewKey): KeyRow => {
    addAccount.run(key.account, key.tier, key.createdAt);
    const models = key.models === null ? null : JSON.stringify(key.models);
    addKey.run(
      ...[key.id, key.hash, key.account, key.prefix, key.label, key.permissions.join(',')],
      ...[models, key.createdAt, key.expiresAt],
    );
    return existing(findById.get(key.id));
  });
  const revokeFound = db.transaction((id: string, at: number): KeyRow | undefined => {
    revoke.run(at, id);
    return findById.get(id);
  });
  const touchAll = db.transaction((uses: ReadonlyMap<string, number>): void => {
    for (const [id, at] of uses) touch.run(at, id, at);
  });
  return {
    findKey: db.prepare<[Buffer], KeyRow>(`${KEY} WHERE hash = ?`),
    listKeys: db.prepare<[], KeyRow>(`${KEY} ORDER BY keys.created_at, keys.rowid`),
    listKeysOf: db.prepare<[string], KeyRow>(
      `${KEY} WHERE accounts.name = ? ORDER BY keys.created_at, keys.rowid`,
    ),
    // A transaction that reads and then writes takes its lock at once: a later one would fail without a wait.
    createKey: (key: NewKey) => create.immediate(key),
    revokeKey: (id: string, at: number) => revokeFound.immediate(id, at),
    touchKeys: (uses: ReadonlyMap<string, number>) => touchAll.immediate(uses),
  };
}

function existing<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a row that was just written is not there');
  return row;
}

function optional<Row, Value>(row: Row | undefined, read: (row: Row) => Value): Value | undefined {
  return row === undefined ? undefined : read(row);
}

function toAccount({ id, name, tier, created_at: createdAt }: AccountRow): Account {
  return { id, name, tier, createdAt };
}

function toKey(row: KeyRow): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    account: row.account,
    tier: row.tier,
    prefix: row.prefix,
    label: row.label,
    permissions: row.permissions === '' ? [] : (row.permissions.split(',') as Permission[]),
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}
