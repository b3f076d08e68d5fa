// How an answer ended: its stop reason, and its tokens. Chat's prompt_tokens include what was cached, the canonical input does not.
import { asCount, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { type StopReason, totalInput, type Usage } from '../../../canonical/reply.ts';
import type { ProviderFailure } from '../../../errors.ts';
import { createStopWords, shown } from '../../shared/failures/finish-words.ts';

/** Chat's own words. */
const REASONS: ReadonlyMap<string, StopReason['reason']> = new Map<string, StopReason['reason']>(
  Object.entries({
    stop: 'end',
    length: 'length',
    tool_calls: 'tool_calls',
    function_call: 'tool_calls',
    content_filter: 'refusal',
  }),
);

const { reasonOf, failureOfStop } = createStopWords(REASONS);
export { failureOfStop };

/** The failure of an answer without content and with an unknown finish reason: it is not treated as a normal end. */
export function failureOfSilence(finish: string): ProviderFailure | undefined {
  if (reasonOf(finish) !== undefined) return undefined;
  const message = `The provider ended an empty answer with finish reason ${shown(finish)}.`;
  return { kind: 'failed', message, reason: 'finish' };
}

interface Ending {
  /** Undefined: the answer is complete, but has no finish reason. */
  finish: string | undefined;
  /** vLLM's `choice.stop_reason`: the stop sequence that matched, if it is text. */
  stopReason?: JsonValue | undefined;
  hasCalls: boolean;
  /** The model's refusal, if it gave one. */
  refusal?: string | undefined;
}

export function decodeStop(ending: Ending): StopReason {
  const { finish, stopReason, hasCalls, refusal } = ending;
  const known = finish === undefined ? 'end' : (reasonOf(finish) ?? 'other');
  const stop: StopReason = finish === undefined ? { reason: known } : { reason: known, raw: finish };
  if (refusal && known !== 'length') {
    stop.reason = 'refusal';
    stop.explanation = refusal;
  }
  // Many servers send `stop` with tool calls, and some send `tool_calls` without one.
  else if ((known === 'end' || known === 'other') && hasCalls) stop.reason = 'tool_calls';
  else if (known === 'tool_calls' && !hasCalls) stop.reason = 'end';
  else if (known === 'end' && typeof stopReason === 'string' && stopReason !== '') {
    stop.reason = 'stop_sequence';
    stop.sequence = stopReason;
  }
  return stop;
}

const FINISH = {
  end: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  refusal: 'content_filter',
  pause: 'stop',
  context_window: 'length',
  other: 'stop',
} as const satisfies Record<StopReason['reason'], string>;

/** Ends after which calls are whole, and meant to be run. */
const RUNS_CALLS: ReadonlySet<StopReason['reason']> = new Set([
  'end',
  'tool_calls',
  'stop_sequence',
  'other',
]);

/** Agents run calls only with `tool_calls`. `legacy`: the client used `functions`, so the word is `function_call`. */
export function encodeFinish({ reason }: StopReason, hasCalls: boolean, legacy: boolean): string {
  if (hasCalls && RUNS_CALLS.has(reason)) return legacy ? 'function_call' : 'tool_calls';
  return reason === 'tool_calls' ? FINISH.end : FINISH[reason];
}

/**
 * Undefined if the usage is unknown: no object, no counts, or zeros alone (servers send those before they know). Half a count is
 * unknown as well, unless the total gives the rest: it would be recorded as a whole one.
 */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isObject(value)) return undefined;
  const completion = asCount(value.completion_tokens);
  const total = asCount(value.total_tokens);
  const rest = total === undefined || completion === undefined ? undefined : asCount(total - completion);
  const prompt = asCount(value.prompt_tokens) ?? rest;
  if (prompt === undefined) return undefined;
  // A total beyond the sum is reasoning that the server counts outside completion_tokens; without completion_tokens it is all output.
  const beyond = total !== undefined && total > prompt + (completion ?? 0);
  const output = beyond ? total - prompt : (completion ?? (total === prompt ? 0 : undefined));
  if (output === undefined || prompt + output === 0) return undefined;
  const promptDetails = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const outputDetails = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  const cacheRead =
    asCount(promptDetails.cached_tokens) ??
    asCount(value.cache_read_input_tokens) ??
    asCount(value.prompt_cache_hit_tokens) ??
    asCount(value.cached_tokens);
  const written = asCount(promptDetails.cache_write_tokens) ?? asCount(value.cache_creation_input_tokens);
  const cacheWrite = written === undefined ? undefined : written - bothIn(prompt, cacheRead ?? 0, written);
  const reasoning = asCount(outputDetails.reasoning_tokens);
  const usage: Usage = {
    input: Math.max(0, prompt - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output,
  };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (reasoning !== undefined) usage.reasoning = reasoning;
  return usage;
}

/**
 * Tokens that were written to the cache and read from it by one request (Gemini at OpenRouter), seen by counts that the prompt can't
 * hold side by side: they stay with what was read, which clients show. A cache alone beyond the prompt is one that it leaves out.
 */
function bothIn(prompt: number, read: number, written: number): number {
  const overlap = read <= prompt && written <= prompt && read + written > prompt;
  return overlap ? Math.min(read, written) : 0;
}

/** Both details objects are always there: clients read through them without asking. */
export function encodeUsage(usage: Usage): JsonObject {
  const prompt = totalInput(usage);
  const promptDetails: JsonObject = { cached_tokens: usage.cacheRead ?? 0 };
  if (usage.cacheWrite !== undefined) promptDetails.cache_write_tokens = usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: promptDetails,
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}
