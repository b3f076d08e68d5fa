// The table that a person reads.
import type { Spread, Summary, Verdict } from './rows.ts';

const HEADINGS = ['', 'unit', 'bare', 'floor', 'gateway', '× bare', '× floor', 'gate', 'goal', ''];
const WORDS: Record<Verdict, string> = { goal: 'ok, goal met', ok: 'ok', over: 'OVER', failed: 'FAILED' };

export function table(summaries: readonly Summary[]): string {
  const lines = [HEADINGS, ...summaries.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const isText = (column: number): boolean => column < 2 || column === HEADINGS.length - 1;
  const drawn = lines.map((line) =>
    line
      .map((cell, column) =>
        isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const faults = summaries.flatMap(({ id, faults }) =>
    Object.entries(faults).map(([target, fault]) => `${id}: ${target}: ${fault}`),
  );
  return [...drawn, ...faults].join('\n');
}

function cells({ id, unit, spreads, ratios, gate, verdict }: Summary): string[] {
  const limit = (value: number): string => `≤ ${value}${gate.against === null ? '' : ` × ${gate.against}`}`;
  return [
    id,
    unit,
    range(spreads.bare),
    range(spreads.floor),
    range(spreads.gateway),
    times(ratios.bare),
    times(ratios.floor),
    limit(gate.release),
    limit(gate.goal),
    WORDS[verdict],
  ];
}

function range(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  return `${figure(spread.median)} (${figure(spread.min)}–${figure(spread.max)})`;
}

function figure(value: number): string {
  return value.toFixed(Math.abs(value) < 100 ? 1 : 0);
}

function times(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(2);
}
