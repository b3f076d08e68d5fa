// The terms of a key: how long it is accepted, and how many requests an hour its tier allows.
import type { Key } from '../store/store.ts';
import { hourlyTier, type Tier } from '../tier.ts';

/** By name, as the configuration defines them. */
export type Tiers = ReadonlyMap<string, Tier>;

/** Whether a key, or a token of the admin API, is neither revoked nor expired. */
export function isValid(
  { revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** Its limit applies to an account whose own tier is missing from the configuration. */
export const FALLBACK_TIER = 'free';
const FALLBACK = hourlyTier(10);

/** What an account of this tier is held to. */
export function tierNamed(tier: string, tiers: Tiers): Tier {
  return tiers.get(tier) ?? tiers.get(FALLBACK_TIER) ?? FALLBACK;
}

/** The hourly limit of a tier; Infinity: none. */
export function limitOf(tier: string, tiers: Tiers): number {
  return tierNamed(tier, tiers).perHour;
}
