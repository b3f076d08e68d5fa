// What a comparison may cost, before anything is sent.
import type { Usage } from '../../../canonical/reply.ts';
import type { Target } from '../../../routing/catalog.ts';
import { costOf } from '../../../routing/price.ts';
import type { ComparedRequest } from './requests.ts';

/** USD. */
export interface Estimate {
  /** With answers as long as they may be. */
  most: number;
  /** With answers as long as the recorded ones; null: none were recorded. */
  usual: number | null;
  /** Names whose price is unknown: their part is missing in both sums. */
  unpriced: readonly string[];
}

/** Tokens of an answer whose length nothing limits. */
const UNLIMITED = 32_000;

/** `targetsOf`: those that may answer a name; the dearest counts. */
export function estimateCost(
  requests: readonly ComparedRequest[],
  names: readonly string[],
  targetsOf: (name: string) => readonly Target[],
): Estimate {
  const unpriced = new Set<string>();
  const sum = (name: string, tokens: (target: Target) => Usage[]): number => {
    const targets = targetsOf(name);
    const costs = targets.flatMap((target) => tokens(target).map((usage) => costOf(target.price, usage)));
    if (costs.length === 0 || costs.includes(undefined)) unpriced.add(name);
    return Math.max(0, ...costs.map((cost) => cost ?? 0));
  };
  let most = 0;
  let usual: number | null = 0;
  for (const { inbound, recorded } of requests) {
    const input = inbound.estimate();
    const answered = recorded?.exchange.usage?.['output'];
    for (const name of names) {
      most += sum(name, (target) =>
        dearest(input, inbound.outputLimit() ?? target.traits.maxOutput ?? UNLIMITED),
      );
      if (answered === undefined) usual = null;
      else if (usual !== null) usual += sum(name, () => [{ input, output: answered }]);
    }
  }
  return { most, usual, unpriced: [...unpriced] };
}

/** A provider may write the input to its cache, which costs more than reading it. */
const dearest = (input: number, output: number): Usage[] => [
  { input, output },
  { input: 0, cacheWrite: input, cacheWrite1h: input, output },
];
