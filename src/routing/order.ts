// In what order targets are tried. Pure: what it goes by stands in the candidates.
import type { RouteConfig } from '../config/config.ts';
import type { Target } from './catalog.ts';
import type { TargetState } from './health.ts';

export interface Candidate {
  target: Target;
  /** What it lacks and should not; empty: a full fit. */
  weak: readonly string[];
  state: TargetState;
  /** Recent time to first byte, less is better. */
  pace: number;
}

interface Preference {
  strategy: RouteConfig['strategy'];
  /** The target that answered this conversation last. */
  sticky: string | undefined;
  /** Inside an open tool turn: the family whose thinking the turn holds. */
  family: string | undefined;
}

/** Milliseconds until a target may be asked without regret: 0 where it is well, or due for a probe that nobody is at. */
export function waitOf({ breaker, probing, openMs, coolingMs }: TargetState): number {
  const open = breaker !== 'closed' && probing ? Math.max(openMs, PROBE_MS) : openMs;
  return Math.max(open, coolingMs);
}

/** A probe under way is expected to tell within this. */
const PROBE_MS = 1000;

/** Healthy before failing or cooling (the soonest back first), full fits before weak ones, then this conversation's target,
 *  then an open tool turn's family, then the strategy. Stable: the configured order decides among equals. */
export function order(candidates: readonly Candidate[], preference: Preference): Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, rank: rankOf(candidate, preference) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ candidate }) => candidate);
}

function rankOf(
  { target, weak, state, pace }: Candidate,
  { strategy, sticky, family }: Preference,
): number[] {
  return [
    waitOf(state),
    weak.length > 0 ? 1 : 0,
    target.key === sticky ? 0 : 1,
    family === undefined || target.family === family ? 0 : 1,
    strategy === 'fastest' ? pace : 0,
  ];
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < a.length; index++) {
    const left = a[index] ?? 0;
    const right = b[index] ?? 0;
    // Not a difference: two infinities have none.
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
