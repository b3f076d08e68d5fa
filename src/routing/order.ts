// The order in which targets are tried. Pure: all that decides stands in the candidates.
import type { RouteConfig } from '../config/config.ts';
import type { Target } from './catalog.ts';
import type { TargetState } from './health.ts';

export interface Candidate {
  target: Target;
  /** What it lacks and should not; empty: it has everything. */
  weak: readonly string[];
  state: TargetState;
  /** Recent time to first byte; less is better. */
  pace: number;
}

interface Preference {
  strategy: RouteConfig['strategy'];
  /** Key of the target that answered this conversation last. */
  lastTarget: string | undefined;
  /** In an open tool turn: the family whose thinking the turn holds. */
  family: string | undefined;
}

/** Milliseconds until a target should be asked: 0 if it is healthy, or due for a probe that no other request makes. */
export function waitOf({ breaker, probing, openMs, coolingMs }: TargetState): number {
  const open = breaker !== 'closed' && probing ? Math.max(openMs, PROBE_MS) : openMs;
  return Math.max(open, coolingMs);
}

/** A probe under way is expected to end within this time. */
const PROBE_MS = 1000;

/**
 * Healthy targets before failing or cooling ones (the shortest wait first), those that lack nothing before others, then this
 * conversation's last target, then the family of an open tool turn, then the strategy. Stable: among equals the configured order holds.
 */
export function order(candidates: readonly Candidate[], preference: Preference): Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, rank: rankOf(candidate, preference) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ candidate }) => candidate);
}

function rankOf(
  { target, weak, state, pace }: Candidate,
  { strategy, lastTarget, family }: Preference,
): number[] {
  return [
    waitOf(state),
    weak.length > 0 ? 1 : 0,
    target.key === lastTarget ? 0 : 1,
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
