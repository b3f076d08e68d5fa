// How an answer ended: the wire's stop reasons and ours, and its tokens. The three kinds of input stand apart; in a stream later
// counts replace earlier ones, and never add up.
import { asCount, isObject, type JsonObject } from '../../../canonical/json.ts';
import type { StopReason, Usage } from '../../../canonical/reply.ts';
import type { ProviderFailure } from '../../../errors.ts';
import { createStopWords, shown } from '../../shared/failures/finish-words.ts';
import { text, type WireStop, type WireUsage } from '../wire-types.ts';

/** Other protocols have no such reason; it is unchanged if client and provider use this protocol. */
const COMPACTION = 'compaction';

const REASONS: ReadonlyMap<string, StopReason['reason']> = new Map<string, StopReason['reason']>(
  Object.entries({
    end_turn: 'end',
    stop_sequence: 'stop_sequence',
    max_tokens: 'length',
    tool_use: 'tool_calls',
    pause_turn: 'pause',
    refusal: 'refusal',
    model_context_window_exceeded: 'context_window',
    [COMPACTION]: 'other',
  }),
);

const WORDS = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  pause: 'pause_turn',
  refusal: 'refusal',
  context_window: 'model_context_window_exceeded',
  other: 'end_turn',
} as const satisfies Record<StopReason['reason'], string>;

/** An empty stop reason counts as absent. */
export function isStop(reason: unknown): reason is string {
  return typeof reason === 'string' && reason !== '';
}

const { reasonOf, failureOfStop } = createStopWords(REASONS);
export { failureOfStop };

/** The failure of an answer without content and with an unknown stop reason: it is not treated as a normal end. */
export function failureOfSilence(reason: string): ProviderFailure | undefined {
  if (reasonOf(reason) !== undefined) return undefined;
  const message = `the provider ended an empty answer with stop reason ${shown(reason)}`;
  return { kind: 'failed', message, reason: 'finish' };
}

/** `value` is a whole message or the `delta` of a `message_delta`. */
export function decodeStop(
  reason: string,
  value: { stop_sequence?: unknown; stop_details?: unknown },
): StopReason {
  const stop: StopReason = { reason: reasonOf(reason) ?? 'other', raw: reason };
  if (typeof value.stop_sequence === 'string') stop.sequence = value.stop_sequence;
  const details = value.stop_details;
  if (isObject(details)) {
    const explanation = text(details.explanation);
    const category = text(details.category);
    if (explanation !== undefined) stop.explanation = explanation;
    if (category !== undefined) stop.category = category;
  }
  return stop;
}

/** Providers send "stop" after tool calls and "tool calls" without one. Agents rely on this word, so it follows the content. */
function word(stop: StopReason, hasCalls: boolean): string {
  if (stop.reason === 'other' && stop.raw === COMPACTION) return COMPACTION;
  if ((stop.reason === 'end' || stop.reason === 'other') && hasCalls) return WORDS.tool_calls;
  if (stop.reason === 'tool_calls' && !hasCalls) return WORDS.end;
  return WORDS[stop.reason];
}

export function encodeStop(stop: StopReason, hasCalls: boolean): WireStop {
  return {
    stop_reason: word(stop, hasCalls),
    stop_sequence: stop.sequence ?? null,
    stop_details:
      stop.reason === 'refusal'
        ? { type: 'refusal', category: stop.category ?? null, explanation: stop.explanation ?? null }
        : null,
  };
}

/** The counts received so far. Servers send them in different frames, and some send none: an absent count stays undefined. */
export interface UsageTally {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  cacheWrite1h?: number;
  output?: number;
  reasoning?: number;
  /** Of calls that were paid for and that the counts above leave out. */
  beside?: UsageTally;
}

/**
 * The entries of `iterations` that the counts above them leave out: the summary that a compaction wrote, and an advisor's words.
 * https://platform.claude.com/docs/en/build-with-claude/compaction
 */
const BESIDE: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);

/** Overwrites `tally` with the counts of `value` that are numbers. */
export function readUsage(tally: UsageTally, value: unknown): void {
  if (!isObject(value)) return;
  tally.input = asCount(value.input_tokens) ?? tally.input;
  tally.output = asCount(value.output_tokens) ?? tally.output;
  tally.cacheRead = asCount(value.cache_read_input_tokens) ?? tally.cacheRead;
  tally.cacheWrite = asCount(value.cache_creation_input_tokens) ?? tally.cacheWrite;
  const { cache_creation: split, output_tokens_details: details } = value;
  if (isObject(split)) tally.cacheWrite1h = asCount(split.ephemeral_1h_input_tokens) ?? tally.cacheWrite1h;
  if (isObject(details)) tally.reasoning = asCount(details.thinking_tokens) ?? tally.reasoning;
  if (Array.isArray(value.iterations)) tally.beside = readBeside(value.iterations);
}

function readBeside(iterations: readonly unknown[]): UsageTally {
  const sum: UsageTally = {};
  for (const iteration of iterations) {
    if (!isObject(iteration) || !BESIDE.has(iteration.type)) continue;
    const one: UsageTally = {};
    readUsage(one, { ...iteration, iterations: null });
    addUsage(sum, one);
  }
  return sum;
}

/** Undefined until both input and output are known: half a count would be recorded as a complete one. */
export function toUsage(tally: UsageTally): Usage | undefined {
  if (tally.input === undefined || tally.output === undefined) return undefined;
  const { input = 0, output = 0, cacheRead, cacheWrite, cacheWrite1h, reasoning } = paid(tally);
  const usage: Usage = { input, output };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (cacheWrite1h !== undefined) usage.cacheWrite1h = cacheWrite1h;
  if (reasoning !== undefined) usage.reasoning = reasoning;
  return usage;
}

/** With what was paid for beside it. */
function paid(tally: UsageTally): UsageTally {
  if (tally.beside === undefined) return tally;
  const sum: UsageTally = {};
  addUsage(sum, tally);
  return sum;
}

/** Adds the counts of `more`, and what was paid for beside them. */
export function addUsage(tally: UsageTally, more: UsageTally): void {
  for (const name of COUNTS) {
    const count = more[name];
    if (count !== undefined) tally[name] = (tally[name] ?? 0) + count;
  }
  if (more.beside !== undefined) addUsage(tally, more.beside);
}

const COUNTS = ['input', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'output', 'reasoning'] as const;

/** The counts received, in the form that `readUsage` reads; counts from beside `usage` are included. */
export function writeTally(tally: UsageTally): JsonObject {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = paid(tally);
  const written: JsonObject = { iterations: [] };
  if (input !== undefined) written.input_tokens = input;
  if (output !== undefined) written.output_tokens = output;
  if (cacheRead !== undefined) written.cache_read_input_tokens = cacheRead;
  if (cacheWrite !== undefined) written.cache_creation_input_tokens = cacheWrite;
  if (cacheWrite1h !== undefined) written.cache_creation = { ephemeral_1h_input_tokens: cacheWrite1h };
  if (reasoning !== undefined) written.output_tokens_details = { thinking_tokens: reasoning };
  return written;
}

export function decodeUsage(value: unknown): Usage | undefined {
  const tally: UsageTally = {};
  readUsage(tally, value);
  return toUsage(tally);
}

const TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    standard: 'standard',
    default: 'standard',
    priority: 'priority',
    batch: 'batch',
  }),
);

/** The cache counts are always present, as 0 if the provider sent none; other unknown counts are left out. */
export function encodeUsage(usage: Usage, serviceTier?: string): WireUsage {
  const { cacheWrite, cacheWrite1h } = usage;
  const wire: WireUsage = {
    input_tokens: usage.input,
    cache_creation_input_tokens: cacheWrite ?? 0,
    cache_read_input_tokens: usage.cacheRead ?? 0,
    output_tokens: usage.output,
  };
  if (cacheWrite !== undefined && cacheWrite1h !== undefined) {
    wire.cache_creation = {
      ephemeral_5m_input_tokens: Math.max(0, cacheWrite - cacheWrite1h),
      ephemeral_1h_input_tokens: cacheWrite1h,
    };
  }
  if (usage.reasoning !== undefined) wire.output_tokens_details = { thinking_tokens: usage.reasoning };
  const tier = TIERS.get(serviceTier ?? '');
  if (tier !== undefined) wire.service_tier = tier;
  return wire;
}

/** The usage of a `message_delta`: cumulative, with the input again, for providers that report it only at the end. */
export function encodeDeltaUsage(usage: Usage): WireUsage {
  return encodeUsage({ ...usage, cacheWrite1h: undefined });
}
