// Prometheus' text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
import type { Histogram } from '../../histogram.ts';
import { withoutKeys } from '../../ids.ts';

/** Labels of one sample, written: `a="x",b="y"`. */
type LabelText = string;

export function labels(values: Readonly<Record<string, string>>): LabelText {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

function escaped(value: string): string {
  return withoutKeys(value).replace(/["\\\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
}

export interface Family {
  name: string;
  help: string;
  samples: readonly (readonly [LabelText, number])[];
  type: 'counter' | 'gauge';
}

export interface HistogramFamily {
  name: string;
  help: string;
  samples: readonly (readonly [LabelText, Histogram])[];
  type: 'histogram';
}

/** A family without samples has no lines. */
export function written(families: readonly (Family | HistogramFamily)[]): string {
  const lines: string[] = [];
  for (const family of families) {
    const { name, help, type, samples } = family;
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [text, value] of samples) {
      if (typeof value === 'number') lines.push(sample(name, text, value));
      else addHistogram(lines, name, text, value);
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function addHistogram(
  lines: string[],
  name: string,
  text: LabelText,
  { bounds, counts, sum }: Histogram,
): void {
  let total = 0;
  const before = text === '' ? '' : `${text},`;
  for (const [at, count] of counts.entries()) {
    total += count;
    lines.push(sample(`${name}_bucket`, `${before}le="${numberText(bounds[at] ?? Infinity)}"`, total));
  }
  lines.push(sample(`${name}_sum`, text, sum), sample(`${name}_count`, text, total));
}

function sample(name: string, text: LabelText, value: number): string {
  return `${name}${text === '' ? '' : `{${text}}`} ${numberText(value)}`;
}

function numberText(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}
