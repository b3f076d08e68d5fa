// Whether an answer missed the cache, judged by tokens: it read clearly less than the provider had for the request before.
import { totalInput, type Usage } from '../../canonical/reply.ts';
import { causeOf, type CachedRequest, type Cause } from './cause.ts';
import type { LastRequest } from './lanes.ts';

interface CacheMiss extends Cause {
  /** Input that was cached before and was read anew. */
  tokens: number;
}

/** A miss, and what it cost. */
export interface PricedMiss extends CacheMiss {
  /** undefined: no price is known. */
  costUsd: number | undefined;
}

/** An answer that read less than this part of what there was. */
const CLEARLY_BELOW = 0.8;
/** The least loss in tokens: caches keep prompts from this size on. */
const LEAST_TOKENS = 1024;

/** Undefined: there was no miss, or the provider does not say what it read. */
export function judge(before: LastRequest, now: CachedRequest, usage: Usage): CacheMiss | undefined {
  const { cacheRead } = usage;
  // The provider can't find what it was still reading when it was asked.
  if (cacheRead === undefined || before.answeredAt > now.askedAt) return undefined;
  // A prompt that became shorter can't read more than it has.
  const had = Math.min(before.had, totalInput(usage));
  const tokens = had - cacheRead;
  if (tokens < LEAST_TOKENS || cacheRead >= CLEARLY_BELOW * had) return undefined;
  return { ...causeOf(before, now, cacheRead), tokens };
}

/** What the provider has in its cache after an answer. */
export function hadAfter({ cacheRead = 0, cacheWrite = 0 }: Usage): number {
  return cacheRead + cacheWrite;
}
