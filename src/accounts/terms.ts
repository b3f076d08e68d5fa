// The terms of a key: how long it is accepted, and how many requests an hour its tier allows.
import type { Key } from '../store/store.ts';

/** Whether a key, or a token of the admin API, is neither revoked nor expired. */
export function isValid(
  { revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** Its limit applies to an account whose own tier is missing from the configuration. */
export const FALLBACK_TIER = 'free';
const FALLBACK_LIMIT = 10;

/** The hourly limit of a tier. */
export function limitOf(tier: string, tiers: ReadonlyMap<string, number>): number {
  return tiers.get(tier) ?? tiers.get(FALLBACK_TIER) ?? FALLBACK_LIMIT;
}
