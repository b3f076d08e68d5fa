// Notices of limits at 80 % and at 100 %, once a window over all processes of one database. A request only leaves the account's name
// here; how the limits stand is read from the database beside requests, and who sends a notice is decided there.
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { tierNamed, type Tiers } from '../../accounts/terms.ts';
import { isoTime, type Clock } from '../../clock.ts';
import type { HoldStore, NoticeStore, Standing } from '../../store/holds/holds.ts';
import type { Key } from '../../store/store.ts';
import { amountNumber } from '../../tier.ts';
import type { Emit, Threshold } from './notice.ts';

/** A round reads what was asked for in this time, once an account. */
const EVERY_MS = 500;
/** Pauses are so much longer than rounds: many accounts take a twentieth of the time. */
const PAUSE = 20;
const LONGEST_MS = 10_000;
/** Further accounts wait for their next request. */
const MOST_WAITING = 10_000;
/** Accounts that are read in one turn of the event loop. */
const STEP = 20;

export interface LimitNotices {
  /** To be called when an account has spent. Costs one entry of a map. */
  look(key: Pick<Key, 'accountId' | 'account' | 'tier'>): void;
  /** Ends the rounds, after one for the accounts that wait. */
  stop(): Promise<void>;
}

type Waiting = Map<number, { account: string; tier: string }>;

interface Options {
  store: NoticeStore & Pick<HoldStore, 'standings'>;
  clock: Clock;
  tiers: () => Tiers;
  emit: Emit;
}

export function createLimitNotices({ store, clock, tiers, emit }: Options): LimitNotices {
  let waiting: Waiting = new Map();
  let working: Promise<void> | undefined;
  let isStopped = false;
  /** The threshold of which nobody needs to be told again, by account and limit. */
  const told = new Map<string, { until: number; threshold: Threshold }>();

  async function round(): Promise<void> {
    const accounts = [...waiting];
    waiting = new Map();
    for (const [index, [accountId, { account, tier }]] of accounts.entries()) {
      if (index % STEP === STEP - 1) await yieldToOthers();
      const { limits } = tierNamed(tier, tiers());
      if (limits.length === 0) continue;
      try {
        for (const standing of await store.standings(accountId, limits, clock.now()))
          await notify(accountId, account, standing);
      } catch {
        // The database is away: that has a notice of its own.
        put(accountId, { account, tier });
      }
    }
  }

  async function notify(accountId: number, account: string, standing: Standing): Promise<void> {
    const threshold = thresholdOf(standing);
    if (threshold === undefined) return;
    const { limit, resetsAt: until } = standing;
    const { kind, per } = limit;
    const name = `${accountId} ${kind} ${per}`;
    const before = told.get(name);
    if (before?.until === until && before.threshold >= threshold) return;
    const isFirst = await store.claimNotice({ accountId, kind, per, until, threshold });
    if (told.size >= MOST_WAITING) told.clear();
    told.set(name, { until, threshold });
    if (!isFirst) return;
    const all = limit.most + standing.granted;
    emit({
      event: 'limit',
      ...{ account, kind, per },
      limit: amountNumber(kind, limit.most),
      spent: amountNumber(kind, standing.spent),
      percent: Math.floor((1000 * standing.spent) / all) / 10,
      threshold,
      resets_at: isoTime(until),
      at: isoTime(clock.now()),
    });
  }

  function put(accountId: number, account: { account: string; tier: string }): void {
    if (waiting.size < MOST_WAITING) waiting.set(accountId, account);
  }

  function runLater(ms: number): void {
    const isDue = new Promise<void>((resolve) => void clock.after(ms, resolve));
    working = isDue.then(async () => {
      if (isStopped) return;
      const startedAt = clock.monotonic();
      await round();
      working = undefined;
      const pause = PAUSE * (clock.monotonic() - startedAt);
      if (waiting.size > 0) runLater(Math.min(Math.max(EVERY_MS, pause), LONGEST_MS));
    });
  }

  return {
    look({ accountId, account, tier }) {
      if (waiting.has(accountId)) return;
      put(accountId, { account, tier });
      if (working === undefined && !isStopped) runLater(EVERY_MS);
    },
    async stop() {
      isStopped = true;
      await round();
    },
  };
}

function thresholdOf({ limit, spent, granted }: Standing): Threshold | undefined {
  const all = limit.most + granted;
  if (spent >= all) return 100;
  return spent >= 0.8 * all ? 80 : undefined;
}
