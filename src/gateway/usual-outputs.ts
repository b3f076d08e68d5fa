// How many tokens an account's answers usually have, of each target: what a request is expected to take before it is answered.

/** Without any answer yet. */
const UNKNOWN = 1000;
/** How much the newest answer counts. */
const NEWEST = 0.2;
const MOST = 10_000;

export interface UsualOutputs {
  /** Of this target, else of all. */
  of(accountId: number, target: string): number;
  add(accountId: number, target: string, tokens: number): void;
}

export function createUsualOutputs(): UsualOutputs {
  const averages = new Map<string, number>();

  function addTo(name: string, tokens: number): void {
    const before = averages.get(name);
    // The oldest goes first.
    if (before === undefined && averages.size >= MOST)
      for (const old of averages.keys()) {
        averages.delete(old);
        break;
      }
    averages.set(name, before === undefined ? tokens : before + (tokens - before) * NEWEST);
  }

  return {
    of: (accountId, target) =>
      Math.ceil(averages.get(`${accountId} ${target}`) ?? averages.get(`${accountId}`) ?? UNKNOWN),
    add(accountId, target, tokens) {
      addTo(`${accountId} ${target}`, tokens);
      addTo(`${accountId}`, tokens);
    },
  };
}
