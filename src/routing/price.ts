// What an answer cost, from prices in USD a million tokens. Unknown stays undefined, never 0.
import type { Usage } from '../canonical/usage.ts';
import { totalInput } from '../canonical/usage.ts';

/** A rate; with `steps`, the last one whose `above` is less than the whole input counts for every token of the request. */
export interface Rate {
  base: number;
  steps?: readonly { above: number; rate: number }[];
}

export interface Price {
  input?: Rate;
  output?: Rate;
  cacheRead?: Rate;
  cacheWrite?: Rate;
  cacheWrite1h?: Rate;
}

const MILLION = 1_000_000;

/** USD, or undefined where a rate that matters is unknown. A cache's own rate that is not told is taken as the input's. */
export function costOf(price: Price | undefined, usage: Usage): number | undefined {
  if (price?.input === undefined || price.output === undefined) return undefined;
  const whole = totalInput(usage);
  const written = usage.cacheWrite ?? 0;
  const long = Math.min(usage.cacheWrite1h ?? 0, written);
  const short = price.cacheWrite ?? price.input;
  return (
    (usage.input * rateAt(price.input, whole) +
      (usage.cacheRead ?? 0) * rateAt(price.cacheRead ?? price.input, whole) +
      (written - long) * rateAt(short, whole) +
      long * rateAt(price.cacheWrite1h ?? short, whole) +
      usage.output * rateAt(price.output, whole)) /
    MILLION
  );
}

function rateAt(rate: Rate, input: number): number {
  let now = rate.base;
  for (const step of rate.steps ?? []) if (input > step.above) now = step.rate;
  return now;
}
