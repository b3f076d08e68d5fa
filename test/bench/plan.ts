// How long and how often: the two sizes of a run.
import { WIRES, type Wire } from './replies.ts';
import { TARGET_NAMES, type TargetName } from './targets.ts';

export interface Plan {
  rounds: number;
  /**
   * Before a route is measured: so many units (requests or chunks), for so long at most. V8 compiles for 15 s where a request
   * takes milliseconds: the gateway's 250 functions cost a tenth of the first 2,000 requests of 195 KB.
   */
  warmUnits: number;
  warmMs: number;
  /** One measurement of processor time. */
  runMs: number;
  latencyMs: number;
  startRounds: number;
  streamRounds: number;
  streamClients: readonly Wire[];
  streamTargets: readonly TargetName[];
}

export const FULL: Plan = {
  ...{ rounds: 21, warmUnits: 20_000, warmMs: 15_000, runMs: 500, latencyMs: 1000, startRounds: 7 },
  ...{ streamRounds: 3, streamClients: WIRES, streamTargets: TARGET_NAMES },
};

/** A minute. Streams last for seconds and their gate is no ratio: only the gateway's. */
export const QUICK: Plan = {
  ...{ rounds: 2, warmUnits: 4000, warmMs: 800, runMs: 250, latencyMs: 500, startRounds: 1 },
  ...{ streamRounds: 1, streamClients: ['chat'], streamTargets: ['gateway'] },
};
