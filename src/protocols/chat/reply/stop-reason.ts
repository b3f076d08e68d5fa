// Why an answer ended, between chat's finish_reason and the canonical stop.
import type { JsonValue } from '../../../canonical/json.ts';
import type { StopReason } from '../../../canonical/reply.ts';
import type { ProviderFailure } from '../../../errors.ts';
import { shown, stopOfWord } from '../../shared/finish-words.ts';

/** The failure of an answer without content and with an unknown finish reason: it is not treated as a normal end. */
export function failureOfSilence(finish: string): ProviderFailure | undefined {
  if (stopOfWord(finish) !== undefined) return undefined;
  const message = `The provider ended an empty answer with finish reason ${shown(finish)}.`;
  return { kind: 'failed', message, reason: 'finish' };
}

export interface Ending {
  /** Undefined: the answer is complete, but has no finish reason. */
  finish: string | undefined;
  /** vLLM's `choice.stop_reason`: the stop sequence that matched, where it is text. */
  stopReason?: JsonValue | undefined;
  hasCalls: boolean;
  /** The model's refusal, where it gave one. */
  refusal?: string | undefined;
}

export function decodeStop(ending: Ending): StopReason {
  const { finish, stopReason, hasCalls, refusal } = ending;
  const known = finish === undefined ? 'end' : (stopOfWord(finish) ?? 'other');
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

const SERVICE_TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    standard: 'default',
    default: 'default',
    priority: 'priority',
    auto: 'auto',
    flex: 'flex',
    scale: 'scale',
  }),
);

/** The other protocol's words for the tier that served; one that chat does not know is left out. */
export function encodeServiceTier(tier: string | undefined): string | undefined {
  return tier === undefined ? undefined : SERVICE_TIERS.get(tier);
}
