// The tables that a person reads: one for each set of targets that rows compare.
import type { Spread, Summary, Verdict } from './rows.ts';

const WORDS: Record<Verdict, string> = {
  goal: 'ok, goal met',
  ok: 'ok',
  over: 'OVER',
  undecided: 'undecided',
  failed: 'FAILED',
  none: '',
};

export function tables(summaries: readonly Summary[]): string {
  const groups = new Map<string, Summary[]>();
  for (const summary of summaries) {
    const key = summary.targets.join();
    groups.set(key, [...(groups.get(key) ?? []), summary]);
  }
  const notes = summaries.flatMap(({ id, note }) => (note === undefined ? [] : [`${id}: ${note}`]));
  const faults = summaries.flatMap(({ id, faults }) =>
    Object.entries(faults).map(([target, fault]) => `${id}: ${target}: ${fault}`),
  );
  return [...[...groups.values()].map(table), [...notes, ...faults].join('\n')]
    .filter((part) => part !== '')
    .join('\n\n');
}

function table(summaries: readonly Summary[]): string {
  const targets = summaries[0]?.targets ?? [];
  const others = targets.slice(0, -1);
  const headings = ['', 'unit', ...targets, ...others.map((name) => `× ${name}`), 'gate', 'goal', ''];
  const lines = [headings, ...summaries.map(cells)];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const isText = (column: number): boolean => column < 2 || column === headings.length - 1;
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cells({ id, unit, targets, spreads, ratios, gate, verdict }: Summary): string[] {
  const limit = (value: number | undefined): string => {
    if (gate === undefined || value === undefined) return '';
    return `${gate.least === true ? '≥' : '≤'} ${value}${gate.against === null ? '' : ` × ${gate.against}`}`;
  };
  return [
    id,
    unit,
    ...targets.map((name) => range(spreads[name])),
    ...targets.slice(0, -1).map((name) => times(ratios[name])),
    limit(gate?.release),
    limit(gate?.goal),
    WORDS[verdict],
  ];
}

function range(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  return `${figure(spread.median)} (${figure(spread.min)}–${figure(spread.max)})`;
}

function figure(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

function times(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(2);
}
