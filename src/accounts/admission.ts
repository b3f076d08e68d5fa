// Counts a request before it is forwarded: one statement of the store, exact for any number of keys and processes. Where
// it cannot be counted it is not served.
import type { Admission } from '../canonical/admission.ts';
import { HOUR_MS, type Clock } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Key, Store } from '../store/store.ts';
import { databaseAway } from './authenticate.ts';

/** The tier that holds for an account whose own is gone from the configuration. */
const FALLBACK_TIER = 'free';
const FALLBACK_LIMIT = 10;
/** The SDKs sleep any `Retry-After` without a word: longer waits are the user's to decide. */
const LONG_WAIT_S = 60;

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

export function limitOf(tier: string, tiers: ReadonlyMap<string, number>): number {
  return tiers.get(tier) ?? tiers.get(FALLBACK_TIER) ?? FALLBACK_LIMIT;
}

/** Rejects with GatewayError: 429 where the hour is used up, 503 where the database is away. */
export async function admit(
  store: Store,
  key: Key,
  tiers: ReadonlyMap<string, number>,
  clock: Clock,
): Promise<Admission> {
  const now = clock.now();
  const hour = hourOf(now);
  const limit = limitOf(key.tier, tiers);
  const resetsAt = hour + HOUR_MS;
  let used: number | undefined;
  let standing = limit;
  try {
    used = await store.admit(key.accountId, hour, limit);
    if (used === undefined) standing = await store.used(key.accountId, hour);
  } catch (error) {
    throw databaseAway(error);
  }
  if (used !== undefined) return { limit, used, resetsAt };
  throw refusal(key, { limit, used: standing, resetsAt }, now);
}

function refusal({ account, tier }: Key, admission: Admission, now: number): GatewayError {
  const { limit, used, resetsAt } = admission;
  const retryAfter = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  const message =
    `account ${JSON.stringify(account)} has used ${used} of ${limit} requests of this hour (tier ${tier}); ` +
    `the next hour begins at ${new Date(resetsAt).toISOString()}`;
  return new GatewayError('rate_limited', message, {
    retryAfter,
    ...(retryAfter > LONG_WAIT_S && { shouldRetry: false }),
    admission,
  });
}
