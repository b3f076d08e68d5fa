// Counts a request against its account's hourly limit before it is forwarded. The store counts, so the limit is exact for any
// number of keys and processes. A request that cannot be counted is refused.
import { type Admission, GatewayError } from '../errors.ts';
import { HOUR_MS, type Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Key, Store } from '../store/store.ts';
import { databaseAway } from './key.ts';
import { plural } from '../plural.ts';

/** The tier of an account whose own tier is missing from the configuration. */
const FALLBACK_TIER = 'free';
const FALLBACK_LIMIT = 10;
/** The SDKs wait for any `Retry-After` silently. For a longer wait, the response tells them not to retry. */
const LONG_WAIT_S = 60;

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

export function limitOf(tier: string, tiers: ReadonlyMap<string, number>): number {
  return tiers.get(tier) ?? tiers.get(FALLBACK_TIER) ?? FALLBACK_LIMIT;
}

/** Rejects with GatewayError: 429 if the limit of the hour is reached, 503 if the database is not available. */
export async function admit(
  store: Store,
  key: Key,
  tiers: ReadonlyMap<string, number>,
  clock: Clock,
  log: Pick<Logger, 'warn'>,
): Promise<Admission> {
  const now = clock.now();
  const hour = hourOf(now);
  if (!tiers.has(key.tier)) warnOfUnknownTier(key, tiers, log);
  const limit = limitOf(key.tier, tiers);
  const resetsAt = hour + HOUR_MS;
  let used: number | undefined;
  let admitted = limit;
  try {
    used = await store.admit(key.accountId, hour, limit);
    if (used === undefined) admitted = await store.used(key.accountId, hour);
  } catch (error) {
    throw databaseAway(error);
  }
  if (used !== undefined) return { limit, used, resetsAt };
  throw refusal(key, { limit, used: admitted, resetsAt }, now);
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
