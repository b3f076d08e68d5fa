// Every statement, prepared once. Values are bound, names are ours: nothing from outside becomes SQL.
import type { Database, Statement } from 'better-sqlite3';
import type { Grouping } from '../store.ts';

const KEY = `SELECT k.id, k.account_id, a.name AS account, a.tier, k.prefix, k.label, k.permissions, k.models,
  k.created_at, k.last_used_at, k.expires_at, k.revoked_at FROM keys k JOIN accounts a ON a.id = k.account_id`;

/** `input` is null exactly where usage is unknown. */
const TOTALS = `COUNT(*) AS requests, COUNT(error) AS errors,
  COUNT(CASE WHEN error IS NULL AND input IS NULL THEN 1 END) AS unknown,
  COALESCE(SUM(input + COALESCE(cache_read, 0) + COALESCE(cache_write, 0)), 0) AS input_tokens,
  COALESCE(SUM(output), 0) AS output_tokens, SUM(cost_usd) AS cost_usd`;

const WINDOW = 'at >= :since AND (:account IS NULL OR account_id = :account)';

const HOUR_MS = 3_600_000;

const GROUPS = {
  account: { select: 'a.name AS "account"', by: 'account_id' },
  key: { select: 'key_id AS "key"', by: 'key_id' },
  model: { select: 'model AS "model", provider AS "provider"', by: 'model, provider' },
  hour: { select: `at / ${HOUR_MS} * ${HOUR_MS} AS "hour"`, by: `at / ${HOUR_MS}` },
} satisfies Record<Grouping, { select: string; by: string }>;

export type Statements = ReturnType<typeof prepareStatements>;

// eslint-disable-next-line @typescript-eslint/explicit-function-return-type -- the record is its type
export function prepareStatements(db: Database) {
  const statement = (sql: string): Statement => db.prepare(sql);
  const grouped = (grouping: Grouping): Statement => {
    const { select, by } = GROUPS[grouping];
    return db.prepare(
      `SELECT ${select}, ${TOTALS} FROM usage LEFT JOIN accounts a ON a.id = usage.account_id
       WHERE ${WINDOW} GROUP BY ${by} ORDER BY ${grouping === 'hour' ? 'hour' : 'requests DESC'}`,
    );
  };
  return {
    admit: statement(
      `INSERT INTO hours (account_id, hour, requests) SELECT :account, :hour, 1 WHERE :limit >= 1
       ON CONFLICT (account_id, hour) DO UPDATE SET requests = requests + 1 WHERE requests < :limit
       RETURNING requests`,
    ).pluck(),
    used: statement('SELECT requests FROM hours WHERE account_id = ? AND hour = ?').pluck(),
    findKey: statement(`${KEY} WHERE k.hash = ?`),
    keyById: statement(`${KEY} WHERE k.id = ?`),
    keys: statement(`${KEY} WHERE :account IS NULL OR a.name = :account ORDER BY k.created_at, k.rowid`),
    addAccount: statement(
      'INSERT INTO accounts (name, tier, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING',
    ),
    addKey: statement(
      `INSERT INTO keys (id, account_id, hash, prefix, label, permissions, models, created_at, expires_at)
       VALUES (:id, :account, :hash, :prefix, :label, :permissions, :models, :createdAt, :expiresAt)`,
    ),
    revoke: statement('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL'),
    touch: statement('UPDATE keys SET last_used_at = MAX(COALESCE(last_used_at, 0), ?) WHERE id = ?'),
    account: statement('SELECT id, name, tier, created_at FROM accounts WHERE name = ?'),
    accounts: statement(
      `SELECT a.id, a.name, a.tier, a.created_at, COUNT(k.id) AS keys FROM accounts a
       LEFT JOIN keys k ON k.account_id = a.id GROUP BY a.id ORDER BY a.id`,
    ),
    assignTier: statement('UPDATE accounts SET tier = ? WHERE name = ?'),
    addUsage: statement(
      `INSERT INTO usage (at, account_id, key_id, endpoint, model_asked, provider, model, status, streamed, input,
         cache_read, cache_write, output, reasoning, cost_usd, first_byte_ms, duration_ms, error)
       VALUES (:at, :accountId, :keyId, :endpoint, :modelAsked, :provider, :model, :status, :streamed, :input,
         :cacheRead, :cacheWrite, :output, :reasoning, :costUsd, :firstByteMs, :durationMs, :error)`,
    ),
    hours: statement('SELECT hour, requests FROM hours WHERE account_id = ? AND hour >= ? ORDER BY hour'),
    totals: statement(`SELECT ${TOTALS} FROM usage WHERE ${WINDOW}`),
    totalsBy: {
      account: grouped('account'),
      key: grouped('key'),
      model: grouped('model'),
      hour: grouped('hour'),
    } satisfies Record<Grouping, Statement>,
    pruneUsage: statement('DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? LIMIT 1000)'),
    pruneHours: statement('DELETE FROM hours WHERE hour < ?'),
  };
}
