// How a request is counted against the limits of its account before it is forwarded. The store counts, so limits are exact for any number
// of keys and processes. A request that cannot be counted is refused.
import { type Clock, DAY_MS, HOUR_MS } from '../clock.ts';
import { GatewayError, type Admission } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Braked, BrakeStore } from '../store/holds/brakes.ts';
import type { Estimate, HoldCount, HoldStore, Standing } from '../store/holds/holds.ts';
import type { AdmissionCount, AdmissionStore, Key } from '../store/store.ts';
import type { Tier } from '../tier.ts';
import { databaseAway, NOT_VALID } from './access.ts';
import { stopped } from './brakes.ts';
import { hourRefusal, limitRefusal } from './refusals.ts';
import { FALLBACK_TIER, tierNamed, type Tiers } from './terms.ts';

/** What an admitted request holds until it is settled. */
export interface Held {
  number: number;
  standings: Standing[];
}

/** `held`: the account has limits beyond requests an hour. `native`: the client shows limits (`Key.native`). */
export interface Admitted extends Admission {
  held?: Held;
  native: boolean;
}

type Stores = Pick<AdmissionStore, 'admit'> & Pick<HoldStore, 'hold'> & Pick<BrakeStore, 'noteStop'>;

/** A tier that changes more often while one request waits is no limit to count against. */
const MAX_TIER_CHANGES = 3;

/** Rejects with GatewayError: 429 if a limit is reached or a brake stops the conversation, 401 if the key ended meanwhile, 503 if the
 *  database is not available. `estimate`: of what the request takes, for limits of tokens and money. `braked`: what the database counts for
 *  the brakes of its conversation. */
export async function admit(
  store: Stores,
  key: Key,
  tiers: Tiers,
  { clock, log }: { clock: Clock; log: Pick<Logger, 'warn'> },
  estimate: () => Estimate,
  braked?: Braked,
  tierChanges = 0,
): Promise<Admitted> {
  if (!tiers.has(key.tier)) warnOfUnknownTier(key, tiers, log);
  const tier = tierNamed(key.tier, tiers);
  const now = clock.now();
  const isHeld = braked !== undefined || needsHold(tier, key, now);
  let count: AdmissionCount | HoldCount;
  try {
    count = isHeld
      ? await store.hold({ key, limits: tier.limits, ...estimate(), braked }, now)
      : await store.admit(key, tier.perHour, now);
  } catch (error) {
    throw databaseAway(error);
  }
  switch (count.outcome) {
    case 'admitted':
      if (count.standings === undefined) return { ...plainHour(tier, count), native: key.native };
      return {
        ...hourOf(count),
        held: { number: count.hold, standings: count.standings },
        native: key.native,
      };
    case 'full':
      if (count.standings === undefined) throw hourRefusal(key, plainHour(tier, count), count.now);
      throw limitRefusal(key, hourOf(count), count);
    case 'stopped': {
      const conversation = braked?.conversation ?? '';
      const stop = { conversation, accountId: key.accountId, at: now };
      throw await stopped(store, log, stop, count.refusal);
    }
    case 'key_ended':
      throw new GatewayError('unauthenticated', NOT_VALID);
    case 'tier_changed':
      if (tierChanges === MAX_TIER_CHANGES) throw tierKeepsChanging();
      return admit(
        store,
        { ...key, tier: count.tier },
        tiers,
        { clock, log },
        estimate,
        braked,
        tierChanges + 1,
      );
  }
}

/** By how much this machine's clock may be ahead of the one that decides when a grant ends. */
const CLOCK_ERROR_MS = DAY_MS;

/** Requests an hour alone are counted by one statement, which knows nothing of grants. */
function needsHold({ held, limits }: Tier, { grantedUntil }: Key, now: number): boolean {
  return held || (grantedUntil !== null && grantedUntil > now - CLOCK_ERROR_MS && limits.length > 0);
}

function plainHour({ perHour }: Tier, { used, hour }: { used: number; hour: number }): Admission {
  return { limit: perHour, used, resetsAt: hour + HOUR_MS };
}

/** The limit of requests an hour, with what grants add. */
function hourOf({ hour, used, standings }: Extract<HoldCount, { standings: unknown }>): Admission {
  const hourly = standings.find(({ limit: { kind, per } }) => kind === 'requests' && per === 'hour');
  const limit = hourly === undefined ? Infinity : hourly.limit.most + hourly.granted;
  return { limit, used, resetsAt: hour + HOUR_MS };
}

function tierKeepsChanging(): GatewayError {
  return new GatewayError('unavailable', "the account's tier is changing; try again", { retryAfter: 1 });
}

/** Accounts that the log has warned about: once per account and configuration. */
const warned = new WeakMap<Tiers, Set<string>>();

function warnOfUnknownTier({ account, tier }: Key, tiers: Tiers, log: Pick<Logger, 'warn'>): void {
  const accounts = warned.get(tiers) ?? new Set();
  if (accounts.has(account)) return;
  warned.set(tiers, accounts.add(account));
  log.warn(`an account's tier is not in the configuration: the limit of tier ${FALLBACK_TIER} applies`, {
    account,
    tier,
  });
}
