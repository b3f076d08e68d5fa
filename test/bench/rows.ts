// The figures of a row, and what they come to: medians, their range, the ratios, and whether the gate holds.
import type { Gate } from './scenarios.ts';
import type { TargetName } from './targets.ts';

export interface Row {
  id: string;
  unit: string;
  /** undefined: a figure to compare, with no limit. */
  gate: Gate | undefined;
  /** The last is what the row is about, the others are what it is compared with. */
  targets: readonly TargetName[];
  values: Partial<Record<TargetName, number[]>>;
  /** The first fault of a target: a wrong answer, or none. */
  faults: Partial<Record<TargetName, string>>;
  /** What the figures need to be understood. */
  note?: string;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** `undecided`: nearly in its gate, in a run in which the reference itself moved more than that. */
export type Verdict = 'goal' | 'ok' | 'over' | 'undecided' | 'failed' | 'none';

export interface Summary {
  id: string;
  unit: string;
  targets: readonly TargetName[];
  spreads: Partial<Record<TargetName, Spread>>;
  /** Of the subject to the others in the same round, which the machine's own slow and fast times meet alike: medians. */
  ratios: Partial<Record<TargetName, number>>;
  gate: Gate | undefined;
  verdict: Verdict;
  faults: Partial<Record<TargetName, string>>;
  note?: string;
}

export function createRow(
  id: string,
  unit: string,
  gate: Gate | undefined,
  targets: readonly TargetName[],
): Row {
  return { id, unit, gate, targets, values: {}, faults: {} };
}

/** Rows that do not compare the target are left out. */
export function addValue(rows: readonly Row[], target: TargetName, value: number): void {
  for (const row of rows) if (row.targets.includes(target)) (row.values[target] ??= []).push(value);
}

export function addFault(rows: readonly Row[], target: TargetName, fault: string | undefined): void {
  if (fault === undefined) return;
  for (const row of rows) if (row.targets.includes(target)) row.faults[target] ??= fault;
}

export function summarize(row: Row): Summary {
  const { id, unit, gate, targets, values, faults, note } = row;
  const subject = targets.at(-1) ?? 'gateway';
  const others = targets.slice(0, -1);
  const medians = Object.fromEntries(
    others.map((other) => [other, spread(ratios(values[subject] ?? [], values[other] ?? []))?.median]),
  ) as Summary['ratios'];
  const spreads = Object.fromEntries(
    targets.map((name) => [name, spread(values[name] ?? [])]),
  ) as Summary['spreads'];
  const against = gate?.against ?? null;
  const figure = against === null ? spreads[subject]?.median : medians[against];
  const failed = Object.keys(faults).length > 0 || figure === undefined;
  const verdict = failed ? 'failed' : judge(figure, gate, against === null ? undefined : spreads[against]);
  return {
    ...{ id, unit, targets, spreads, ratios: medians, gate, faults, verdict },
    ...(note !== undefined && { note }),
  };
}

const NEAR = 1.05;
const STEADY = 0.2;

function judge(figure: number, gate: Gate | undefined, reference: Spread | undefined): Verdict {
  if (gate === undefined) return 'none';
  const { release, goal, least = false } = gate;
  const holds = (limit: number): boolean => (least ? figure >= limit : figure <= limit);
  if (holds(goal)) return 'goal';
  if (holds(release)) return 'ok';
  const moved = reference !== undefined && reference.max - reference.min > STEADY * reference.median;
  return moved && holds(least ? release / NEAR : release * NEAR) ? 'undecided' : 'over';
}

/** Round by round; none where a round of one of them is missing. */
function ratios(ones: readonly number[], others: readonly number[]): number[] {
  if (ones.length !== others.length) return [];
  return ones.map((one, round) => one / (others[round] ?? NaN));
}

export function spread(values: readonly number[]): Spread | undefined {
  const sorted = values.toSorted((left, right) => left - right);
  const min = sorted[0];
  const max = sorted.at(-1);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (min === undefined || max === undefined || upper === undefined || lower === undefined) return undefined;
  return { median: (lower + upper) / 2, min, max };
}

/** NaN of no values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}
