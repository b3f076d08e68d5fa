// Why the model stopped: the wire's words and ours.
import { isObject } from '../../../canonical/json.ts';
import type { StopReason } from '../../../canonical/reply.ts';
import type { ProviderFailure } from '../../../errors.ts';
import { failureOfWord, shown, stopOfWord } from '../../shared/finish-words.ts';
import { text, type WireStop } from '../wire-types.ts';

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

/** This protocol's word, else one of other servers that stand in for it. */
function reasonOf(word: string): StopReason['reason'] | undefined {
  return REASONS.get(word) ?? stopOfWord(word);
}

/** The failure that a word stands for, whatever came before it. */
export function failureOfStop(reason: string): ProviderFailure | undefined {
  return REASONS.has(reason) ? undefined : failureOfWord(reason);
}

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
