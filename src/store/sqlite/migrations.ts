// The schema as a list of steps. New steps are appended; released steps never change. A database whose applied steps are
// not a prefix of this list belongs to a newer gateway or to another program, and stays unchanged.
import { KEY_ORDER } from '../admin/key-list.ts';
import { StoreError } from '../store.ts';
import type { Db } from './driver.ts';
import { BRAKES, LIMITS, NOTICES, REFUSALS, WORK } from './holds/schema.ts';

interface Migration {
  name: string;
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-accounts-keys-usage',
    // Times are milliseconds since the epoch. Usage rows have no foreign key to accounts and keys, so that one bad row never
    // rejects a batch. Counts are stored by account, so that an admission is one look-up.
    sql: `
      CREATE TABLE accounts (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        tier TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        account_id INTEGER NOT NULL REFERENCES accounts (id),
        hash BLOB NOT NULL UNIQUE,
        prefix TEXT NOT NULL,
        label TEXT,
        permissions TEXT NOT NULL,
        models TEXT,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        expires_at INTEGER,
        revoked_at INTEGER
      ) STRICT;
      CREATE INDEX keys_account ON keys (account_id);
      CREATE TABLE hours (
        account_id INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (account_id, hour)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE usage (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        account_id INTEGER NOT NULL,
        key_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        model_asked TEXT NOT NULL,
        provider TEXT,
        model TEXT,
        status INTEGER NOT NULL,
        streamed INTEGER NOT NULL,
        input INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        output INTEGER,
        reasoning INTEGER,
        cost_usd REAL,
        first_byte_ms REAL,
        duration_ms REAL NOT NULL,
        error TEXT
      ) STRICT;
      CREATE INDEX usage_at ON usage (at);
      CREATE INDEX usage_account ON usage (account_id, at);
    `,
  },
  {
    name: '0002-health',
    // Targets that running servers avoid, for other processes that ask.
    sql: `
      CREATE TABLE health (
        target TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        until INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    name: '0003-usage-without-account-index',
    // Sums cover a span of time, for which `usage_at` suffices. This index made each insert slower by a sixth.
    sql: 'DROP INDEX usage_account;',
  },
  {
    name: '0004-usage-by-hour',
    // Sums by hour, so that a report reads hours and not requests. A trigger updates them for every inserted row, also for
    // rows of an older gateway. Existing rows (`old_usage`: IDs from `next` on, below `last`) are added later, in small steps.
    // Provider and model are '' if no target was reached.
    sql: `
      CREATE TABLE usage_hours (
        hour INTEGER NOT NULL,
        account_id INTEGER NOT NULL,
        key_id TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        requests INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        unknown INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cost_usd REAL,
        PRIMARY KEY (hour, account_id, key_id, provider, model)
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER usage_by_hour AFTER INSERT ON usage BEGIN
        INSERT INTO usage_hours VALUES (
          new.at - new.at % 3600000,
          new.account_id,
          new.key_id,
          coalesce(new.provider, ''),
          coalesce(new.model, ''),
          1,
          new.error IS NOT NULL,
          new.error IS NULL AND (new.input IS NULL OR new.output IS NULL),
          new.input IS NOT NULL AND new.output IS NOT NULL AND new.cost_usd IS NULL,
          iif(new.output IS NULL, 0, coalesce(new.input + coalesce(new.cache_read, 0) + coalesce(new.cache_write, 0), 0)),
          iif(new.input IS NULL, 0, coalesce(new.output, 0)),
          new.cost_usd
        )
        ON CONFLICT DO UPDATE SET
          requests = requests + 1,
          errors = errors + excluded.errors,
          unknown = unknown + excluded.unknown,
          unpriced = unpriced + excluded.unpriced,
          input = input + excluded.input,
          output = output + excluded.output,
          cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd, excluded.cost_usd);
      END;
      CREATE TABLE old_usage (next INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
      INSERT INTO old_usage SELECT coalesce(min(id), 0), coalesce(max(id) + 1, 0) FROM usage;
    `,
  },
  {
    name: '0005-items',
    sql: `
      CREATE TABLE items (
        account_id INTEGER NOT NULL REFERENCES accounts (id),
        id TEXT NOT NULL,
        at INTEGER NOT NULL,
        until INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (account_id, id)
      ) STRICT;
      CREATE INDEX items_of_account ON items (account_id, at, id, bytes);
      CREATE INDEX items_by_age ON items (at, id, account_id, bytes);
      CREATE INDEX items_until ON items (until);
      CREATE TABLE item_bytes (account_id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
      CREATE TRIGGER item_stored AFTER INSERT ON items BEGIN
        INSERT INTO item_bytes VALUES (new.account_id, new.bytes)
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
      END;
      CREATE TRIGGER item_deleted AFTER DELETE ON items BEGIN
        UPDATE item_bytes SET bytes = bytes - old.bytes WHERE account_id = old.account_id;
      END;
    `,
  },
  {
    name: '0006-keys-for-responses',
    // A key that was created without a list has all permissions. Those of a gateway with two protocols are stored as both names.
    sql: "UPDATE keys SET permissions = 'chat,messages,responses' WHERE permissions = 'chat,messages';",
  },
  {
    name: '0007-removed-accounts',
    // Numbers of removed accounts, so that no new account gets one of them. `data_left`: usage of the account is still to be deleted.
    sql: 'CREATE TABLE removed_accounts (id INTEGER PRIMARY KEY, data_left INTEGER NOT NULL) STRICT;',
  },
  {
    name: '0008-requests',
    // Null in rows of an older gateway. A request's id holds its time, so that `usage_at` finds it. `detail` is JSON, null for a
    // request that has nothing to note.
    sql: `
      ALTER TABLE usage ADD COLUMN request_id TEXT;
      ALTER TABLE usage ADD COLUMN attempts INTEGER;
      ALTER TABLE usage ADD COLUMN detail TEXT;
    `,
  },
  {
    name: '0009-admin',
    // Tokens of the admin API, and the changes that were made through it.
    sql: `
      CREATE TABLE admin_tokens (
        id TEXT PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        prefix TEXT NOT NULL,
        label TEXT,
        scope TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        expires_at INTEGER,
        revoked_at INTEGER
      ) STRICT;
      CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        detail TEXT NOT NULL,
        status INTEGER
      ) STRICT;
    `,
  },
  {
    name: '0010-usage-sums',
    // Sums by hour and day for each kind of report, in place of those by hour that a trigger updated for every row. Rows with an ID
    // above `usage_summed` are added later, those of an older gateway too. A new row gets the highest ID plus 1, so the boundary
    // must not be above the highest ID: the trigger lowers it if the last rows are deleted. Kinds: ../usage-sums.ts.
    sql: `
      DROP TRIGGER usage_by_hour;
      DROP TABLE usage_hours;
      DROP TABLE old_usage;
      CREATE TABLE usage_sums (
        kind INTEGER NOT NULL,
        at INTEGER NOT NULL,
        account_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        provider TEXT NOT NULL,
        requests INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        unknown INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        priced INTEGER NOT NULL,
        input INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cost_usd REAL NOT NULL,
        first_byte_0 INTEGER NOT NULL,
        first_byte_1 INTEGER NOT NULL,
        first_byte_2 INTEGER NOT NULL,
        first_byte_3 INTEGER NOT NULL,
        first_byte_4 INTEGER NOT NULL,
        first_byte_5 INTEGER NOT NULL,
        first_byte_6 INTEGER NOT NULL,
        first_byte_7 INTEGER NOT NULL,
        first_byte_8 INTEGER NOT NULL,
        first_byte_9 INTEGER NOT NULL,
        first_byte_10 INTEGER NOT NULL,
        first_byte_11 INTEGER NOT NULL,
        first_byte_12 INTEGER NOT NULL,
        first_byte_13 INTEGER NOT NULL,
        first_byte_14 INTEGER NOT NULL,
        first_byte_15 INTEGER NOT NULL,
        PRIMARY KEY (kind, at, account_id, name, provider)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE usage_summed (id INTEGER NOT NULL) STRICT;
      INSERT INTO usage_summed VALUES (0);
      CREATE TRIGGER usage_deleted AFTER DELETE ON usage WHEN old.id >= (SELECT id FROM usage_summed) BEGIN
        UPDATE usage_summed SET id = (SELECT coalesce(max(id), 0) FROM usage)
        WHERE id > (SELECT coalesce(max(id), 0) FROM usage);
      END;
    `,
  },
  {
    name: '0011-usage-writers',
    // The last batch of usage rows of each process, so that a batch is not written again after an unclear failure.
    sql: `
      CREATE TABLE usage_writers (
        id TEXT PRIMARY KEY,
        batch INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    name: '0012-conversations',
    // Which conversation a request belongs to, whose part of it, and why its prompt was not found in a cache. Null in rows of an older
    // gateway, so that their sums by label are those of their account.
    sql: `
      ALTER TABLE keys ADD COLUMN usage_label TEXT;
      ALTER TABLE usage ADD COLUMN conversation TEXT;
      ALTER TABLE usage ADD COLUMN agent TEXT;
      ALTER TABLE usage ADD COLUMN parent_agent TEXT;
      ALTER TABLE usage ADD COLUMN agent_type TEXT;
      ALTER TABLE usage ADD COLUMN class TEXT;
      ALTER TABLE usage ADD COLUMN prompt TEXT;
      ALTER TABLE usage ADD COLUMN label TEXT;
      ALTER TABLE usage ADD COLUMN client TEXT;
      ALTER TABLE usage ADD COLUMN cache_miss TEXT;
      ALTER TABLE usage ADD COLUMN cache_miss_detail TEXT;
      ALTER TABLE usage ADD COLUMN cache_miss_tokens INTEGER;
      ALTER TABLE usage ADD COLUMN cache_miss_cost_usd REAL;
      CREATE INDEX usage_conversation ON usage (conversation, at) WHERE conversation IS NOT NULL;
      ALTER TABLE usage_sums ADD COLUMN cache_misses INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE usage_sums ADD COLUMN cache_miss_tokens INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE usage_sums ADD COLUMN cache_miss_cost_usd REAL NOT NULL DEFAULT 0;
      CREATE TABLE sums_by_label AS SELECT * FROM usage_sums WHERE kind IN (1, 11);
      UPDATE sums_by_label SET kind = kind + 3;
      INSERT INTO usage_sums SELECT * FROM sums_by_label;
      DROP TABLE sums_by_label;
    `,
  },
  {
    name: '0013-embeddings',
    // A key that was created without a list has all permissions.
    sql: "UPDATE keys SET permissions = 'chat,messages,responses,embeddings' WHERE permissions = 'chat,messages,responses';",
  },
  {
    name: '0014-limits',
    sql: LIMITS,
  },
  {
    name: '0015-native',
    // Keys whose client shows limits on its own screen.
    sql: 'ALTER TABLE keys ADD COLUMN native INTEGER NOT NULL DEFAULT 0',
  },
  {
    name: '0016-sign-ins',
    // Codes that wait for an approval, and the tokens of sign-ins: a sign-in is a key with an origin.
    sql: `
      ALTER TABLE keys ADD COLUMN origin TEXT;
      CREATE TABLE sign_in_codes (
        hash BLOB PRIMARY KEY,
        user_hash BLOB NOT NULL UNIQUE,
        sealed BLOB NOT NULL,
        user_agent TEXT NOT NULL,
        address TEXT NOT NULL,
        network TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        state INTEGER NOT NULL,
        polled_at INTEGER,
        interval INTEGER NOT NULL,
        account_id INTEGER REFERENCES accounts (id) ON DELETE CASCADE,
        ends_at INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE sign_in_tokens (
        hash BLOB PRIMARY KEY,
        key_id TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        spent_at INTEGER,
        replayed_at INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sign_in_tokens_key ON sign_in_tokens (key_id, created_at);
    `,
  },
  {
    name: '0017-brakes',
    sql: BRAKES,
  },
  {
    name: '0018-notices',
    sql: NOTICES,
  },
  { name: '0019-work', sql: WORK },
  { name: '0020-refusals', sql: REFUSALS },
  { name: '0021-key-order', sql: KEY_ORDER },
];

/** Brings the schema up to date. If several processes do so at once, the first applies the steps and the others find them. */
export function migrate(
  db: Db,
  file: string,
  now: number,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  if (countApplied(db, file, migrations) === migrations.length) return;
  db.transaction(() => {
    const applied = countApplied(db, file, migrations);
    if (applied === 0) {
      db.exec('CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT');
    }
    const note = db.prepare('INSERT INTO migrations (name, applied_at) VALUES (?, ?)');
    for (const [index, { name, sql }] of migrations.entries()) {
      if (index < applied) continue;
      db.exec(sql);
      note.run(name, now);
    }
  }).immediate();
}

/** The number of applied steps. Reads only. Throws StoreError `foreign`. */
export function countApplied(db: Db, file: string, migrations: readonly Migration[] = MIGRATIONS): number {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .pluck()
    .all();
  if (tables.length === 0) return 0;
  if (!tables.includes('migrations'))
    throw foreign(file, `it holds tables of another program (${tables[0]})`);
  const applied = db.prepare<[], string>('SELECT name FROM migrations ORDER BY name').pluck().all();
  const stranger = applied.find((name, index) => name !== migrations[index]?.name);
  if (stranger === undefined) return applied.length;
  throw foreign(file, `a newer gateway wrote it (step ${stranger} is not known here)`);
}

function foreign(file: string, why: string): StoreError {
  return new StoreError(
    'foreign',
    `the database ${file} is not used: ${why}; the gateway has not changed it`,
  );
}
