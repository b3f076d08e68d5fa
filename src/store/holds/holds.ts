// Limits beyond requests an hour. A request is admitted while, for each limit of its account, what is spent and what is held is below
// the limit; then its own estimate is held until it ends. What is decided here is the same for every engine: they read and write.
import { type Period, windowOf } from '../../calendar.ts';
import { DAY_MS, HOUR_MS, hourOf } from '../../clock.ts';
import { type Limit, type LimitKind, nanosOf } from '../../tier.ts';
import type { UsageRow } from '../usage-columns.ts';
import type { Braked, BrakeRefusal } from './brakes.ts';

/** In which rows of sums a moment counts: the hour's and the day's. A window is a number of whole days, or an hour. */
export const SUM_OF_HOUR = 0;
export const SUM_OF_DAY = 1;

/** Time after which sums are deleted: no window is so long. */
export const SUMS_KEPT_MS = 62 * DAY_MS;

/** What a request is expected to take; money in billionths of a dollar. */
export interface Estimate {
  tokens: number;
  cost: number;
}

export interface HoldRequest extends Estimate {
  /** Who asks, as found by its hash. */
  key: { id: string; accountId: number; tier: string };
  /** Of `key.tier`. */
  limits: readonly Limit[];
  /** undefined: its conversation has no brakes that the database counts for. */
  braked?: Braked | undefined;
}

/** How a limit stands. `spent` counts requests when they are admitted, tokens and money when they are settled. */
export interface Standing {
  limit: Limit;
  spent: number;
  /** The part of `spent` that no provider counted. */
  estimated: number;
  /** By requests under way. */
  held: number;
  /** Added to the limit by grants. */
  granted: number;
  /** Answers that cost an unknown sum, counted as 0. */
  unpriced: number;
  /** Milliseconds since the epoch: the end of the window. */
  resetsAt: number;
}

/** `hold`: to be settled. `used`: requests of the hour, with this one if it is admitted. `full`: some limit is reached. `stopped`: a brake
 *  stops its conversation. */
export type HoldCount =
  | { outcome: 'admitted'; hold: number; used: number; hour: number; now: number; standings: Standing[] }
  | { outcome: 'full'; used: number; hour: number; now: number; standings: Standing[] }
  | { outcome: 'stopped'; refusal: BrakeRefusal }
  | { outcome: 'key_ended' }
  | { outcome: 'tier_changed'; tier: string };

/** What a request took in the end. */
export interface Settlement extends Estimate {
  hold: number;
  accountId: number;
  /** Tokens without those that were read from a cache. */
  fresh: number;
  /** No provider counted it. */
  estimated: boolean;
  unpriced: boolean;
  /** The conversation whose sum has a brake. */
  conversation?: string | undefined;
  /** The limits whose state is wanted. */
  limits: readonly Limit[];
}

/** Adds to every window of its kind until its end. */
export interface Grant {
  id: string;
  accountId: number;
  kind: LimitKind;
  /** Requests, tokens or billionths of a dollar. */
  amount: number;
  until: number;
  createdAt: number;
  revokedAt: number | null;
}

/** An account, and the limits whose state is wanted. */
export type AskedLimits = Pick<Settlement, 'accountId' | 'limits'>;

/** Held by requests under way, and settled with exact sums, whatever the number of processes. */
export interface HoldStore {
  /** Counts one more request of the key's account, and holds its estimate, if all limits have room. One transaction. `now` is the caller's
   *  time: a database server uses its own. */
  hold(request: HoldRequest, now: number): Promise<HoldCount>;
  /** Replaces the hold by what was spent, once: a second settlement changes nothing. Resolves after the commit to how the limits stand, and
   *  to undefined if the database is not usable now: then it is settled later. Never rejects. */
  settle(settlement: Settlement, now: number): Promise<Standing[] | undefined>;
  /** How the limits of an account stand. */
  standings(accountId: number, limits: readonly Limit[], now: number): Promise<Standing[]>;
  /** The same of several accounts, each once, in their order. */
  allStandings(asked: readonly AskedLimits[], now: number): Promise<Standing[][]>;
  /** Where this process serves: what replaces it there releases its holds at once, others after its lease. */
  serveAt(address: string): void;
  /** Settles the holds of processes that are gone as they were estimated. Resolves to their number. */
  releaseDead(): Promise<number>;
}

export interface GrantStore {
  /** One transaction. */
  addGrants(grants: readonly Grant[]): Promise<void>;
  /** Those that have not ended at `now`, of an account or of all; in the order in which they were made. */
  listGrants(accountId: number | undefined, now: number): Promise<Grant[]>;
  /** Ends it at `at`; a second call changes nothing. Resolves to undefined for an unknown ID. */
  revokeGrant(id: string, at: number): Promise<Grant | undefined>;
}

/** A limit's window, by its end, that has reached a threshold in per cent. */
interface ReachedThreshold {
  accountId: number;
  kind: LimitKind;
  per: Period;
  until: number;
  threshold: number;
}

export interface NoticeStore {
  /** Resolves to true once for a window and threshold, over all processes: who gets it tells people. A lower threshold of the same
   *  window, and a window before, are over. */
  claimNotice(reached: ReachedThreshold): Promise<boolean>;
}

/** Sums of what was settled in a window. */
export interface Spending extends Estimate {
  fresh: number;
  estimatedTokens: number;
  estimatedFresh: number;
  estimatedCost: number;
  unpriced: number;
}

export const NOTHING_SPENT: Spending = {
  ...{ tokens: 0, fresh: 0, cost: 0 },
  ...{ estimatedTokens: 0, estimatedFresh: 0, estimatedCost: 0, unpriced: 0 },
};

/** What a settlement adds to the sums. */
export function spendingOf({ tokens, fresh, cost, estimated, unpriced }: Settlement): Spending {
  return {
    ...{ tokens, fresh, cost },
    estimatedTokens: estimated ? tokens : 0,
    estimatedFresh: estimated ? fresh : 0,
    estimatedCost: estimated ? cost : 0,
    unpriced: unpriced ? 1 : 0,
  };
}

/** What the settlement of a hold as its estimate adds, `times` 1, or takes back. */
export function lapsed({ tokens, cost }: Estimate, times: 1 | -1): Spending {
  const [all, money] = [tokens * times, cost * times];
  return {
    ...{ tokens: all, fresh: all, cost: money },
    ...{ estimatedTokens: all, estimatedFresh: all, estimatedCost: money, unpriced: 0 },
  };
}

/** A hold as it is stored. `lapsedAt`: when it was settled as estimated, since its process seemed gone; null: it holds. */
export interface HoldRow extends Estimate {
  accountId: number;
  holder: number;
  number: number;
  /** Whose sum has a brake. */
  conversation: string | null;
  lapsedAt: number | null;
}

export const SPENDING_MEMBERS = Object.keys(NOTHING_SPENT) as (keyof Spending)[];

export function plus(a: Spending, b: Spending): Spending {
  const sum = { ...a };
  for (const member of SPENDING_MEMBERS) sum[member] += b[member];
  return sum;
}

/** What the database has of an account, for some limits. */
export interface Reading {
  /** Requests admitted in the window of each period. */
  requests: ReadonlyMap<Period, number>;
  spending: ReadonlyMap<Period, Spending>;
  held: Estimate;
  granted: Readonly<Partial<Record<LimitKind, number>>>;
}

/** Periods whose requests must be read, and those whose spending. */
export function periodsOf(limits: readonly Limit[]): { requests: Set<Period>; spending: Set<Period> } {
  const requests = new Set<Period>(['hour']);
  const spending = new Set<Period>();
  for (const { kind, per } of limits) (kind === 'requests' ? requests : spending).add(per);
  return { requests, spending };
}

/** How limits stand as of a reading. */
export function standingsOf(limits: readonly Limit[], reading: Reading, now: number): Standing[] {
  return limits.map((limit) => {
    const { kind, per } = limit;
    const resetsAt = windowOf(per, now).end;
    const granted = reading.granted[kind] ?? 0;
    if (kind === 'requests') {
      const spent = reading.requests.get(per) ?? 0;
      return { limit, spent, estimated: 0, held: 0, granted, unpriced: 0, resetsAt };
    }
    const sums = reading.spending.get(per) ?? NOTHING_SPENT;
    const held = reading.held[kind];
    const { spent, estimated } = spentOf(limit, sums);
    return {
      limit,
      spent,
      estimated,
      held,
      granted,
      unpriced: kind === 'cost' ? sums.unpriced : 0,
      resetsAt,
    };
  });
}

/** Of an account that was read, else none. */
export function standingsIn(
  readings: ReadonlyMap<number, Reading>,
  { accountId, limits }: Pick<Settlement, 'accountId' | 'limits'>,
  now: number,
): Standing[] {
  const reading = readings.get(accountId);
  return reading === undefined ? [] : standingsOf(limits, reading, now);
}

function spentOf({ kind, fresh }: Limit, sums: Spending): { spent: number; estimated: number } {
  if (kind === 'cost') return { spent: sums.cost, estimated: sums.estimatedCost };
  if (fresh === true) return { spent: sums.fresh, estimated: sums.estimatedFresh };
  return { spent: sums.tokens, estimated: sums.estimatedTokens };
}

/** Whether a limit has room for a request more. */
export function hasRoom({ limit, spent, held, granted }: Standing): boolean {
  return spent + held < limit.most + granted;
}

/** Decides on the requests of one account, one after the other, within one transaction. */
export class Tally {
  readonly #reading: Reading;
  readonly #now: number;
  readonly #before: number;
  #requests = 0;
  #tokens = 0;
  #cost = 0;

  /** As of `reading`, at the time `now`. */
  constructor(reading: Reading, now: number) {
    this.#reading = reading;
    this.#now = now;
    this.#before = reading.requests.get('hour') ?? 0;
  }

  /** Requests that were admitted. */
  get admitted(): number {
    return this.#requests;
  }

  /** `hold`: its number if it is admitted. */
  decide({ limits, tokens, cost }: HoldRequest, hold: number): HoldCount {
    const hour = hourOf(this.#now);
    const now = this.#now;
    const standings = this.#standings(limits);
    if (!standings.every(hasRoom)) {
      return { outcome: 'full', used: this.#before + this.#requests, hour, now, standings };
    }
    this.#requests += 1;
    this.#tokens += tokens;
    this.#cost += cost;
    for (const standing of standings) add(standing, 1, tokens, cost);
    const used = this.#before + this.#requests;
    return { outcome: 'admitted', hold, used, hour, now, standings };
  }

  #standings(limits: readonly Limit[]): Standing[] {
    const standings = standingsOf(limits, this.#reading, this.#now);
    for (const standing of standings) add(standing, this.#requests, this.#tokens, this.#cost);
    return standings;
  }
}

function add(standing: Standing, requests: number, tokens: number, cost: number): void {
  const { kind } = standing.limit;
  if (kind === 'requests') standing.spent += requests;
  else standing.held += kind === 'tokens' ? tokens : cost;
}

/** Adds up the usage rows of the last windows, for a database that has no sums of them. `total`: the engine's sum without null. */
export const spendingOfUsage = (total: 'total' | 'sum'): string => `
  INSERT INTO spending (account_id, kind, start, tokens, fresh, cost, estimated_tokens, estimated_fresh, estimated_cost, unpriced)
  SELECT account_id, kind, at - at % length, sum(input + coalesce(cache_read, 0) + coalesce(cache_write, 0) + output),
    sum(input + coalesce(cache_write, 0) + output), coalesce(round(${total}(cost_usd) * 1000000000), 0), 0, 0, 0,
    sum(CASE WHEN cost_usd IS NULL THEN 1 ELSE 0 END)
  FROM usage, (SELECT ${SUM_OF_HOUR} AS kind, ${HOUR_MS} AS length UNION ALL SELECT ${SUM_OF_DAY}, ${DAY_MS}) AS parts
  WHERE input IS NOT NULL AND output IS NOT NULL AND at >= (SELECT max(at) FROM usage) - ${SUMS_KEPT_MS}
  GROUP BY 1, 2, 3`;

interface HourSpending {
  accountId: number;
  hour: number;
  sums: Spending;
}

type Recorded = Pick<
  UsageRow,
  'at' | 'accountId' | 'input' | 'cacheRead' | 'cacheWrite' | 'output' | 'costUsd' | 'settled'
>;

/** What usage rows add to the sums that no settlement has added: accounts without a limit of tokens or money may get one later. */
export function unsettled(rows: readonly Recorded[]): Iterable<HourSpending> {
  const found = new Map<string, HourSpending>();
  for (const { at, accountId, input, cacheRead, cacheWrite, output, costUsd, settled } of rows) {
    if (settled || input === null || output === null) continue;
    const hour = hourOf(at);
    const key = `${accountId} ${hour}`;
    let sum = found.get(key);
    if (sum === undefined) found.set(key, (sum = { accountId, hour, sums: { ...NOTHING_SPENT } }));
    const fresh = input + (cacheWrite ?? 0) + output;
    sum.sums.tokens += fresh + (cacheRead ?? 0);
    sum.sums.fresh += fresh;
    if (costUsd === null) sum.sums.unpriced += 1;
    else sum.sums.cost += nanosOf(costUsd);
  }
  return found.values();
}

/** The rows of sums of a window. */
export function sumsOf(per: Period, now: number): { kind: number; start: number; end: number } {
  return { kind: per === 'hour' ? SUM_OF_HOUR : SUM_OF_DAY, ...windowOf(per, now) };
}
