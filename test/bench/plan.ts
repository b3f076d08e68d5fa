// How long and how often: the two sizes of a run.
import { WIRES, type Wire } from './replies.ts';
import type { TargetName } from './targets.ts';

/** Measurements of each target in turn. The machine's own slow and fast times last for seconds: of short rounds more find all
 *  targets in the same. */
export interface Rounds {
  count: number;
  /** Of one target. An answer that has begun is always finished. */
  forMs: number;
}

/** Rounds of a comparison. Two processes of the same code differ by some per cent, so there are several pairs. */
interface Pairs extends Rounds {
  pairs: number;
  /** Before the rounds, instead of the plan's. */
  warmRequests?: number;
  warmMs?: number;
}

export interface Plan {
  /** Processor time of whole answers. */
  whole: Rounds;
  /** Processor time of streams, each of which lasts 200 or 400 ms. */
  streamed: Rounds;
  latency: Rounds;
  /**
   * Before a route is measured: so many requests, or chunks of streams, for so long at most. V8 compiles for 15 s where a
   * request takes milliseconds: the gateway's 250 functions cost a tenth of the first 2,000 requests of 195 KB.
   */
  warmRequests: number;
  warmChunks: number;
  warmMs: number;
  compared: Pairs;
  /** For what happens once or twice a second. */
  comparedLong: Pairs;
  /** As comparedLong, for a difference that is smaller than that of two processes. V8 still compiles after 15,000 requests, a fifth of
   *  all instructions then. */
  comparedOften: Pairs;
  /** The highest rate is searched in each round. */
  rateRounds: number;
  rateMs: number;
  textRounds: number;
  /** Before memory is steady. */
  steadyRequests: number;
  startRounds: number;
  streamRounds: number;
  streamClients: readonly Wire[];
  streamTargets: readonly TargetName[];
}

export const FULL: Plan = {
  whole: { count: 81, forMs: 125 },
  streamed: { count: 41, forMs: 250 },
  latency: { count: 81, forMs: 250 },
  warmRequests: 20_000,
  warmChunks: 200_000,
  warmMs: 15_000,
  compared: { pairs: 3, count: 41, forMs: 125 },
  comparedLong: { pairs: 3, count: 11, forMs: 1000 },
  comparedOften: { pairs: 10, count: 5, forMs: 1000, warmRequests: 80_000 },
  rateRounds: 7,
  rateMs: 500,
  textRounds: 27,
  steadyRequests: 50_000,
  startRounds: 15,
  streamRounds: 3,
  streamClients: WIRES,
  streamTargets: ['bare', 'floor', 'gateway', 'postgres'],
};

/** Some minutes. Streams last for seconds and their gate is no ratio: only the gateway's. */
export const QUICK: Plan = {
  whole: { count: 4, forMs: 125 },
  streamed: { count: 2, forMs: 250 },
  latency: { count: 4, forMs: 250 },
  warmRequests: 4000,
  warmChunks: 4000,
  warmMs: 800,
  compared: { pairs: 1, count: 4, forMs: 125 },
  // Each worker compiles for itself: with the plan's 4,000 requests, two of them took 2.4 times what one takes, and 1.06 times when warm.
  comparedLong: { pairs: 1, count: 4, forMs: 1000, warmRequests: 20_000, warmMs: 8000 },
  comparedOften: { pairs: 1, count: 2, forMs: 1000 },
  rateRounds: 1,
  rateMs: 200,
  textRounds: 1,
  steadyRequests: 5000,
  startRounds: 1,
  streamRounds: 1,
  streamClients: ['chat'],
  streamTargets: ['gateway'],
};
