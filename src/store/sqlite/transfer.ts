// Export, import and backup. Each has a connection of its own: a snapshot or a transaction that lasts must not hold what other work
// of the process reads and writes.
import { closeSync, openSync, rmSync } from 'node:fs';
import { StoreError, type Permission, type StoredRecord } from '../store.ts';
import type { Db, Driver } from './driver.ts';
import { storeError } from './errors.ts';

const BATCH = 1000;
/** All pages of a database in one step: a copy in several steps begins anew whenever another process writes. */
const ALL_PAGES = 0x7fffffff;

type Value = string | number | null | Buffer;
type Row = Record<string, Value>;

interface Source {
  table: string;
  /** Column of the table by member of the record. */
  columns: Readonly<Record<string, string>>;
  order: string;
  /** Members that are not stored as they are. */
  read?: Readonly<Record<string, (value: Value) => unknown>>;
  write?: Readonly<Record<string, (value: unknown) => Value>>;
}

/** In the order in which they are written: accounts before what belongs to them. */
const SOURCES: Readonly<Record<StoredRecord['type'], Source>> = {
  account: {
    table: 'accounts',
    columns: { id: 'id', name: 'name', tier: 'tier', createdAt: 'created_at' },
    order: 'id',
  },
  removed_account: { table: 'removed_accounts', columns: { id: 'id', dataLeft: 'data_left' }, order: 'id' },
  key: {
    table: 'keys',
    columns: {
      id: 'id',
      accountId: 'account_id',
      hash: 'hash',
      prefix: 'prefix',
      label: 'label',
      permissions: 'permissions',
      models: 'models',
      createdAt: 'created_at',
      lastUsedAt: 'last_used_at',
      expiresAt: 'expires_at',
      revokedAt: 'revoked_at',
    },
    order: 'created_at, rowid',
    read: {
      hash: (value) => (value as Buffer).toString('hex'),
      permissions: (value) => (value === '' ? [] : String(value).split(',')),
      models: (value) => (value === null ? null : (JSON.parse(String(value)) as unknown)),
    },
    write: {
      hash: (value) => Buffer.from(String(value), 'hex'),
      permissions: (value) => (value as Permission[]).join(','),
      models: (value) => (value === null ? null : JSON.stringify(value)),
    },
  },
  hour: {
    table: 'hours',
    columns: { accountId: 'account_id', hour: 'hour', requests: 'requests' },
    order: 'account_id, hour',
  },
  usage: {
    table: 'usage',
    columns: {
      at: 'at',
      accountId: 'account_id',
      keyId: 'key_id',
      endpoint: 'endpoint',
      modelAsked: 'model_asked',
      provider: 'provider',
      model: 'model',
      status: 'status',
      streamed: 'streamed',
      input: 'input',
      cacheRead: 'cache_read',
      cacheWrite: 'cache_write',
      output: 'output',
      reasoning: 'reasoning',
      costUsd: 'cost_usd',
      firstByteMs: 'first_byte_ms',
      durationMs: 'duration_ms',
      error: 'error',
      requestId: 'request_id',
      attempts: 'attempts',
      detail: 'detail',
    },
    order: 'id',
    read: { streamed: (value) => value === 1 },
    write: { streamed: (value) => (value === true ? 1 : 0) },
  },
};
const TYPES = Object.keys(SOURCES) as StoredRecord['type'][];

/** Batches of all records, as of the moment of the first. Rejects with StoreError. */
export async function* exportRecords(driver: Driver, file: string): AsyncGenerator<StoredRecord[]> {
  const db = opened(driver, file, { readonly: true });
  try {
    db.exec('BEGIN');
    for (const type of TYPES) yield* recordsOf(db, type);
  } catch (error) {
    throw storeError(error, file);
  } finally {
    db.close();
  }
}

function* recordsOf(db: Db, type: StoredRecord['type']): Generator<StoredRecord[]> {
  const { table, columns, order, read = {} } = SOURCES[type];
  const names = Object.entries(columns).map(([member, column]) => `${column} AS ${member}`);
  let batch: StoredRecord[] = [];
  const rows = db.prepare<[], Row>(`SELECT ${names.join(', ')} FROM ${table} ORDER BY ${order}`);
  for (const row of rows.iterate()) {
    const record: Record<string, unknown> = { type, ...row };
    for (const [member, convert] of Object.entries(read)) record[member] = convert(row[member] ?? null);
    batch.push(record as unknown as StoredRecord);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Writes all records in one transaction. Resolves to false, without a change, if the database is not empty. */
export async function importRecords(
  driver: Driver,
  file: string,
  batches: AsyncIterable<readonly StoredRecord[]>,
): Promise<boolean> {
  const db = opened(driver, file, {});
  try {
    db.exec('BEGIN IMMEDIATE');
    if (!isEmpty(db)) return false;
    const insert = prepareInsert(db);
    for await (const batch of batches) for (const record of batch) insert(record);
    db.exec('COMMIT');
    return true;
  } catch (error) {
    throw storeError(error, file);
  } finally {
    // Without a commit, nothing stays.
    db.close();
  }
}

/** Numbers of removed accounts count too: no account may get one of them. */
function isEmpty(db: Db): boolean {
  return TYPES.every(
    (type) => db.prepare(`SELECT 1 FROM ${SOURCES[type].table} LIMIT 1`).get() === undefined,
  );
}

function prepareInsert(db: Db): (record: StoredRecord) => void {
  const inserts = new Map(
    TYPES.map((type) => {
      const { table, columns } = SOURCES[type];
      const places = Object.keys(columns).map(() => '?');
      const sql = `INSERT INTO ${table} (${Object.values(columns).join(', ')}) VALUES (${places.join(', ')})`;
      return [type, db.prepare<Value[]>(sql)];
    }),
  );
  return (record) => {
    const { columns, write = {} } = SOURCES[record.type];
    const members = new Map(Object.entries(record));
    const values = Object.keys(columns).map((member) => {
      const value: unknown = members.get(member) ?? null;
      return write[member]?.(value) ?? (value as Value);
    });
    inserts.get(record.type)?.run(...values);
  };
}

/** Copies the database, as of one moment, into a new file that only its owner may read. */
export async function backup(driver: Driver, file: string, target: string): Promise<void> {
  try {
    closeSync(openSync(target, 'wx', 0o600));
  } catch (error) {
    const taken = (error as { code?: string }).code === 'EEXIST';
    throw taken
      ? new StoreError('unavailable', `the file ${target} exists; name a new one`, error)
      : storeError(error, target);
  }
  const db = opened(driver, file, { readonly: true });
  try {
    await db.backup(target, { progress: () => ALL_PAGES });
  } catch (error) {
    rmSync(target, { force: true });
    throw storeError(error, target);
  } finally {
    db.close();
  }
}

function opened(driver: Driver, file: string, options: { readonly?: boolean }): Db {
  return new driver(file, { ...options, fileMustExist: true });
}
