// The schema, as steps that are only ever appended. A database whose applied steps are not a prefix of these is not ours.
import type { Database } from 'better-sqlite3';
import { StoreError } from '../store.ts';

interface Migration {
  name: string;
  sql: string;
}

/** Times are milliseconds since the epoch; a key is kept as its SHA-256 only. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-accounts-keys-usage',
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
];

/** Brings the schema up to date in one transaction; two processes may do so at once. */
export function migrate(db: Database, location: string): void {
  db.transaction(() => {
    db.exec(
      'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT',
    );
    const applied = db.prepare('SELECT name FROM migrations ORDER BY name').pluck().all() as string[];
    const isPrefix = applied.every((name, index) => MIGRATIONS[index]?.name === name);
    if (!isPrefix) {
      const message = `${location} was written by another version of the gateway (it has ${applied.at(-1) ?? ''}); update the gateway, or choose another database`;
      throw new StoreError('foreign', message);
    }
    const insert = db.prepare('INSERT INTO migrations (name, applied_at) VALUES (?, ?)');
    for (const { name, sql } of MIGRATIONS.slice(applied.length)) {
      db.exec(sql);
      insert.run(name, Date.now());
    }
  }).immediate();
}
