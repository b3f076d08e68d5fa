// Shares the requests of a balanced route among its targets by their weights. Each request moves its target on by 1/weight, and the
// hindmost is the next. One that was away comes back where the others are: it gets its share again, and not what it has missed.

export interface Balance {
  /** How far the target is. Less is sooner. */
  turnOf(target: string): number;
  /** A request goes to this one of the targets that could have taken it. */
  took(target: string, among: readonly string[]): void;
}

/** `weights`: by `provider/model`; a target without one has the weight 1. */
export function createBalance(weights: ReadonlyMap<string, number>): Balance {
  const turns = new Map<string, number>();
  /** Where the hindmost was at the last request. */
  let rear = 0;
  const turnOf = (target: string): number => Math.max(turns.get(target) ?? 0, rear);
  return {
    turnOf,
    took(target, among) {
      rear = among.reduce((least, other) => Math.min(least, turnOf(other)), turnOf(target));
      turns.set(target, turnOf(target) + 1 / (weights.get(target) ?? 1));
    },
  };
}
