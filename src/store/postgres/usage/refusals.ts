// Requests that were refused, in PostgreSQL.
import type { RefusalRow, StoredRefusal } from '../../holds/refusals.ts';
import { DELETE_SURPLUS, refusalList, refusalsById, SET_TIMES } from '../../holds/refusals-sql.ts';
import type { RefusalStore } from '../../store.ts';
import type { Connection, Value } from '../connection.ts';
import { storable } from '../transfer.ts';

// In one order, so that two writers never wait for each other.
const ADD = {
  text: `INSERT INTO refusals (at, request_id, account_id, key_id, endpoint, model_asked, conversation, label, client, status,
      error, message, times)
    SELECT at, "requestId", "accountId", "keyId", endpoint, "modelAsked", conversation, label, client, status, error, message, times
    FROM json_to_recordset($1::json) AS given (at bigint, "requestId" text, "accountId" bigint, "keyId" text, endpoint text,
      "modelAsked" text, conversation text, label text, client text, status integer, error text, message text, times bigint)
    WHERE EXISTS (SELECT 1 FROM accounts WHERE id = "accountId")
    ORDER BY "requestId" ${SET_TIMES}`,
};
const SURPLUS = { text: DELETE_SURPLUS };

export function createRefusals(connection: Pick<Connection, 'run' | 'read'>): RefusalStore {
  const all = (textOf: (add: (value: string | number) => string) => string | undefined) => {
    const values: Value[] = [];
    const text = textOf((value) => `$${values.push(value)}`);
    return text === undefined ? Promise.resolve([]) : connection.read<StoredRefusal>({ text }, ...values);
  };
  return {
    async recordRefusals(rows) {
      await connection.run(ADD, JSON.stringify(rows.map(toTableRow)));
      await connection.run(SURPLUS);
    },
    listRefusals: (query) => all((add) => refusalList(query, add)),
    findRefusals: (query) => all((add) => refusalsById(query, add)),
  };
}

const toTableRow = (row: RefusalRow): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? storable(value) : value,
    ]),
  );
