// How an answer ended: its reason, its tokens as the provider counted them, and its times in nanoseconds.
import type { JsonObject } from '../../../canonical/json.ts';
import { totalInput, type StopReason, type Usage } from '../../../canonical/reply.ts';

const REASONS = {
  end: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  tool_calls: 'stop',
  refusal: 'stop',
  pause: 'stop',
  context_window: 'length',
  other: 'stop',
} as const satisfies Record<StopReason['reason'], string>;

/** Milliseconds since the request arrived. */
interface Times {
  /** Of the first content; undefined: the answer came whole. */
  first: number | undefined;
  last: number;
}

/** The members of the last line. Counts that the provider did not send are left out. */
export function ending({ reason }: StopReason, usage: Usage | undefined, { first, last }: Times): JsonObject {
  return {
    done: true,
    done_reason: REASONS[reason],
    total_duration: nanoseconds(last),
    load_duration: 0,
    ...(usage && { prompt_eval_count: totalInput(usage) }),
    ...(first !== undefined && { prompt_eval_duration: nanoseconds(first) }),
    ...(usage && { eval_count: usage.output }),
    eval_duration: nanoseconds(last - (first ?? 0)),
  };
}

export function nanoseconds(ms: number): number {
  return Math.max(0, Math.round(ms * 1e6));
}
