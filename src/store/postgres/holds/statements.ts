// What a transaction of holds and settlements reads and writes. All values are numbers but the texts of `literal`, so that one message holds
// several statements.
import { type Period, PERIODS, windowOf } from '../../../calendar.ts';
import { HOUR_MS } from '../../../clock.ts';
import { LIMIT_KINDS } from '../../../tier.ts';
import {
  type HoldRow,
  NOTHING_SPENT,
  plus,
  type Reading,
  type Spending,
  SPENDING_MEMBERS,
  SUM_OF_DAY,
  SUM_OF_HOUR,
} from '../../holds/holds.ts';
import type { BrakeQuestion, BrakeReading } from '../../holds/brakes.ts';
import { brakeReading, brakeStatements } from './brakes.ts';
import { literal, type Row } from './own-client.ts';

const SUMS = ['tokens', 'fresh', 'cost', 'estimated_tokens', 'estimated_fresh', 'estimated_cost', 'unpriced'];
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Another process must not wait for one that was stopped. */
export const BEGIN = [
  'BEGIN',
  "SET LOCAL idle_in_transaction_session_timeout = '2s'",
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
];

/** Accounts are locked in the order of their numbers, so that no two machines wait for each other. */
export const lockAccounts = (ids: string): string =>
  `SELECT id FROM accounts WHERE id IN (${ids}) ORDER BY id FOR NO KEY UPDATE`;

/** An admission of requests an hour alone must not count between this reading and the commit. */
const lockHours = (ids: string): string =>
  `WITH time AS MATERIALIZED (SELECT ${NOW} AS now)
   SELECT account_id FROM hours WHERE account_id IN (${ids}) AND hour = (SELECT now - now % ${HOUR_MS} FROM time)
   ORDER BY account_id FOR UPDATE`;

/** Of one account: the periods whose requests, and those whose spending must be read. */
export interface Wanted {
  accountId: number;
  requests: ReadonlySet<Period>;
  spending: ReadonlySet<Period>;
}

export interface Question {
  /** Never empty. */
  wanted: readonly Wanted[];
  keys: readonly string[];
  /** Own holds that are settled. */
  holder: number;
  holds: readonly { accountId: number; hold: number }[];
  /** Of the requests whose conversations have brakes. */
  brakes?: BrakeQuestion | undefined;
  /** What is read stays so until the commit. */
  locked: boolean;
}

export interface KeyState {
  tier: string;
  valid: boolean;
}

interface Answer {
  /** The server's time. */
  now: number;
  readings: Map<number, Reading>;
  keys: Map<string, KeyState>;
  holds: Map<number, HoldRow>;
  brakes: BrakeReading | undefined;
}

/** Statements whose rows `answerOf` reads. Each one sees what was committed before it. */
export function questionStatements({ wanted, keys, holder, holds, brakes, locked }: Question): string[] {
  const ids = wanted.map(({ accountId }) => accountId).join(', ');
  const asked = wanted.flatMap(({ accountId, requests, spending }) =>
    [...new Set([...requests, ...spending])].map(
      (per) => `(${accountId}::bigint, '${per}', ${requests.has(per)}, ${spending.has(per)})`,
    ),
  );
  const settled = holds.map(({ accountId, hold }) => `(${accountId}, ${hold})`);
  return [
    ...(locked ? [lockAccounts(ids), lockHours(ids)] : ['SELECT', 'SELECT']),
    `WITH time AS MATERIALIZED (SELECT ${NOW} AS now),
     periods AS MATERIALIZED (
       SELECT per, now, ${milliseconds('begin')} AS start, ${milliseconds("begin + ('1 ' || per)::interval")} AS until
       FROM time, unnest(ARRAY[${PERIODS.map((per) => `'${per}'`).join(', ')}]) AS p (per),
         date_trunc(per, to_timestamp(now / 1000.0) AT TIME ZONE 'UTC') AS begin
     )
     SELECT asked.account_id, asked.per, now, requests.sum AS requests, spent.*
     FROM (VALUES ${asked.join(', ')}) AS asked (account_id, per, requests, spending) JOIN periods USING (per)
       LEFT JOIN LATERAL (
         SELECT coalesce(sum(h.requests), 0) AS sum FROM hours h
         WHERE asked.requests AND h.account_id = asked.account_id AND h.hour >= periods.start AND h.hour < periods.until
       ) AS requests ON true
       LEFT JOIN LATERAL (
         SELECT ${SUMS.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')} FROM spending s
         WHERE asked.spending AND s.account_id = asked.account_id AND s.start >= periods.start AND s.start < periods.until
           AND s.kind = CASE asked.per WHEN 'hour' THEN ${SUM_OF_HOUR} ELSE ${SUM_OF_DAY} END
       ) AS spent ON true`,
    `SELECT account_id, sum(tokens) AS tokens, sum(cost) AS cost FROM holds
     WHERE account_id IN (${ids}) AND lapsed_at IS NULL GROUP BY 1`,
    `SELECT account_id, kind, sum(amount) AS amount FROM grants
     WHERE account_id IN (${ids}) AND revoked_at IS NULL AND until > ${NOW} GROUP BY 1, 2`,
    keys.length === 0
      ? 'SELECT'
      : `SELECT keys.id, tier, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${NOW}) AS valid
         FROM keys JOIN accounts ON accounts.id = account_id WHERE keys.id IN (${keys.map(literal).join(', ')})`,
    settled.length === 0
      ? 'SELECT'
      : `SELECT account_id, number, tokens, cost, conversation, lapsed_at FROM holds
         WHERE holder = ${holder} AND (account_id, number) IN (VALUES ${settled.join(', ')})`,
    ...brakeStatements(brakes),
  ];
}

const milliseconds = (time: string): string =>
  `(extract(epoch FROM (${time}) AT TIME ZONE 'UTC') * 1000)::bigint`;

/** `rows`: of the statements of the question, the two that lock included. */
export function answerOf(
  [, , counts = [], held = [], granted = [], keys = [], holds = [], ...braked]: Row[][],
  { wanted, holder, brakes }: Question,
): Answer {
  const now = Number(counts[0]?.['now'] ?? 0);
  const readings = new Map(
    wanted.map(({ accountId }) => [accountId, readingOf(accountId, counts, held, granted)]),
  );
  return {
    now,
    readings,
    brakes: brakes && brakeReading(braked),
    keys: new Map(
      keys.flatMap(({ id, tier, valid }) =>
        typeof id === 'string' ? [[id, { tier: tier as string, valid: valid === true }]] : [],
      ),
    ),
    holds: new Map(
      holds.flatMap(({ account_id: accountId, number, tokens, cost, conversation, lapsed_at: lapsedAt }) =>
        number === undefined
          ? []
          : [
              [
                Number(number),
                {
                  accountId: Number(accountId),
                  holder,
                  number: Number(number),
                  tokens: Number(tokens),
                  cost: Number(cost),
                  conversation: typeof conversation === 'string' ? conversation : null,
                  lapsedAt: lapsedAt === null ? null : Number(lapsedAt),
                },
              ],
            ],
      ),
    ),
  };
}

function readingOf(accountId: number, counts: Row[], held: Row[], granted: Row[]): Reading {
  const own = (rows: Row[]): Row[] => rows.filter((row) => row['account_id'] === accountId);
  const sums = (row: Row): Spending => ({
    ...NOTHING_SPENT,
    ...Object.fromEntries(
      SPENDING_MEMBERS.map((member, index) => [member, Number(row[SUMS[index] ?? ''] ?? 0)]),
    ),
  });
  const amount = (kind: string): number =>
    Number(own(granted).find((row) => row['kind'] === kind)?.['amount'] ?? 0);
  const [holding] = own(held);
  return {
    requests: new Map(own(counts).map((row) => [row['per'] as Period, Number(row['requests'] ?? 0)])),
    spending: new Map(own(counts).map((row) => [row['per'] as Period, sums(row)])),
    held: { tokens: Number(holding?.['tokens'] ?? 0), cost: Number(holding?.['cost'] ?? 0) },
    granted: Object.fromEntries(LIMIT_KINDS.map((kind) => [kind, amount(kind)])),
  };
}

/** Sums to be added, one for each row. */
export class SpendingWrites {
  readonly #rows = new Map<string, { accountId: number; kind: number; start: number; sums: Spending }>();

  add(accountId: number, at: number, sums: Spending): void {
    this.#addTo(accountId, SUM_OF_HOUR, windowOf('hour', at).start, sums);
    this.#addTo(accountId, SUM_OF_DAY, windowOf('day', at).start, sums);
  }

  #addTo(accountId: number, kind: number, start: number, sums: Spending): void {
    const key = `${accountId} ${kind} ${start}`;
    const before = this.#rows.get(key)?.sums ?? NOTHING_SPENT;
    this.#rows.set(key, { accountId, kind, start, sums: plus(before, sums) });
  }

  statements(): string[] {
    const rows = [...this.#rows.values()].sort(
      (a, b) => a.accountId - b.accountId || a.kind - b.kind || a.start - b.start,
    );
    if (rows.length === 0) return [];
    const values = rows.map(
      ({ accountId, kind, start, sums }) =>
        `(${[accountId, kind, start, ...SPENDING_MEMBERS.map((member) => sums[member])].join(', ')})`,
    );
    return [
      `INSERT INTO spending (account_id, kind, start, ${SUMS.join(', ')}) VALUES ${values.join(', ')} ${ADD_SPENDING}`,
    ];
  }
}

/** Of two rows with the same key. */
export const ADD_SPENDING = `ON CONFLICT (account_id, kind, start) DO UPDATE SET
  ${SUMS.map((name) => `${name} = spending.${name} + excluded.${name}`).join(', ')}`;
