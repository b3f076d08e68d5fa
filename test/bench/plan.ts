// How long and how often: the three sizes of a run.

export interface Plan {
  rounds: number;
  /** Before a route is measured: so many units (requests or chunks), for so long at most. */
  warmUnits: number;
  warmMs: number;
  /** One measurement of processor time. */
  runMs: number;
  latencyMs: number;
  streamRounds: number;
  startRounds: number;
}

export const FULL: Plan = {
  ...{ rounds: 21, warmUnits: 20_000, warmMs: 8000, runMs: 500, latencyMs: 1000 },
  ...{ streamRounds: 3, startRounds: 7 },
};

export const QUICK: Plan = {
  ...{ rounds: 2, warmUnits: 4000, warmMs: 1500, runMs: 250, latencyMs: 1000 },
  ...{ streamRounds: 1, startRounds: 2 },
};
