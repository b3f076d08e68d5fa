// Holds and settlements. Those of one turn of the event loop share a transaction, because the commit costs most.
import type { Clock } from '../../../clock.ts';
import { hourOf } from '../../../clock.ts';
import { type Holder, type HoldEngine, Holding, type IsGone, newHolderId } from '../../holds/holder.ts';
import { BrakeTally, brakeQuestion } from '../../holds/brakes.ts';
import {
  type HoldCount,
  type HoldRequest,
  type HoldRow,
  type HoldStore,
  lapsed,
  plus,
  type Reading,
  type Settlement,
  type Spending,
  type Standing,
  standingsIn,
  SUM_OF_DAY,
  SUM_OF_HOUR,
  SUMS_KEPT_MS,
  Tally,
} from '../../holds/holds.ts';
import type { Limit } from '../../../tier.ts';
import { DAY_MS } from '../../../clock.ts';
import { existing } from '../../rows.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';
import { type Ledger, prepareLedger } from './ledger.ts';

interface Asked {
  request: HoldRequest;
  number: number;
  now: number;
}

interface Settled {
  settlement: Settlement;
  now: number;
}

/** Results in the order of what was asked. */
interface Done {
  settled: Standing[][];
  counted: HoldCount[];
}

/** How long a lapsed hold waits for its settlement. */
const LAPSED_KEPT_MS = DAY_MS;

export function prepareHolds(db: Db) {
  const ledger = prepareLedger(db);
  return {
    ledger,
    holdAndSettle: prepareTurn(db, ledger),
    leases: prepareLeases(db, ledger),
    ...prepareRemoval(db),
  };
}

/** What one turn of the event loop asks: each account is written once and read once. */
function prepareTurn(db: Db, ledger: Ledger) {
  const count = db.prepare<[account: number, hour: number, requests: number]>(
    `INSERT INTO hours (account_id, hour, requests) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = requests + excluded.requests`,
  );

  /** Settlements come first; the latest time counts for all. */
  const work = db.transaction(
    (holder: number, settled: readonly Settled[], asked: readonly Asked[]): Done => {
      const now = Math.max(...settled.map((each) => each.now), ...asked.map((each) => each.now));
      settleAll(holder, settled, now);
      const readings = readAll(ledger, settled, asked, now);
      return {
        settled: settled.map(({ settlement }) => standingsIn(readings, settlement, now)),
        counted: countAll(holder, asked, readings, now),
      };
    },
  );

  function settleAll(holder: number, settled: readonly Settled[], now: number): void {
    const sums = new Map<number, Spending>();
    for (const { settlement } of settled) {
      const { accountId } = settlement;
      const spent = ledger.settle(holder, settlement, now);
      const before = sums.get(accountId);
      if (spent !== undefined) sums.set(accountId, before === undefined ? spent : plus(before, spent));
    }
    for (const [accountId, sum] of sums) ledger.spend(accountId, now, sum);
  }

  function countAll(
    holder: number,
    asked: readonly Asked[],
    readings: ReadonlyMap<number, Reading>,
    now: number,
  ): HoldCount[] {
    const tallies = new Map<number, Tally>();
    const question = brakeQuestion(asked.map(({ request }) => request));
    const brakes = question && new BrakeTally(question, ledger.brakes.read(question));
    const counts = asked.map(({ request, number }): HoldCount => {
      const { accountId } = request.key;
      const { braked, tokens, cost } = request;
      const refusal = braked && brakes?.refusalOf(braked);
      if (refusal !== undefined) return { outcome: 'stopped', refusal };
      let tally = tallies.get(accountId);
      if (tally === undefined)
        tallies.set(accountId, (tally = new Tally(existing(readings.get(accountId)), now)));
      const decided = tally.decide(request, number);
      if (decided.outcome !== 'admitted') return decided;
      const conversation = braked?.most === undefined ? null : braked.conversation;
      ledger.hold(accountId, holder, number, now, tokens, cost, conversation);
      if (braked !== undefined) brakes?.admit(braked, cost);
      return decided;
    });
    if (brakes !== undefined) ledger.brakes.write(brakes.changes, now);
    for (const [accountId, { admitted }] of tallies)
      if (admitted > 0) count.run(accountId, hourOf(now), admitted);
    return counts;
  }

  // `immediate` takes the write lock at the start: a transaction that reads first would fail instead of waiting.
  return (holder: number, settled: readonly Settled[], asked: readonly Asked[]): Done =>
    work.immediate(holder, settled, asked);
}

function readAll(
  ledger: Ledger,
  settled: readonly Settled[],
  asked: readonly Asked[],
  now: number,
): ReadonlyMap<number, Reading> {
  const wanted = new Map<number, Set<Limit>>();
  const want = (accountId: number, limits: readonly Limit[]): void => {
    let all = wanted.get(accountId);
    if (all === undefined) wanted.set(accountId, (all = new Set()));
    for (const limit of limits) all.add(limit);
  };
  for (const { settlement } of settled)
    if (settlement.limits.length > 0) want(settlement.accountId, settlement.limits);
  for (const { request } of asked) want(request.key.accountId, request.limits);
  const read = ([accountId, limits]: [number, Set<Limit>]) =>
    [accountId, ledger.read(accountId, [...limits], now)] as const;
  return new Map([...wanted].map(read));
}

function prepareRemoval(db: Db) {
  const removals = ['spending', 'holds', 'grants', 'notices', 'brakes', 'brake_prompts'].map((table) =>
    db.prepare<[account: number]>(`DELETE FROM ${table} WHERE account_id = ?`),
  );
  const pruneSums = db.prepare<[kind: number, before: number, most: number]>(
    `DELETE FROM spending WHERE (account_id, kind, start) IN
       (SELECT account_id, kind, start FROM spending WHERE kind = ? AND start < ? LIMIT ?)`,
  );
  return {
    removeLimitsOf: (accountId: number): void => {
      for (const removal of removals) removal.run(accountId);
    },
    /** Returns whether there may be more. */
    pruneSpending: (now: number, most: number): boolean =>
      pruneSums.run(SUM_OF_DAY, now - SUMS_KEPT_MS, most).changes +
        pruneSums.run(SUM_OF_HOUR, now - 2 * DAY_MS, most).changes >=
      most,
  };
}

interface HolderRow extends Holder {
  until: number;
}

function prepareLeases(db: Db, ledger: Ledger) {
  const renew = db.prepare<[id: number, address: string, pid: number, until: number]>(
    `INSERT INTO holders (id, address, pid, until) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET address = excluded.address, until = excluded.until`,
  );
  const all = db.prepare<[], HolderRow>('SELECT * FROM holders');
  const leave = db.prepare<[id: number]>('DELETE FROM holders WHERE id = ?');
  const rows =
    'SELECT account_id AS accountId, holder, number, tokens, cost, conversation, lapsed_at AS lapsedAt FROM holds';
  const own = db.prepare<[holder: number, upTo: number], HoldRow>(`${rows} WHERE holder = ? AND number <= ?`);
  const left = db.prepare<[], HoldRow>(
    `${rows} WHERE lapsed_at IS NULL AND holder NOT IN (SELECT id FROM holders)`,
  );
  const lapse = db.prepare<[now: number, account: number, holder: number, number: number]>(
    'UPDATE holds SET lapsed_at = ? WHERE account_id = ? AND holder = ? AND number = ?',
  );
  const forget = db.prepare<[before: number]>('DELETE FROM holds WHERE lapsed_at < ?');

  const renewOwn = db.transaction(
    (holder: Holder, until: number, upTo: number, live: ReadonlySet<number>, now: number): void => {
      renew.run(holder.id, holder.address, holder.pid, until);
      for (const { accountId, number } of own.all(holder.id, upTo)) {
        if (live.has(number)) continue;
        const nothing = { tokens: 0, fresh: 0, cost: 0, estimated: false, unpriced: false, limits: [] };
        const settlement = { hold: number, accountId, ...nothing };
        ledger.settle(holder.id, settlement, now);
      }
    },
  );
  const release = db.transaction((isGone: IsGone, now: number): number => {
    for (const holder of all.all()) if (isGone(holder, holder.until <= now)) leave.run(holder.id);
    const lost = left.all();
    for (const row of lost) {
      ledger.spend(row.accountId, now, lapsed(row, 1));
      if (row.conversation !== null) ledger.brakes.spend(row.conversation, row.cost, now);
      lapse.run(now, row.accountId, row.holder, row.number);
    }
    forget.run(now - LAPSED_KEPT_MS);
    return lost.length;
  });
  return {
    renew: (...own: Parameters<typeof renewOwn>): void => renewOwn.immediate(...own),
    /** Whether a process left something: mostly there is nothing to be locked for. */
    isLeft: (isGone: IsGone, now: number): boolean =>
      all.all().some((holder) => isGone(holder, holder.until <= now)) || left.get() !== undefined,
    release: (isGone: IsGone, now: number): number => release.immediate(isGone, now),
    leave: (id: number): void => void leave.run(id),
  };
}

type Statements = ReturnType<typeof prepareHolds>;
type HoldsConnection = Pick<Connection<{ holds: Statements }>, 'run' | 'runNow' | 'close'>;

interface Holds {
  store: HoldStore;
  /** Settles what is owed, and ends the lease. */
  close: () => Promise<void>;
}

/** `alone`: opens the connection for leases. */
export function createHolds(
  connection: HoldsConnection,
  alone: () => Promise<HoldsConnection>,
  clock: Clock,
): Holds {
  const id = newHolderId();
  const queue = createQueue(connection, id);
  let opened: Promise<HoldsConnection> | undefined;
  const leases = (): Promise<HoldsConnection> => (opened ??= alone());
  const engine: HoldEngine = {
    ...queue,
    async renew(holder, leaseMs, { upTo, live }) {
      const own = await leases();
      await own.run(({ holds }) => {
        const now = clock.now();
        holds.leases.renew(holder, now + leaseMs, upTo, live, now);
      });
    },
    releaseDead: (isGone) =>
      connection.run(({ holds }) => {
        const now = clock.now();
        return holds.leases.isLeft(isGone, now) ? holds.leases.release(isGone, now) : 0;
      }),
    leave: (holder) => connection.run(({ holds }) => holds.leases.leave(holder)),
  };
  const holding = new Holding(id, engine, clock);
  return {
    store: {
      hold: (request, now) => holding.hold(request, now),
      settle: (settlement, now) => holding.settle(settlement, now),
      standings: (accountId, limits: readonly Limit[], now) =>
        connection.run(({ holds }) => holds.ledger.standings(accountId, limits, now)),
      allStandings: (asked, now) =>
        connection.run(({ holds }) =>
          asked.map(({ accountId, limits }) => holds.ledger.standings(accountId, limits, now)),
        ),
      serveAt: (address) => holding.serveAt(address),
      releaseDead: () => holding.releaseDead(),
    },
    async close() {
      await holding.close();
      const own = await opened?.catch(() => undefined);
      own?.close();
    },
  };
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** What is asked in one turn of the event loop is done at its end, in one transaction: settlements come while sockets are read, requests
 *  together behind that (docs/decisions/0008). No promise resolves before the commit. */
function createQueue(connection: HoldsConnection, holder: number): Pick<HoldEngine, 'hold' | 'settle'> {
  let settlements: Waiting<Settled, Standing[]>[] = [];
  let requests: Waiting<Asked, HoldCount>[] = [];

  async function flush(): Promise<void> {
    const [settling, holding] = [settlements, requests];
    if (settling.length + holding.length === 0) return;
    [settlements, requests] = [[], []];
    try {
      const working = connection.runNow(({ holds }) =>
        holds.holdAndSettle(
          holder,
          settling.map(({ item }) => item),
          holding.map(({ item }) => item),
        ),
      );
      const { settled, counted } = working instanceof Promise ? await working : working;
      for (const [index, { resolve }] of settling.entries()) resolve(settled[index] ?? []);
      for (const [index, { resolve, reject }] of holding.entries()) {
        const count = counted[index];
        if (count === undefined) reject(new Error('a request was not counted'));
        else resolve(count);
      }
    } catch (error) {
      for (const { reject } of [...settling, ...holding]) reject(error);
    }
  }

  return {
    hold: (request, number, now) =>
      new Promise((resolve, reject) => {
        const length = requests.push({ item: { request, number, now }, resolve, reject });
        if (length === 1) process.nextTick(() => void flush());
      }),
    settle: (settlement, now) =>
      new Promise((resolve, reject) => {
        const length = settlements.push({ item: { settlement, now }, resolve, reject });
        if (length === 1) setImmediate(() => void flush());
      }),
  };
}
