// Usage rows: written in batches, summed up for people, deleted in small steps. Sums are of whole hours, as the counts of
// admissions are. Requests are admissions wherever those are known by account and hour; by key and by model they are rows.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { HOUR_MS } from '../../clock.ts';
import type { GroupedTotals, Grouping, Totals, UsageRow } from '../store.ts';
import type { Connection } from './connection.ts';
import type { Db } from './engine.ts';

/** A client chooses its model's name, and may choose a long one. */
const MOST_NAME = 256;
const PRUNED_AT_ONCE = 500;

interface Sums {
  requests: number | null;
  errors: number | null;
  unknown: number | null;
  input: number | null;
  output: number | null;
  cost: number | null;
}

type GroupRow = Sums & Record<string, string | number | null>;

interface Window {
  since: number;
  account?: number;
}

/** The columns that a group's name is made of, and their order. Rows without a count of their own count themselves. */
const GROUPS = {
  account: { columns: ['account'], order: 'account', counted: true },
  key: { columns: ['key'], order: 'requests DESC, key', counted: false },
  model: { columns: ['model', 'provider'], order: 'requests DESC, model, provider', counted: false },
  hour: { columns: ['hour'], order: 'hour', counted: true },
} as const satisfies Record<Grouping, { columns: readonly string[]; order: string; counted: boolean }>;

const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';

function rowsOf(counted: boolean, filter: string): string {
  return `SELECT ${counted ? 0 : 1} AS requests, error IS NOT NULL AS errors,
      error IS NULL AND NOT (${KNOWN}) AS unknown,
      CASE WHEN ${KNOWN} THEN input + coalesce(cache_read, 0) + coalesce(cache_write, 0) ELSE 0 END AS input,
      CASE WHEN ${KNOWN} THEN output ELSE 0 END AS output, cost_usd AS cost,
      (SELECT name FROM accounts WHERE id = account_id) AS account, key_id AS key, model, provider,
      at - at % ${HOUR_MS} AS hour
    FROM usage WHERE at >= @since ${filter}`;
}

function countsOf(filter: string): string {
  return `SELECT requests, 0, 0, 0, 0, NULL, (SELECT name FROM accounts WHERE id = account_id), NULL, NULL, NULL, hour
    FROM hours WHERE hour >= @since ${filter}`;
}

function sumsOf(grouping: Grouping | undefined, ofAccount: boolean): string {
  const { columns, order, counted } =
    grouping === undefined ? { columns: [], order: undefined, counted: true } : GROUPS[grouping];
  const filter = ofAccount ? 'AND account_id = @account' : '';
  const source = counted
    ? `${rowsOf(counted, filter)} UNION ALL ${countsOf(filter)}`
    : rowsOf(counted, filter);
  const sums = `sum(requests) AS requests, sum(errors) AS errors, sum(unknown) AS unknown,
    sum(input) AS input, sum(output) AS output, sum(cost) AS cost`;
  const grouped = order === undefined ? '' : `GROUP BY ${columns.join(', ')} ORDER BY ${order}`;
  return `SELECT ${[...columns, sums].join(', ')} FROM (${source}) ${grouped}`;
}

export function prepareUsage(db: Db, touchKey: (id: string, at: number) => void) {
  const insert = db.prepare(
    `INSERT INTO usage (at, account_id, key_id, endpoint, model_asked, provider, model, status, streamed, input,
       cache_read, cache_write, output, reasoning, cost_usd, first_byte_ms, duration_ms, error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const record = db.transaction((rows: readonly UsageRow[]): void => {
    const uses = new Map<string, number>();
    for (const row of rows) {
      insert.run(...valuesOf(row));
      uses.set(row.keyId, Math.max(row.at, uses.get(row.keyId) ?? 0));
    }
    for (const [id, at] of uses) touchKey(id, at);
  });
  const byHour = db.prepare<[number, number], { hour: number; requests: number }>(
    'SELECT hour, requests FROM hours WHERE account_id = ? AND hour >= ? ORDER BY hour',
  );

  /** Made when first asked for: a server never asks. */
  const sums = new Map<string, ReturnType<typeof prepareSums>>();
  const prepareSums = (sql: string) => db.prepare<[Window], GroupRow>(sql);
  function sumUp(grouping: Grouping | undefined, accountId: number | undefined, since: number): GroupRow[] {
    const sql = sumsOf(grouping, accountId !== undefined);
    const statement = sums.get(sql) ?? prepareSums(sql);
    sums.set(sql, statement);
    const window: Window = { since: hourOf(since) };
    return statement.all(accountId === undefined ? window : { ...window, account: accountId });
  }

  return {
    record: (rows: readonly UsageRow[]) => record.immediate(rows),
    byHour: (accountId: number, since: number) => byHour.all(accountId, hourOf(since)),
    totals: (accountId: number | undefined, since: number) => toTotals(sumUp(undefined, accountId, since)[0]),
    totalsBy: (grouping: Grouping, accountId: number | undefined, since: number): GroupedTotals[] =>
      sumUp(grouping, accountId, since).map((row) => ({
        group: nameOf(grouping, row),
        totals: toTotals(row),
      })),
    pruneRows: db.prepare<[before: number, most: number]>(
      'DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? LIMIT ?)',
    ),
    accountIds: db.prepare<[], number>('SELECT id FROM accounts').pluck(),
    pruneCounts: db.prepare<[accountId: number, before: number]>(
      'DELETE FROM hours WHERE account_id = ? AND hour < ?',
    ),
  };
}

/** By position: 1.5 µs a row, where names, looked up one by one, take 3. */
function valuesOf(row: UsageRow): (string | number | null)[] {
  return [
    row.at,
    row.accountId,
    row.keyId,
    row.endpoint,
    row.modelAsked.slice(0, MOST_NAME),
    row.provider,
    row.model?.slice(0, MOST_NAME) ?? null,
    row.status,
    row.streamed ? 1 : 0,
    row.input,
    row.cacheRead,
    row.cacheWrite,
    row.output,
    row.reasoning,
    row.costUsd,
    row.firstByteMs,
    row.durationMs,
    row.error,
  ];
}

function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

function nameOf(grouping: Grouping, row: GroupRow): Record<string, string | null> {
  return Object.fromEntries(
    GROUPS[grouping].columns.map((column) => {
      const value = row[column] ?? null;
      return [column, typeof value === 'number' ? new Date(value).toISOString() : value];
    }),
  );
}

function toTotals(row: Sums | undefined): Totals {
  return {
    requests: row?.requests ?? 0,
    errors: row?.errors ?? 0,
    unknown: row?.unknown ?? 0,
    inputTokens: row?.input ?? 0,
    outputTokens: row?.output ?? 0,
    costUsd: row?.cost ?? null,
  };
}

/** In steps, each of which lets others go first. An hour that began before `before` is kept while it is not wholly over. */
export async function prune(
  connection: Connection<{ usage: ReturnType<typeof prepareUsage> }>,
  before: number,
): Promise<void> {
  for (;;) {
    if (connection.closed) return;
    const { changes } = await connection.run(({ usage }) => usage.pruneRows.run(before, PRUNED_AT_ONCE));
    if (changes < PRUNED_AT_ONCE) break;
    await yieldToOthers();
  }
  for (const id of await connection.run(({ usage }) => usage.accountIds.all())) {
    if (connection.closed) return;
    await connection.run(({ usage }) => usage.pruneCounts.run(id, hourOf(before)));
    await yieldToOthers();
  }
}
