// Counts a request against its account's hourly limit before it is forwarded. The store counts, so the limit is exact for any
// number of keys and processes. A request that cannot be counted is refused.
import { type Admission, GatewayError, LONG_WAIT_S } from '../errors.ts';
import { HOUR_MS, type Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { AdmissionCount, Key, Store } from '../store/store.ts';
import { databaseAway, NOT_VALID } from './key.ts';
import { plural } from '../plural.ts';

/** The tier of an account whose own tier is missing from the configuration. */
const FALLBACK_TIER = 'free';
const FALLBACK_LIMIT = 10;

/** A tier that changes more often while one request waits is no limit to count against. */
const MAX_TIER_CHANGES = 3;

export function limitOf(tier: string, tiers: ReadonlyMap<string, number>): number {
  return tiers.get(tier) ?? tiers.get(FALLBACK_TIER) ?? FALLBACK_LIMIT;
}

/** Rejects with GatewayError: 429 if the limit of the hour is reached, 401 if the key ended meanwhile, 503 if the database is
 *  not available. */
export async function admit(
  store: Pick<Store, 'admit'>,
  key: Key,
  tiers: ReadonlyMap<string, number>,
  clock: Clock,
  log: Pick<Logger, 'warn'>,
  tierChanges = 0,
): Promise<Admission> {
  if (!tiers.has(key.tier)) warnOfUnknownTier(key, tiers, log);
  const limit = limitOf(key.tier, tiers);
  let count: AdmissionCount;
  try {
    count = await store.admit(key, limit, clock.now());
  } catch (error) {
    throw databaseAway(error);
  }
  switch (count.outcome) {
    case 'admitted':
      return { limit, used: count.used, resetsAt: count.hour + HOUR_MS };
    case 'full':
      throw refusal(key, { limit, used: count.used, resetsAt: count.hour + HOUR_MS }, count.now);
    case 'key_ended':
      throw new GatewayError('unauthenticated', NOT_VALID);
    case 'tier_changed':
      if (tierChanges === MAX_TIER_CHANGES) throw tierKeepsChanging();
      return admit(store, { ...key, tier: count.tier }, tiers, clock, log, tierChanges + 1);
  }
}

function tierKeepsChanging(): GatewayError {
  return new GatewayError('unavailable', "the account's tier is changing; try again", { retryAfter: 1 });
}

/** Accounts that the log has warned about: once per account and configuration. */
const warned = new WeakMap<ReadonlyMap<string, number>, Set<string>>();

function warnOfUnknownTier(
  { account, tier }: Key,
  tiers: ReadonlyMap<string, number>,
  log: Pick<Logger, 'warn'>,
): void {
  const accounts = warned.get(tiers) ?? new Set();
  if (accounts.has(account)) return;
  warned.set(tiers, accounts.add(account));
  log.warn(`an account's tier is not in the configuration: the limit of tier ${FALLBACK_TIER} applies`, {
    account,
    tier,
  });
}

function refusal({ account, tier }: Key, admission: Admission, now: number): GatewayError {
  const { limit, used, resetsAt } = admission;
  const retryAfter = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  const message =
    `account ${JSON.stringify(account)} has used ${used} of ${plural(limit, 'request')} of this hour (tier ${tier}); ` +
    `the next hour begins at ${new Date(resetsAt).toISOString()}; ` +
    `for more, on the gateway's machine: gateway tiers assign ${JSON.stringify(account)} TIER`;
  return new GatewayError('rate_limited', message, {
    retryAfter,
    ...(retryAfter > LONG_WAIT_S && { shouldRetry: false }),
    admission,
  });
}
