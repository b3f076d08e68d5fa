// Usage rows: written in batches, summed for reports, deleted in small steps. A trigger of the schema adds each new row to
// the sums of its hour, so that reports read hours, not requests. `requests` counts admissions in sums by account and by
// hour, and usage rows in sums by key and by model, because admissions name neither.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Statement } from 'better-sqlite3';
import { HOUR_MS } from '../../clock.ts';
import type { GroupedTotals, Grouping, Totals, UsageRow } from '../store.ts';
import type { Connection } from './connection.ts';
import type { Db } from './driver.ts';

/** A client chooses the model's name, and may choose a long one. */
const MAX_NAME_LENGTH = 256;
const PRUNE_STEP = 500;
const ROLL_UP_STEP = 500;

interface Sums {
  requests: number | null;
  errors: number | null;
  unknown: number | null;
  unpriced: number | null;
  input: number | null;
  output: number | null;
  cost: number | null;
}

type GroupRow = Sums & { account_id: number } & Record<string, string | number | null>;

interface Window {
  since: number;
  account?: number;
}

/** Row IDs from `next` on, below `last`. */
interface Ids {
  next: number;
  last: number;
}

const NONE: Ids = { next: 0, last: 0 };

interface Group {
  /** Columns that identify a group: the name in the result, and the SQL expression. */
  members: Readonly<Record<string, string>>;
  order: string;
  /** `requests` counts admissions; otherwise usage rows. */
  admitted: boolean;
}

const GROUPS = {
  account: {
    members: { account: '(SELECT name FROM accounts WHERE id = account_id)' },
    order: 'account',
    admitted: true,
  },
  key: { members: { key: 'key_id' }, order: 'account_id, requests DESC, key', admitted: false },
  model: {
    members: { model: "nullif(model, '')", provider: "nullif(provider, '')" },
    order: 'account_id, requests DESC, model, provider',
    admitted: false,
  },
  hour: { members: { hour: 'hour' }, order: 'account_id, hour', admitted: true },
} as const satisfies Record<Grouping, Group>;

const KNOWN = 'input IS NOT NULL AND output IS NOT NULL';

/** Rows older than the trigger, in the form that the trigger writes. Found by ID: `+at` keeps SQLite from using the index of
 *  times. */
const OLD_ROWS = `
  SELECT at - at % ${HOUR_MS} AS hour, account_id, key_id, coalesce(provider, '') AS provider, coalesce(model, '') AS model,
    1 AS requests, error IS NOT NULL AS errors, error IS NULL AND NOT (${KNOWN}) AS unknown,
    ${KNOWN} AND cost_usd IS NULL AS unpriced,
    iif(${KNOWN}, input + coalesce(cache_read, 0) + coalesce(cache_write, 0), 0) AS input,
    iif(${KNOWN}, output, 0) AS output, cost_usd
  FROM usage WHERE id >= @next AND id < @last AND +at >= @since`;

const COLUMNS =
  'hour, account_id, key_id, provider, model, requests, errors, unknown, unpriced, input, output, cost_usd';

function sumsOf(group: Group | undefined, ofAccount: boolean): string {
  const admitted = group?.admitted ?? true;
  const filter = ofAccount ? 'AND account_id = @account' : '';
  const sources = [
    `SELECT ${COLUMNS}, 0 AS admitted FROM usage_hours WHERE hour >= @since ${filter}`,
    `SELECT ${COLUMNS}, 0 FROM (${OLD_ROWS} ${filter})`,
    ...(admitted
      ? [
          `SELECT hour, account_id, '', '', '', 0, 0, 0, 0, 0, 0, NULL, requests FROM hours WHERE hour >= @since ${filter}`,
        ]
      : []),
  ];
  const sums = `sum(${admitted ? 'admitted' : 'requests'}) AS requests, sum(errors) AS errors, sum(unknown) AS unknown,
    sum(unpriced) AS unpriced, sum(input) AS input, sum(output) AS output, sum(cost_usd) AS cost`;
  const from = `FROM (${sources.join(' UNION ALL ')})`;
  if (group === undefined) return `SELECT ${sums} ${from}`;
  const members = Object.entries(group.members);
  const named = members.map(([name, expression]) => `${expression} AS ${name}`).join(', ');
  // By number, because a member can have the same name as a column.
  const numbers = ['1', ...members.map((_, index) => String(index + 2))].join(', ');
  return `SELECT account_id, ${named}, ${sums} ${from} GROUP BY ${numbers} ORDER BY ${group.order}`;
}

export function prepareUsage(db: Db, touchKey: (id: string, at: number) => void) {
  const insert = db.prepare(
    `INSERT INTO usage (at, account_id, key_id, endpoint, model_asked, provider, model, status, streamed, input,
       cache_read, cache_write, output, reasoning, cost_usd, first_byte_ms, duration_ms, error, request_id, attempts, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const record = db.transaction((rows: readonly UsageRow[]): void => {
    const uses = new Map<string, number>();
    for (const row of rows) {
      insert.run(...valuesOf(row));
      uses.set(row.keyId, Math.max(row.at, uses.get(row.keyId) ?? 0));
    }
    for (const [id, at] of uses) touchKey(id, at);
  });
  const byHour = (filter: string) =>
    db.prepare<[Window], { accountId: number; hour: number; requests: number }>(
      `SELECT account_id AS accountId, hour, requests FROM hours WHERE hour >= @since ${filter} ORDER BY account_id, hour`,
    );
  const byHourOfAll = byHour('');
  const byHourOfOne = byHour('AND account_id = @account');
  const windowOf = (accountId: number | undefined, since: number): Window =>
    accountId === undefined ? { since: hourOf(since) } : { since: hourOf(since), account: accountId };

  const unrolled = db.prepare<[], Ids>('SELECT next, last FROM old_usage');
  /** Prepared at first use: only commands ask for sums. */
  const sums = new Map<string, ReturnType<typeof prepareSums>>();
  const prepareSums = (sql: string) => db.prepare<[Window & Ids], GroupRow>(sql);
  // One transaction, so that a row that is rolled up at the same time counts once.
  const sumUp = db.transaction((group: Group | undefined, window: Window): GroupRow[] => {
    const sql = sumsOf(group, window.account !== undefined);
    const statement = sums.get(sql) ?? prepareSums(sql);
    sums.set(sql, statement);
    return statement.all({ ...window, ...(unrolled.get() ?? NONE) });
  });

  return {
    record: (rows: readonly UsageRow[]) => record.immediate(rows),
    byHour: (accountId: number | undefined, since: number) =>
      (accountId === undefined ? byHourOfAll : byHourOfOne).all(windowOf(accountId, since)),
    totals: (accountId: number | undefined, since: number) =>
      toTotals(sumUp(undefined, windowOf(accountId, since))[0]),
    totalsBy: (grouping: Grouping, accountId: number | undefined, since: number): GroupedTotals[] =>
      sumUp(GROUPS[grouping], windowOf(accountId, since)).map((row) => ({
        accountId: row.account_id,
        group: nameOf(grouping, row),
        totals: toTotals(row),
      })),
    rollUp: prepareRollUp(db, unrolled),
    ...preparePrune(db),
  };
}

/** Adds some of the rows older than the trigger to the hourly sums; false if no row is left. */
function prepareRollUp(db: Db, unrolled: Statement<[], Ids>): () => boolean {
  let finished = false;
  const add = db.prepare<[Window & Ids]>(
    `INSERT INTO usage_hours (${COLUMNS})
     SELECT hour, account_id, key_id, provider, model, sum(requests), sum(errors), sum(unknown), sum(unpriced), sum(input),
       sum(output), sum(cost_usd)
     FROM (${OLD_ROWS}) WHERE true GROUP BY hour, account_id, key_id, provider, model
     ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, errors = errors + excluded.errors,
       unknown = unknown + excluded.unknown, unpriced = unpriced + excluded.unpriced, input = input + excluded.input,
       output = output + excluded.output, cost_usd = coalesce(cost_usd + excluded.cost_usd, cost_usd, excluded.cost_usd)`,
  );
  const advance = db.prepare<[number]>('UPDATE old_usage SET next = ?');
  const step = db.transaction((): boolean => {
    const { next, last } = unrolled.get() ?? NONE;
    if (next >= last) return false;
    const end = Math.min(last, next + ROLL_UP_STEP);
    add.run({ next, last: end, since: 0 });
    advance.run(end);
    return true;
  });
  return () => {
    finished ||= !step.immediate();
    return !finished;
  };
}

function preparePrune(db: Db) {
  return {
    /** The time of the newest row or count; null or undefined: there is none. */
    newest: db
      .prepare<[], number | null>(
        `SELECT max(time) FROM (
           SELECT max(at) AS time FROM usage
           UNION ALL SELECT (SELECT max(hour) FROM hours WHERE account_id = accounts.id) FROM accounts
         )`,
      )
      .pluck(),
    pruneRows: db.prepare<[before: number, most: number]>(
      'DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? LIMIT ?)',
    ),
    pruneSums: db.prepare<[before: number, most: number]>(
      `DELETE FROM usage_hours WHERE (hour, account_id, key_id, provider, model) IN
         (SELECT hour, account_id, key_id, provider, model FROM usage_hours WHERE hour < ? LIMIT ?)`,
    ),
    accountIds: db
      .prepare<[], number>('SELECT id FROM accounts UNION ALL SELECT id FROM removed_accounts')
      .pluck(),
    pruneCounts: db.prepare<[accountId: number, before: number]>(
      'DELETE FROM hours WHERE account_id = ? AND hour < ?',
    ),
  };
}

/** Values by position, because the driver binds named values more slowly. */
function valuesOf(row: UsageRow): (string | number | null)[] {
  return [
    row.at,
    row.accountId,
    row.keyId,
    row.endpoint,
    row.modelAsked.slice(0, MAX_NAME_LENGTH),
    row.provider,
    row.model?.slice(0, MAX_NAME_LENGTH) ?? null,
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
    row.requestId,
    row.attempts,
    row.detail,
  ];
}

function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

function nameOf(grouping: Grouping, row: GroupRow): Record<string, string | null> {
  return Object.fromEntries(
    Object.keys(GROUPS[grouping].members).map((member) => {
      const value = row[member] ?? null;
      return [member, typeof value === 'number' ? new Date(value).toISOString() : value];
    }),
  );
}

function toTotals(row: Sums | undefined): Totals {
  return {
    requests: row?.requests ?? 0,
    errors: row?.errors ?? 0,
    unknown: row?.unknown ?? 0,
    unpriced: row?.unpriced ?? 0,
    inputTokens: row?.input ?? 0,
    outputTokens: row?.output ?? 0,
    costUsd: row?.cost ?? null,
  };
}

type UsageConnection = Connection<{ usage: ReturnType<typeof prepareUsage> }>;

/** Repeats a step until it returns false. Other work of the event loop runs between two steps. */
async function inSteps(
  connection: UsageConnection,
  step: (usage: ReturnType<typeof prepareUsage>) => boolean,
): Promise<void> {
  while (!connection.closed && (await connection.run(({ usage }) => step(usage)))) await yieldToOthers();
}

/** Measures age from the newest recorded time if the clock is later, and never deletes the newest hour. */
export async function prune(connection: UsageConnection, now: number, keep: number): Promise<void> {
  await inSteps(connection, (usage) => usage.rollUp());
  if (connection.closed) return;
  const newest = await connection.run(({ usage }) => usage.newest.get() ?? 0);
  const trusted = Math.min(now, newest);
  const before = Math.min(trusted - keep, hourOf(trusted));
  const full = ({ changes }: { changes: number }): boolean => changes === PRUNE_STEP;
  await inSteps(connection, (usage) => full(usage.pruneRows.run(before, PRUNE_STEP)));
  await inSteps(connection, (usage) => full(usage.pruneSums.run(hourOf(before), PRUNE_STEP)));
  if (connection.closed) return;
  for (const id of await connection.run(({ usage }) => usage.accountIds.all())) {
    if (connection.closed) return;
    await connection.run(({ usage }) => usage.pruneCounts.run(id, hourOf(before)));
    await yieldToOthers();
  }
}
