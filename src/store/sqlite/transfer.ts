// Export, import and backup. Each has a connection of its own: a snapshot or a transaction that lasts must not hold what other work
// of the process reads and writes.
import type { Cancellation } from '../../cancellation.ts';
import { spendingOfUsage } from '../holds/holds.ts';
import { RECORD_TYPES, SOURCES } from '../rows.ts';
import type { AuditEntry } from '../admin/admin-records.ts';
import type { Permission, StoredRecord } from '../store.ts';
import { FLAGS } from '../usage-columns.ts';
import { prepareAdmin } from './admin/admin.ts';
import type { Db, Driver } from './driver.ts';
import { storeError } from './errors.ts';

const BATCH = 1000;
/** Pages that a backup copies in one turn of the event loop: 4 MiB. */
const STEP_PAGES = 1024;

type Value = string | number | null | Buffer;
type Row = Record<string, Value>;

/** What differs from the columns of the tables. */
interface Form {
  order: string;
  /** Members that are not stored as they are exported. */
  read?: Readonly<Record<string, (value: Value) => unknown>>;
  write?: Readonly<Record<string, (value: unknown) => Value>>;
}

const FORMS: Readonly<Record<StoredRecord['type'], Form>> = {
  account: { order: 'id' },
  removed_account: { order: 'id' },
  key: {
    order: 'created_at, rowid',
    read: {
      hash: (value) => (value as Buffer).toString('hex'),
      permissions: (value) => (value === '' ? [] : String(value).split(',')),
      models: (value) => (value === null ? null : (JSON.parse(String(value)) as unknown)),
      native: (value) => value === 1,
    },
    write: {
      hash: (value) => Buffer.from(String(value), 'hex'),
      permissions: (value) => (value as Permission[]).join(','),
      models: (value) => (value === null ? null : JSON.stringify(value)),
      native: (value) => (value === true ? 1 : 0),
    },
  },
  sign_in_token: {
    order: 'created_at, hash',
    read: { hash: (value) => (value as Buffer).toString('hex') },
    write: { hash: (value) => Buffer.from(String(value), 'hex') },
  },
  grant: { order: 'rowid' },
  spending: { order: 'account_id, kind, start' },
  brake: { order: 'id' },
  brake_prompt: { order: 'conversation, prompt' },
  work: { order: 'account_id, conversation, series' },
  hour: { order: 'account_id, hour' },
  usage: {
    order: 'id',
    read: forFlags((value) => value === 1),
    write: forFlags((value) => (value === true ? 1 : 0)),
  },
};

function forFlags<Convert>(convert: Convert): Record<string, Convert> {
  return Object.fromEntries(FLAGS.map((member) => [member, convert]));
}

/** Batches of all records, as of the moment of the first. Rejects with StoreError. */
export async function* exportRecords(driver: Driver, file: string): AsyncGenerator<StoredRecord[]> {
  const db = opened(driver, file, { readonly: true });
  try {
    db.exec('BEGIN');
    for (const type of RECORD_TYPES) yield* recordsOf(db, type);
  } catch (error) {
    throw storeError(error, file);
  } finally {
    db.close();
  }
}

function* recordsOf(db: Db, type: StoredRecord['type']): Generator<StoredRecord[]> {
  const { table, columns } = SOURCES[type];
  const { order, read = {} } = FORMS[type];
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

/** Writes all records and their audit row in one transaction. Resolves to false, without a change, if the database is not empty. */
export async function importRecords(
  driver: Driver,
  file: string,
  batches: AsyncIterable<readonly StoredRecord[]>,
  audit: () => Promise<AuditEntry>,
): Promise<boolean> {
  const db = opened(driver, file, {});
  try {
    db.exec('BEGIN IMMEDIATE');
    if (!isEmpty(db)) return false;
    const insert = prepareInsert(db);
    for await (const batch of batches) for (const record of batch) insert(record);
    // An older gateway exports none.
    if (db.prepare('SELECT 1 FROM spending LIMIT 1').get() === undefined) db.exec(spendingOfUsage('total'));
    const { beginAudit, endAudit } = prepareAdmin(db);
    endAudit(beginAudit(await audit()), 200);
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
  return RECORD_TYPES.every(
    (type) => db.prepare(`SELECT 1 FROM ${SOURCES[type].table} LIMIT 1`).get() === undefined,
  );
}

function prepareInsert(db: Db): (record: StoredRecord) => void {
  const inserts = new Map(
    RECORD_TYPES.map((type) => {
      const { table, columns } = SOURCES[type];
      const places = Object.keys(columns).map(() => '?');
      const sql = `INSERT INTO ${table} (${Object.values(columns).join(', ')}) VALUES (${places.join(', ')})`;
      return [type, db.prepare<Value[]>(sql)];
    }),
  );
  return (record) => {
    const { columns } = SOURCES[record.type];
    const { write = {} } = FORMS[record.type];
    const members = new Map(Object.entries(record));
    const values = Object.keys(columns).map((member) => {
      const value: unknown = members.get(member) ?? null;
      return write[member]?.(value) ?? (value as Value);
    });
    inserts.get(record.type)?.run(...values);
  };
}

/** Copies the database, as of one moment, into an empty file. The transaction holds that moment: without it, each write of another
 *  process would begin the copy anew. */
export async function backup(
  driver: Driver,
  file: string,
  target: string,
  cancellation: Cancellation,
): Promise<void> {
  const db = opened(driver, file, { readonly: true });
  try {
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM migrations').get();
    await db.backup(target, {
      progress() {
        if (cancellation.reason !== undefined) throw cancellation.reason;
        return STEP_PAGES;
      },
    });
  } catch (error) {
    throw error === cancellation.reason ? error : storeError(error, target);
  } finally {
    db.close();
  }
}

function opened(driver: Driver, file: string, options: { readonly?: boolean }): Db {
  return new driver(file, { ...options, fileMustExist: true });
}
