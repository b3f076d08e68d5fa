// The tables of what is held and what was spent: their statements, and what a transaction reads and writes of them.
import { windowOf, type Period } from '../../../calendar.ts';
import type { Limit } from '../../../tier.ts';
import {
  type Estimate,
  type HoldRow,
  lapsed,
  NOTHING_SPENT,
  periodsOf,
  type Reading,
  type Settlement,
  type Spending,
  SPENDING_MEMBERS,
  spendingOf,
  type Standing,
  standingsOf,
  SUM_OF_DAY,
  SUM_OF_HOUR,
  sumsOf,
} from '../../holds/holds.ts';
import type { Db } from '../driver.ts';
import { prepareBrakeCounts } from './brakes.ts';

const SUMS = ['tokens', 'fresh', 'cost', 'estimated_tokens', 'estimated_fresh', 'estimated_cost', 'unpriced'];
type HoldValues = [
  account: number,
  holder: number,
  number: number,
  at: number,
  tokens: number,
  cost: number,
  conversation: string | null,
];
type SumValues = [number, number, number, number, number, number, number];

type Read = (accountId: number, limits: readonly Limit[], now: number) => Reading;

function prepareReading(db: Db): Read {
  const requestsIn = db
    .prepare<[account: number, start: number, end: number], number>(
      'SELECT total(requests) FROM hours WHERE account_id = ? AND hour >= ? AND hour < ?',
    )
    .pluck();
  const spentIn = db.prepare<[account: number, kind: number, start: number, end: number], Spending>(
    `SELECT ${SUMS.map((name, index) => `coalesce(sum(${name}), 0) AS ${SPENDING_MEMBERS[index]}`).join(', ')}
     FROM spending WHERE account_id = ? AND kind = ? AND start >= ? AND start < ?`,
  );
  const heldBy = db.prepare<[account: number], Estimate>(
    `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost), 0) AS cost
     FROM holds WHERE account_id = ? AND lapsed_at IS NULL`,
  );
  const grantedTo = db.prepare<[account: number, now: number], { kind: Limit['kind']; amount: number }>(
    `SELECT kind, sum(amount) AS amount FROM grants
     WHERE account_id = ? AND until > ? AND revoked_at IS NULL GROUP BY kind`,
  );
  /** What is read for these limits, at the time `now`. */
  return (accountId: number, limits: readonly Limit[], now: number): Reading => {
    const { requests, spending } = periodsOf(limits);
    const inWindow = (per: Period): number => {
      const { start, end } = windowOf(per, now);
      return requestsIn.get(accountId, start, end) ?? 0;
    };
    const sums = (per: Period): Spending => {
      const { kind, start, end } = sumsOf(per, now);
      return spentIn.get(accountId, kind, start, end) ?? NOTHING_SPENT;
    };
    const granted = grantedTo.all(accountId, now).map(({ kind, amount }) => [kind, amount] as const);
    return {
      requests: new Map([...requests].map((per) => [per, inWindow(per)])),
      spending: new Map([...spending].map((per) => [per, sums(per)])),
      held: heldBy.get(accountId) ?? { tokens: 0, cost: 0 },
      granted: Object.fromEntries(granted),
    };
  };
}

export function prepareLedger(db: Db) {
  const read = prepareReading(db);
  const brakes = prepareBrakeCounts(db);
  const add = db.prepare<[account: number, kind: number, start: number, ...SumValues]>(
    `INSERT INTO spending (account_id, kind, start, ${SUMS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  );
  const hold = db.prepare<HoldValues>(
    'INSERT INTO holds (account_id, holder, number, at, tokens, cost, conversation) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const find = db.prepare<[account: number, holder: number, number: number], HoldRow>(
    `SELECT account_id AS accountId, holder, number, tokens, cost, conversation, lapsed_at AS lapsedAt
     FROM holds WHERE account_id = ? AND holder = ? AND number = ?`,
  );
  const remove = db.prepare<[account: number, holder: number, number: number]>(
    'DELETE FROM holds WHERE account_id = ? AND holder = ? AND number = ? AND lapsed_at IS NULL',
  );
  const forget = db.prepare<[account: number, holder: number, number: number]>(
    'DELETE FROM holds WHERE account_id = ? AND holder = ? AND number = ?',
  );
  /** Adds to the sums of the hour and of the day. */
  function spend(accountId: number, at: number, sums: Spending): void {
    const values = SPENDING_MEMBERS.map((member) => sums[member]) as SumValues;
    add.run(accountId, SUM_OF_HOUR, windowOf('hour', at).start, ...values);
    add.run(accountId, SUM_OF_DAY, windowOf('day', at).start, ...values);
  }

  /** Gives what is to be spent for it now. Once: without its hold, it was settled already. */
  function settle(holder: number, settlement: Settlement, now: number): Spending | undefined {
    const { accountId, hold: number, conversation, cost } = settlement;
    if (remove.run(accountId, holder, number).changes === 0) {
      const row = find.get(accountId, holder, number);
      if (row === undefined || row.lapsedAt === null) return undefined;
      forget.run(accountId, holder, number);
      spend(accountId, row.lapsedAt, lapsed(row, -1));
      if (row.conversation !== null) brakes.spend(row.conversation, -row.cost, now);
    }
    if (conversation !== undefined) brakes.spend(conversation, cost, now);
    return spendingOf(settlement);
  }

  return {
    read,
    brakes,
    spend,
    settle,
    hold: (...values: HoldValues): void => void hold.run(...values),
    standings: (accountId: number, limits: readonly Limit[], now: number): Standing[] =>
      standingsOf(limits, read(accountId, limits, now), now),
  };
}

export type Ledger = ReturnType<typeof prepareLedger>;
