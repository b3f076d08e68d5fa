// Export and import, each on a connection and in a transaction of its own. A backup is pg_dump's work.
import { spendingOfUsage } from '../holds/holds.ts';
import { RECORD_TYPES, SOURCES } from '../rows.ts';
import type { AuditEntry } from '../admin/admin-records.ts';
import { StoreError, type StoredRecord } from '../store.ts';
import type { Connection } from './connection.ts';
import { storeError } from './errors.ts';
import { addToSums } from './usage/sums.ts';

const BATCH = 1000;

type Row = Record<string, unknown>;

/** What differs from the columns of the tables. */
interface Form {
  order: string;
  /** Members that are not stored as they are exported. */
  read?: (row: Row) => Row;
  write?: (row: Row) => Row;
}

const FORMS: Readonly<Record<StoredRecord['type'], Form>> = {
  account: { order: 'id' },
  removed_account: {
    order: 'id',
    read: (row) => ({ ...row, dataLeft: row['dataLeft'] === true ? 1 : 0 }),
    write: (row) => ({ ...row, data_left: row['data_left'] === 1 }),
  },
  key: {
    order: 'created_at, number',
    read: (row) => ({
      ...row,
      hash: (row['hash'] as Buffer).toString('hex'),
      permissions: row['permissions'] === '' ? [] : String(row['permissions']).split(','),
      models: row['models'] === null ? null : (JSON.parse(row['models'] as string) as unknown),
    }),
    write: (row) => ({
      ...row,
      hash: `\\x${String(row['hash'])}`,
      permissions: (row['permissions'] as string[]).join(','),
      models: row['models'] === null ? null : JSON.stringify(row['models']),
      // An older gateway exports none.
      native: row['native'] === true,
    }),
  },
  sign_in_token: {
    order: 'created_at, hash',
    read: (row) => ({ ...row, hash: (row['hash'] as Buffer).toString('hex') }),
    write: (row) => ({ ...row, hash: `\\x${String(row['hash'])}` }),
  },
  grant: { order: 'number' },
  spending: { order: 'account_id, kind, start' },
  brake: { order: 'id' },
  brake_prompt: { order: 'conversation, prompt' },
  work: { order: 'account_id, conversation, series' },
  hour: {
    order: 'account_id, hour',
    write: (row) => ({ ...row, prev: row['requests'], wanted: 0, most: 0 }),
  },
  usage: { order: 'id' },
};
const TABLES = RECORD_TYPES.map((type) => SOURCES[type].table);
/** A new account gets the number of no other, removed ones included. */
const NEXT_ACCOUNT = `SELECT setval(pg_get_serial_sequence('accounts', 'id'), greatest(1,
  (SELECT max(id) FROM accounts), (SELECT max(id) FROM removed_accounts)))`;

const AUDIT =
  'INSERT INTO audit (at, actor, address, action, detail, status) VALUES ($1, $2, $3, $4, $5, 200)';

/** Batches of all records, as of the moment of the first. Rejects with StoreError. */
export async function* exportRecords(connection: Connection): AsyncGenerator<StoredRecord[]> {
  const client = await alone(connection);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    for (const type of RECORD_TYPES) {
      const { table, columns } = SOURCES[type];
      const { order, read } = FORMS[type];
      const names = Object.entries(columns).map(([member, column]) => `${column} AS "${member}"`);
      await client.query(
        `DECLARE records CURSOR FOR SELECT ${names.join(', ')} FROM ${table} ORDER BY ${order}`,
      );
      for (;;) {
        const { rows } = await client.query<Row>(`FETCH ${BATCH} FROM records`);
        if (rows.length === 0) break;
        yield rows.map((row) => ({ type, ...(read?.(row) ?? row) }) as unknown as StoredRecord);
      }
      await client.query('CLOSE records');
    }
  } catch (error) {
    throw storeError(error, connection.server);
  } finally {
    await client.end();
  }
}

/** Writes all records, their sums and their audit row in one transaction. Resolves to false, without a change, if the database is not empty. */
export async function importRecords(
  connection: Connection,
  batches: AsyncIterable<readonly StoredRecord[]>,
  audit: () => Promise<AuditEntry>,
): Promise<boolean> {
  const client = await alone(connection);
  try {
    await client.query('BEGIN');
    await client.query(`LOCK TABLE ${TABLES.join(', ')} IN EXCLUSIVE MODE`);
    for (const table of TABLES) {
      if ((await client.query(`SELECT 1 FROM ${table} LIMIT 1`)).rows.length > 0) return false;
    }
    for await (const batch of batches) {
      for (const type of RECORD_TYPES) {
        const rows = batch.filter((record) => record.type === type).map(toTableRow);
        if (rows.length > 0) await client.query(insertOf(type, rows[0] ?? {}), [JSON.stringify(rows)]);
      }
    }
    // An older gateway exports none.
    if ((await client.query('SELECT 1 FROM spending LIMIT 1')).rows.length === 0)
      await client.query(spendingOfUsage('sum'));
    await client.query(NEXT_ACCOUNT);
    await client.query(addToSums('usage'));
    const { at, actor, address, action, detail } = await audit();
    await client.query(AUDIT, [at, actor, address, action, storable(detail)]);
    await client.query('COMMIT');
    return true;
  } catch (error) {
    throw storeError(error, connection.server);
  } finally {
    // Ending the connection rolls back what was not committed.
    await client.end();
  }
}

async function alone(connection: Connection): ReturnType<Connection['connectAlone']> {
  try {
    return await connection.connectAlone();
  } catch (error) {
    throw storeError(error, connection.server);
  }
}

function toTableRow(record: StoredRecord): Row {
  const { columns } = SOURCES[record.type];
  const { write } = FORMS[record.type];
  const members = new Map<string, unknown>(Object.entries(record));
  const row = Object.fromEntries(
    Object.entries(columns).map(([member, column]) => {
      const value = members.get(member) ?? null;
      return [column, typeof value === 'string' ? storable(value) : value];
    }),
  );
  return write?.(row) ?? row;
}

function insertOf(type: StoredRecord['type'], row: Row): string {
  const { table } = SOURCES[type];
  const names = Object.keys(row).join(', ');
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1::json)`;
}

/** Without zero characters and halves of characters, which JSON of PostgreSQL does not take. */
export function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\ufffd');
}

export function backup({ server }: Connection): Promise<never> {
  const program = `pg_dump --format=custom --exclude-table-data=secrets --file=FILE ${server.location}`;
  const why = 'gateway backup copies SQLite databases alone';
  const restore = 'docs/postgres.md says why without the secrets, and how to restore it';
  return Promise.reject(
    new StoreError('unavailable', `${why}; use PostgreSQL's own program: ${program} (${restore})`),
  );
}
