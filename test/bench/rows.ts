// The figures of a row, and what they come to: medians, their range, the ratios, and whether the gate holds.
import type { Gate } from './scenarios.ts';
import type { TargetName } from './targets.ts';

export interface Row {
  id: string;
  unit: string;
  gate: Gate;
  values: Record<TargetName, number[]>;
  /** The first fault of a target: a wrong answer, or none. */
  faults: Partial<Record<TargetName, string>>;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export type Verdict = 'goal' | 'ok' | 'over' | 'failed';

export interface Summary {
  id: string;
  unit: string;
  spreads: Partial<Record<TargetName, Spread>>;
  /** Of the gateway to the references in the same round, which the machine's own slow and fast times meet alike: medians. */
  ratios: { bare?: number; floor?: number };
  gate: Gate;
  verdict: Verdict;
  faults: Partial<Record<TargetName, string>>;
}

export function createRow(id: string, unit: string, gate: Gate): Row {
  return { id, unit, gate, values: { bare: [], floor: [], gateway: [] }, faults: {} };
}

export function addValue(row: Row, target: TargetName, value: number): void {
  row.values[target].push(value);
}

export function addFault(row: Row, target: TargetName, fault: string): void {
  row.faults[target] ??= fault;
}

export function summarize(row: Row): Summary {
  const bare = spread(row.values.bare);
  const floor = spread(row.values.floor);
  const gateway = spread(row.values.gateway);
  const ratioTo = (reference: TargetName): number | undefined =>
    spread(ratios(row.values.gateway, row.values[reference]))?.median;
  const medians = { bare: ratioTo('bare'), floor: ratioTo('floor') };
  const { id, unit, gate, faults } = row;
  const figure = gate.against === null ? gateway?.median : medians[gate.against];
  const failed = Object.keys(faults).length > 0;
  return {
    id,
    unit,
    spreads: { bare, floor, gateway },
    ratios: medians,
    gate,
    faults,
    verdict: failed || figure === undefined ? 'failed' : judge(figure, gate),
  };
}

function judge(figure: number, { release, goal }: Gate): Verdict {
  if (figure <= goal) return 'goal';
  return figure <= release ? 'ok' : 'over';
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
