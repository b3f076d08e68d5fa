// The order of targets. Pure: the candidates hold all that decides.
import type { Target } from './catalog.ts';
import type { TargetState } from './state/health.ts';
import { allCooling } from './refusals.ts';

export interface Candidate {
  target: Target;
  /** What it lacks and should not; empty: it has everything. */
  weak: readonly string[];
  state: TargetState;
  /** Recent time to first byte, for the strategy `fastest`; less is better. */
  pace: number;
  /** How far it is in a balanced route; less is sooner. */
  turn: number;
  /** A rule of the route names others, which come first. */
  isSecond: boolean;
}

interface Preference {
  /** Key of the target that answered this conversation last. */
  lastTarget: string | undefined;
  /** In an open tool turn: the family whose thinking the turn holds. */
  family: string | undefined;
}

/** Milliseconds until a target should be asked: 0 if it is healthy, or due for a probe that no other request makes. */
function waitOf({ breaker, probing, openMs, coolingMs }: TargetState): number {
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
  { target, weak, state, pace, turn, isSecond }: Candidate,
  { lastTarget, family }: Preference,
): number[] {
  return [
    waitOf(state),
    weak.length > 0 ? 1 : 0,
    isSecond ? 1 : 0,
    target.key === lastTarget ? 0 : 1,
    family === undefined || target.family === family ? 0 : 1,
    pace,
    turn,
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

/** The candidates that stand before the best one in the configured order, and why they were not preferred. */
export function beforeIn(
  candidates: readonly Candidate[],
  best: Candidate,
): { target: Target; why: string }[] {
  return candidates
    .slice(0, candidates.indexOf(best))
    .map((candidate) => ({ target: candidate.target, why: drawbackOf(candidate, best) }));
}

function drawbackOf({ state, weak, pace, turn }: Candidate, best: Candidate): string {
  if (state.breaker !== 'closed') return 'it is failing';
  if (state.coolingMs > 0) return `it cools down for ${Math.ceil(state.coolingMs / 1000)} s`;
  if (weak.length > 0 && best.weak.length === 0) return `it lacks ${weak.join(', ')}`;
  if (turn > best.turn) return 'it was the turn of another one';
  return pace > best.pace ? 'another one was faster' : 'the conversation stays with its last target';
}

/** Those that could have taken the request as well as the best one. */
export function equalsOf(candidates: readonly Candidate[], best: Candidate): string[] {
  const isWeak = best.weak.length > 0;
  return candidates
    .filter(
      ({ state, weak, isSecond }) =>
        waitOf(state) === waitOf(best.state) && weak.length > 0 === isWeak && isSecond === best.isSecond,
    )
    .map(({ target }) => target.key);
}

/** The longest time that a request waits for a target that cools. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Milliseconds to wait before a target is asked. Failing targets are tried if nothing better is left; targets that cool after a rate
 * limit or overload are waited for. Throws if the wait is long.
 */
export function waitForAll(ordered: readonly Candidate[]): number {
  let soonest = Infinity;
  for (const { state } of ordered) {
    if (state.coolingMs === 0) return 0;
    soonest = Math.min(soonest, waitOf(state));
  }
  if (soonest >= LONGEST_WAIT_MS) throw allCooling(soonest);
  return soonest;
}
