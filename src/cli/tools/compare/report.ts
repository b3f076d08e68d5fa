// What a comparison says: each answer against that of the first target, and each target over all requests.
import type { Tool } from '../../../canonical/request.ts';
import { compareCalls, SAMENESSES, type ComparedCalls, type Sameness } from '../../../repair/same-calls.ts';
import type { Estimate } from './estimate.ts';
import type { Row } from './run.ts';
import type { Outcome } from './send.ts';

export interface Judged extends Outcome {
  /** Against the first target; null: one of both has no answer, or this is the first. */
  sameText: boolean | null;
  sameCalls: ComparedCalls | null;
}

export interface JudgedRow {
  request: string;
  protocol: string;
  asks: string;
  answers: Judged[];
}

/** `first`: the target that is the measure. */
export function judge({ request, outcomes }: Row, first: string): JudgedRow {
  const measure = outcomes.find(({ target, error }) => target === first && error === null);
  const tools = toolsIn(request.inbound);
  const schemaOf = (name: string): unknown => {
    const tool = tools.find((each) => each.type === 'function' && each.name === name);
    return tool?.type === 'function' ? tool.parameters : undefined;
  };
  const answers = outcomes.map((outcome): Judged => {
    if (measure === undefined || outcome === measure || outcome.error !== null)
      return { ...outcome, sameText: null, sameCalls: null };
    return {
      ...outcome,
      sameText: words(outcome.text) === words(measure.text),
      sameCalls: compareCalls(measure.calls, outcome.calls, schemaOf),
    };
  });
  return { request: request.name, protocol: request.protocol, asks: lastText(request.inbound), answers };
}

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

type Decoding = Pick<Row['request']['inbound'], 'decode'>;

/** A request of which no other protocol can take something has no tools that are known here. */
function toolsIn(inbound: Decoding): readonly Tool[] {
  try {
    return inbound.decode().tools ?? [];
  } catch {
    return [];
  }
}

/** The last thing that the request says, for people. */
function lastText(inbound: Decoding): string {
  try {
    const parts = inbound.decode().messages.at(-1)?.parts ?? [];
    const part = parts.findLast(({ type }) => type === 'text' || type === 'tool_result');
    if (part?.type === 'text') return part.text;
    return part?.type === 'tool_result'
      ? `result of a tool${typeof part.content === 'string' ? `: ${part.content}` : ''}`
      : '';
  } catch {
    return '';
  }
}

export interface Total {
  target: string;
  answered: number;
  failed: number;
  texts: number;
  calls: Record<Sameness, number>;
  input: number | null;
  output: number | null;
  cost: number | null;
  /** The median of the answers. */
  firstByteMs: number | null;
  /** Of all answers. */
  ms: number;
}

export function totals(rows: readonly JudgedRow[], targets: readonly string[]): Total[] {
  return targets.map((target) => {
    const own = rows.flatMap(({ answers }) => answers.filter((answer) => answer.target === target));
    const answered = own.filter(({ error }) => error === null);
    const calls = Object.fromEntries(
      SAMENESSES.map((same) => [same, answered.filter(({ sameCalls }) => sameCalls?.same === same).length]),
    ) as Record<Sameness, number>;
    return {
      target,
      answered: answered.length,
      failed: own.length - answered.length,
      texts: answered.filter(({ sameText }) => sameText === true).length,
      calls,
      input: sumOf(answered, 'input'),
      output: sumOf(answered, 'output'),
      cost: sumOf(answered, 'cost'),
      firstByteMs: median(answered.flatMap(({ firstByteMs }) => firstByteMs ?? [])),
      ms: answered.reduce((sum, { ms }) => sum + (ms ?? 0), 0),
    };
  });
}

/** null: of one of them it is unknown. */
function sumOf(outcomes: readonly Outcome[], member: 'input' | 'output' | 'cost'): number | null {
  let sum = 0;
  for (const outcome of outcomes) {
    const value = outcome[member];
    if (value === null) return null;
    sum += value;
  }
  return sum;
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

export interface Report {
  source: string;
  estimate: Estimate;
  rows: readonly JudgedRow[];
  targets: readonly string[];
  /** Whether every request was sent to every target. */
  complete: boolean;
}

export function reportJson({ source, estimate, rows, targets, complete }: Report) {
  return {
    source,
    measure: targets[0] ?? null,
    complete,
    estimate: { most_usd: estimate.most, usual_usd: estimate.usual, unpriced: estimate.unpriced },
    targets: totals(rows, targets).map(({ texts, calls, ...total }) => ({
      target: total.target,
      ...{ answered: total.answered, failed: total.failed, same_text: texts, calls },
      ...{ input_tokens: total.input, output_tokens: total.output, cost_usd: total.cost },
      ...{ first_byte_ms: total.firstByteMs, duration_ms: total.ms },
    })),
    requests: rows.map(({ request, protocol, answers }) => ({
      request,
      protocol,
      answers: answers.map(answerJson),
    })),
  };
}

function answerJson({
  target,
  id,
  status,
  error,
  text,
  calls,
  stop,
  sameText,
  sameCalls,
  ...numbers
}: Judged) {
  return {
    ...{ target, id, status, error, text, calls, stop },
    same_text: sameText,
    same_calls: sameCalls?.same ?? null,
    difference: sameCalls?.difference ?? null,
    ...{ input_tokens: numbers.input, output_tokens: numbers.output, cost_usd: numbers.cost },
    ...{ first_byte_ms: numbers.firstByteMs, duration_ms: numbers.ms },
  };
}
