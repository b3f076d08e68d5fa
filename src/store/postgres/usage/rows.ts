// Usage rows: written in batches, each once, with the sums of their hours and days, and deleted in small steps. A commit of usage does
// not wait for the disk: a crash of the server may take the last rows, and no admission.
import { randomUUID } from 'node:crypto';
import type { Batch } from '../../store.ts';
import { USAGE_COLUMNS, USAGE_NAMES, valueOf, type UsageKind, type UsageRow } from '../../usage-columns.ts';
import { DAY_MS, HOUR_MS, hourOf } from '../../../clock.ts';
import { PROMPTS_KEPT_MS } from '../../holds/brakes.ts';
import { SUM_OF_DAY, SUM_OF_HOUR, SUMS_KEPT_MS } from '../../holds/holds.ts';
import type { Connection } from '../connection.ts';
import { ADD_SPENDING } from '../holds/statements.ts';
import { storable } from '../transfer.ts';
import { addToSums, createUsageSums } from './sums.ts';

const PRUNE_STEP = 5000;
/** How long a process that does not reach the database may hold back a batch. */
const WRITERS_KEPT_MS = 30 * 86_400_000;

const TYPES: Readonly<Record<UsageKind, string>> = {
  ...{ time: 'bigint', account: 'bigint', key: 'text', endpoint: 'text', model: 'text', name: 'text' },
  ...{ status: 'integer', flag: 'boolean', count: 'bigint', number: 'double precision' },
  ...{ milliseconds: 'double precision', request: 'text', json: 'text' },
};
const TYPED = USAGE_COLUMNS.map(({ name, kind }) => `${name} ${TYPES[kind]}`).join(', ');

/** $1, $2: who writes, and the number of the batch; a batch that was written before changes nothing. $3: the rows as JSON. */
const RECORD = {
  name: 'record-usage',
  text: `
    WITH time AS MATERIALIZED (
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('synchronous_commit', 'off', true)
    ),
    batch AS (
      INSERT INTO usage_writers (id, batch, at) SELECT $1, $2, now FROM time
      ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at WHERE usage_writers.batch < excluded.batch
      RETURNING batch
    ),
    new_rows AS MATERIALIZED (SELECT r.* FROM batch, json_to_recordset($3::json) AS r (${TYPED})),
    spent AS (
      INSERT INTO spending (account_id, kind, start, tokens, fresh, cost, estimated_tokens, estimated_fresh, estimated_cost, unpriced)
      SELECT account_id, kind, at - at % length, sum(input + coalesce(cache_read, 0) + coalesce(cache_write, 0) + output),
        sum(input + coalesce(cache_write, 0) + output), coalesce(sum(round(cost_usd * 1000000000)), 0), 0, 0, 0,
        sum((cost_usd IS NULL)::int)
      FROM new_rows, (VALUES (${SUM_OF_HOUR}, ${HOUR_MS}), (${SUM_OF_DAY}, ${DAY_MS})) AS parts (kind, length)
      WHERE NOT settled AND input IS NOT NULL AND output IS NOT NULL
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 ${ADD_SPENDING}
    ),
    recorded AS (INSERT INTO usage (${USAGE_NAMES}) SELECT ${USAGE_NAMES} FROM new_rows),
    uses AS MATERIALIZED (SELECT key_id, max(at) AS at FROM new_rows GROUP BY key_id),
    locked AS MATERIALIZED (
      SELECT keys.id FROM keys WHERE id IN (SELECT key_id FROM uses) ORDER BY id FOR NO KEY UPDATE
    ),
    touched AS (
      UPDATE keys SET last_used_at = uses.at FROM locked, uses
      WHERE keys.id = locked.id AND keys.id = uses.key_id AND (last_used_at IS NULL OR last_used_at < uses.at)
    )
    ${addToSums('new_rows')}`,
};
const NEWEST = {
  text: 'SELECT greatest((SELECT max(at) FROM usage), (SELECT max(hour) FROM hours WHERE requests > 0)) AS time',
};
const inSteps = (table: string, condition: string): { text: string } => ({
  text: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${PRUNE_STEP}))`,
});
const PRUNE_ROWS = inSteps('usage', 'at < $1');
const PRUNE_COUNTS = inSteps('hours', 'hour < $1');
const PRUNE_WRITERS = inSteps('usage_writers', 'at < $1');
const PRUNE_DAYS = inSteps('spending', `kind = ${SUM_OF_DAY} AND start < $1`);
const PRUNE_HOURS = inSteps('spending', `kind = ${SUM_OF_HOUR} AND start < $1`);
const PRUNE_GRANTS = inSteps('grants', 'until < $1');
const PRUNE_BRAKES = inSteps('brakes', 'at < $1');
const PRUNE_WORK = inSteps('conversation_work', 'at < $1');
const PRUNE_REFUSALS = inSteps('refusals', 'at < $1');
const PRUNE_PROMPTS = inSteps('brake_prompts', 'at < $1');

export function createUsage(connection: Connection) {
  const { pruneSums, ...reports } = createUsageSums(connection);

  async function steps(sql: { text: string }, before: number): Promise<void> {
    while (!connection.closed && (await connection.run(sql, before)).changes === PRUNE_STEP);
  }

  return {
    ...reports,
    async recordUsage(
      rows: readonly UsageRow[],
      batch: Batch = { writer: randomUUID(), number: 1 },
    ): Promise<void> {
      if (rows.length === 0) return;
      await connection.run(RECORD, batch.writer, batch.number, JSON.stringify(rows.map(toTableRow)));
    },
    /** Deletes whole hours, so that rows and sums stay equal. Measures age from the newest recorded time if the clock is later,
     *  and never deletes the newest hour. */
    async prune(now: number, keep: number): Promise<void> {
      const [newest] = await connection.read<{ time: number | null }>(NEWEST);
      const trusted = Math.min(now, newest?.time ?? 0);
      const before = hourOf(Math.min(trusted - keep, trusted));
      await steps(PRUNE_ROWS, before);
      await pruneSums(before);
      await steps(PRUNE_COUNTS, before);
      await steps(PRUNE_WRITERS, trusted - WRITERS_KEPT_MS);
      await steps(PRUNE_DAYS, trusted - SUMS_KEPT_MS);
      await steps(PRUNE_HOURS, trusted - 2 * DAY_MS);
      await steps(PRUNE_GRANTS, trusted - keep);
      await steps(PRUNE_BRAKES, trusted - keep);
      await steps(PRUNE_WORK, trusted - keep);
      await steps(PRUNE_REFUSALS, trusted - keep);
      await steps(PRUNE_PROMPTS, trusted - PROMPTS_KEPT_MS);
    },
  };
}

function toTableRow(row: UsageRow): Record<string, string | number | boolean | null> {
  return Object.fromEntries(
    USAGE_COLUMNS.map((column) => {
      const value = valueOf(row, column);
      return [column.name, typeof value === 'string' ? storable(value) : value];
    }),
  );
}
