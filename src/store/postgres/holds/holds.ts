// Holds and settlements. One transaction is under way; what is asked meanwhile goes with the next one. Each account is locked, read and
// written in two messages; the server's clock decides the windows.
import { type Clock, DAY_MS, hourOf } from '../../../clock.ts';
import { windowOf } from '../../../calendar.ts';
import type { Limit } from '../../../tier.ts';
import { type Holder, type HoldEngine, Holding, type IsGone, newHolderId } from '../../holds/holder.ts';
import {
  type AskedLimits,
  type HoldCount,
  type HoldRequest,
  type HoldRow,
  type HoldStore,
  lapsed,
  periodsOf,
  plus,
  type Reading,
  type Settlement,
  spendingOf,
  type Standing,
  standingsIn,
  Tally,
} from '../../holds/holds.ts';
import { BrakeTally, brakeQuestion } from '../../holds/brakes.ts';
import { StoreError } from '../../store.ts';
import type { Changes } from '../changes.ts';
import type { Connection } from '../connection.ts';
import { BrakeSpending, brakeWrites } from './brakes.ts';
import { literal, ownClient, type OwnClient, type Row } from './own-client.ts';
import {
  answerOf,
  BEGIN,
  type KeyState,
  lockAccounts,
  NOW,
  type Question,
  questionStatements,
  SpendingWrites,
  type Wanted,
} from './statements.ts';

const TIMEOUT_MS = 2000;
/** Beyond this number, requests are refused at once: the database is too slow for them. */
const MAX_WAITING = 10_000;
/** A request that waited so long for its turn is refused. */
const MAX_WAIT_MS = 2000;
/** Of one transaction. */
const MAX_BATCH = 1000;

interface Waiting<Item, Result> {
  item: Item;
  at: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}
type Asked = Waiting<{ request: HoldRequest; number: number }, HoldCount>;
type Settling = Waiting<Settlement, Standing[]>;

interface Holds {
  store: HoldStore;
  /** Settles what is owed, and ends the lease. */
  close: () => Promise<void>;
}

export function createHolds(connection: Connection, changes: Changes, clock: Clock): Holds {
  const id = newHolderId();
  const ledger = ownClient(connection, TIMEOUT_MS);
  const leases = ownClient(connection, TIMEOUT_MS);
  const queue = new Queue(id, ledger, clock, connection.server.location);
  const engine: HoldEngine = {
    hold: (request, number) => queue.hold(request, number),
    settle: (settlement) => queue.settle(settlement),
    async renew({ id: holder, address, pid }, leaseMs, { upTo, live }) {
      const [, rows = []] = await leases.run([
        `INSERT INTO holders (id, address, pid, until) VALUES (${holder}, ${literal(address)}, ${pid}, ${NOW} + ${leaseMs})
         ON CONFLICT (id) DO UPDATE SET address = excluded.address, until = excluded.until`,
        `SELECT account_id, number FROM holds WHERE holder = ${holder} AND number <= ${upTo}`,
      ]);
      for (const row of rows) {
        const hold = Number(row['number']);
        if (live.has(hold)) continue;
        const nothing = { tokens: 0, fresh: 0, cost: 0, estimated: false, unpriced: false, limits: [] };
        queue.settle({ hold, accountId: Number(row['account_id']), ...nothing }).catch(() => undefined);
      }
    },
    releaseDead: (isGone) => releaseDead(connection, isGone),
    leave: async (holder) => void (await leases.run([`DELETE FROM holders WHERE id = ${holder}`])),
  };
  const holding = new Holding(id, engine, clock);
  return {
    store: {
      hold(request, now) {
        changes.listen();
        return holding.hold(request, now);
      },
      settle: (settlement, now) => holding.settle(settlement, now),
      standings: async (accountId, limits) =>
        (await readStandings(connection, [{ accountId, limits }]))[0] ?? [],
      allStandings: (asked) => readStandings(connection, asked),
      serveAt: (address) => holding.serveAt(address),
      releaseDead: () => holding.releaseDead(),
    },
    async close() {
      await holding.close();
      await Promise.all([ledger.close(), leases.close()]);
    },
  };
}

async function readStandings(connection: Connection, asked: readonly AskedLimits[]): Promise<Standing[][]> {
  const question: Question = {
    wanted: asked.map(({ accountId, limits }) => wantedOf(accountId, limits)),
    keys: [],
    holder: 0,
    holds: [],
    locked: false,
  };
  const read = async (text: string): Promise<Row[]> =>
    text === 'SELECT' ? [] : connection.read<Row>({ text });
  const rows = asked.length === 0 ? [] : await Promise.all(questionStatements(question).map(read));
  const { readings, now } = answerOf(rows, question);
  return asked.map((one) => standingsIn(readings, one, now));
}

const wantedOf = (accountId: number, limits: readonly Limit[]): Wanted => ({
  accountId,
  ...periodsOf(limits),
});

class Queue {
  readonly #holder: number;
  readonly #client: OwnClient;
  readonly #clock: Clock;
  readonly #location: string;
  #asked: Asked[] = [];
  #settling: Settling[] = [];
  #busy = false;

  constructor(holder: number, client: OwnClient, clock: Clock, location: string) {
    this.#holder = holder;
    this.#client = client;
    this.#clock = clock;
    this.#location = location;
  }

  hold(request: HoldRequest, number: number): Promise<HoldCount> {
    if (this.#asked.length >= MAX_WAITING) return Promise.reject(this.#tooSlow());
    return new Promise((resolve, reject) => {
      this.#asked.push({ item: { request, number }, at: this.#clock.monotonic(), resolve, reject });
      this.#wake();
    });
  }

  settle(settlement: Settlement): Promise<Standing[]> {
    return new Promise((resolve, reject) => {
      this.#settling.push({ item: settlement, at: this.#clock.monotonic(), resolve, reject });
      this.#wake();
    });
  }

  /** What is asked in one turn of the event loop goes together. */
  #wake(): void {
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#asked.length + this.#settling.length > 0) {
      const settling = this.#settling.splice(0, MAX_BATCH);
      const asked = this.#asked.splice(0, MAX_BATCH).filter((each) => this.#isInTime(each));
      if (asked.length + settling.length === 0) continue;
      try {
        await this.#transact(settling, asked);
      } catch (error) {
        for (const { reject } of [...settling, ...asked]) reject(error);
      }
      // Other requests may have arrived with the reply.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#busy = false;
  }

  #isInTime({ at, reject }: Asked): boolean {
    if (at >= this.#clock.monotonic() - MAX_WAIT_MS) return true;
    reject(this.#tooSlow());
    return false;
  }

  async #transact(settling: readonly Settling[], asked: readonly Asked[]): Promise<void> {
    const question = questionOf(this.#holder, settling, asked);
    const rows = await this.#client.run([...BEGIN, ...questionStatements(question)]);
    const answer = answerOf(rows.slice(BEGIN.length), question);
    const { now, readings, keys } = answer;
    const spending = new SpendingWrites();
    const brakes = question.brakes && answer.brakes && new BrakeTally(question.brakes, answer.brakes);
    const brakeSpending = new BrakeSpending();
    const removed: string[] = [];
    const held: string[] = [];
    for (const { item } of settling) {
      const row = answer.holds.get(item.hold);
      const reading = readings.get(item.accountId);
      if (row === undefined || reading === undefined) continue;
      answer.holds.delete(item.hold);
      removed.push(`(${item.accountId}, ${item.hold})`);
      const isBack = row.lapsedAt !== null;
      if (row.lapsedAt !== null) spending.add(item.accountId, row.lapsedAt, lapsed(row, -1));
      if (row.conversation !== null) {
        const cost = item.cost - (isBack ? row.cost : 0);
        brakeSpending.add(row.conversation, cost);
        brakes?.settle(row.conversation, cost, isBack ? 0 : row.cost);
      }
      spending.add(item.accountId, now, spendingOf(item));
      readings.set(item.accountId, settledReading(reading, row, item, now));
    }
    const settled = settling.map(({ item }) => standingsIn(readings, item, now));
    const tallies = new Map(
      [...readings].map(([accountId, reading]) => [accountId, new Tally(reading, now)]),
    );
    const counts = asked.map(({ item: { request, number } }): HoldCount => {
      const { key, tokens, cost, braked } = request;
      const refused = refusedKey(key.tier, keys.get(key.id));
      const tally = tallies.get(key.accountId);
      if (refused !== undefined || tally === undefined) return refused ?? { outcome: 'key_ended' };
      const refusal = braked && brakes?.refusalOf(braked);
      if (refusal !== undefined) return { outcome: 'stopped', refusal };
      const count = tally.decide(request, number);
      if (count.outcome !== 'admitted') return count;
      const conversation = braked?.most === undefined ? 'NULL' : literal(braked.conversation);
      held.push(`(${[key.accountId, this.#holder, number, now, tokens, cost, conversation].join(', ')})`);
      if (braked !== undefined) brakes?.admit(braked, cost);
      return count;
    });
    const hours = [...tallies].flatMap(([accountId, { admitted }]) =>
      admitted === 0 ? [] : [`(${accountId}, ${hourOf(now)}, 0, ${admitted}, ${admitted}, 0)`],
    );
    await this.#client.run([
      ...optional(
        removed,
        (values) =>
          `DELETE FROM holds WHERE holder = ${this.#holder} AND (account_id, number) IN (VALUES ${values})`,
      ),
      ...spending.statements(),
      ...brakeSpending.statements(now),
      ...(brakes === undefined ? [] : brakeWrites(brakes.changes, now)),
      ...optional(
        held,
        (values) =>
          `INSERT INTO holds (account_id, holder, number, at, tokens, cost, conversation) VALUES ${values}`,
      ),
      ...optional(
        hours,
        (values) => `INSERT INTO hours AS c (account_id, hour, prev, requests, wanted, most) VALUES ${values}
        ON CONFLICT (account_id, hour) DO UPDATE SET prev = c.requests, wanted = excluded.wanted, most = 0,
          requests = c.requests + excluded.requests`,
      ),
      'COMMIT',
    ]);
    for (const [index, { resolve }] of settling.entries()) resolve(settled[index] ?? []);
    for (const [index, { resolve }] of asked.entries()) resolve(counts[index] ?? { outcome: 'key_ended' });
  }

  #tooSlow(): StoreError {
    const why = `the database ${this.#location} is too slow: requests waited ${MAX_WAIT_MS} ms for it`;
    return new StoreError('busy', why);
  }
}

function questionOf(holder: number, settling: readonly Settling[], asked: readonly Asked[]): Question {
  const limits = new Map<number, Limit[]>();
  const add = (accountId: number, more: readonly Limit[]): void =>
    void limits.set(accountId, [
      ...(limits.get(accountId) ?? []),
      ...more.filter((each) => !limits.get(accountId)?.includes(each)),
    ]);
  for (const { item } of settling) add(item.accountId, item.limits);
  for (const { item } of asked) add(item.request.key.accountId, item.request.limits);
  return {
    wanted: [...limits].map(([accountId, all]) => wantedOf(accountId, all)),
    keys: [...new Set(asked.map(({ item }) => item.request.key.id))],
    holder,
    holds: settling.map(({ item: { accountId, hold } }) => ({ accountId, hold })),
    brakes: brakeQuestion(asked.map(({ item }) => item.request)),
    locked: true,
  };
}

/** A key of a removed account is not there. */
function refusedKey(tier: string, found: KeyState | undefined): HoldCount | undefined {
  if (found?.valid !== true) return { outcome: 'key_ended' };
  return found.tier === tier ? undefined : { outcome: 'tier_changed', tier: found.tier };
}

/** The reading after the settlement of a hold. */
function settledReading(reading: Reading, row: HoldRow, settlement: Settlement, now: number): Reading {
  const { lapsedAt } = row;
  const spending = new Map(
    [...reading.spending].map(([per, sums]) => {
      const isBack = lapsedAt !== null && lapsedAt >= windowOf(per, now).start;
      const before = isBack ? plus(sums, lapsed(row, -1)) : sums;
      return [per, plus(before, spendingOf(settlement))];
    }),
  );
  if (lapsedAt !== null) return { ...reading, spending };
  const held = { tokens: reading.held.tokens - row.tokens, cost: reading.held.cost - row.cost };
  return { ...reading, spending, held };
}

const optional = (values: readonly string[], statement: (values: string) => string): string[] =>
  values.length === 0 ? [] : [statement(values.join(', '))];

const HOLDERS = { text: `SELECT id, address, pid, until <= ${NOW} AS over FROM holders` };
const END_LEASES = { text: 'DELETE FROM holders WHERE id = ANY ($1)' };
const LEFT = 'lapsed_at IS NULL AND holder NOT IN (SELECT id FROM holders)';
const IS_LEFT = { text: `SELECT 1 FROM holds WHERE ${LEFT} LIMIT 1` };
const LOCK_OF_LEFT = { text: lockAccounts(`SELECT account_id FROM holds WHERE ${LEFT}`) };
const LAPSE = {
  text: `UPDATE holds SET lapsed_at = ${NOW} WHERE ${LEFT} RETURNING account_id, tokens, cost, lapsed_at, conversation`,
};
const FORGET = { text: `DELETE FROM holds WHERE lapsed_at < ${NOW} - ${DAY_MS}` };

interface LapsedRow extends Record<string, unknown> {
  account_id: number;
  tokens: number;
  cost: number;
  lapsed_at: number;
  conversation: string | null;
}

async function releaseDead(connection: Connection, isGone: IsGone): Promise<number> {
  const holders = await connection.read<Holder & { over: boolean }>(HOLDERS);
  const gone = holders.filter((holder) => isGone(holder, holder.over)).map((holder) => holder.id);
  if (gone.length === 0 && (await connection.read(IS_LEFT)).length === 0) return 0;
  return connection.transaction(async (session) => {
    await session.run(END_LEASES, gone);
    await session.run(LOCK_OF_LEFT);
    const { rows } = await session.run<LapsedRow>(LAPSE);
    const spending = new SpendingWrites();
    const brakes = new BrakeSpending();
    for (const { account_id: accountId, tokens, cost, lapsed_at: at, conversation } of rows) {
      spending.add(accountId, at, lapsed({ tokens, cost }, 1));
      if (conversation !== null) brakes.add(conversation, cost);
    }
    const now = Math.max(0, ...rows.map((row) => row.lapsed_at));
    for (const text of [...spending.statements(), ...brakes.statements(now)]) await session.run({ text });
    await session.run(FORGET);
    return rows.length;
  });
}
