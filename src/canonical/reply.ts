// A whole answer. Collecting a stream's events gives the same value.
import type { NativePart, ReasoningPart, TextPart, ToolCallPart } from './request.ts';
import type { Usage } from './usage.ts';

export type ReplyPart = TextPart | ReasoningPart | ToolCallPart | NativePart;

/** Why the model stopped, unified; `raw` is the provider's own word. */
export interface StopReason {
  reason:
    'end' | 'stop_sequence' | 'length' | 'tool_calls' | 'refusal' | 'pause' | 'context_window' | 'other';
  raw?: string;
  /** The stop sequence that matched, if known. */
  sequence?: string;
  /** With `refusal`: the model's or the provider's explanation and its category. */
  explanation?: string;
  category?: string;
}

export interface Reply {
  /** The provider's id, unchanged; an encoder creates one in its own form if the prefix is foreign. */
  id: string;
  /** The model that answered, as the provider names it. */
  model: string;
  /** Seconds since the epoch; messages has none. */
  created?: number;
  parts: ReplyPart[];
  stop: StopReason;
  /** Absent: the provider sent none. */
  usage?: Usage;
  serviceTier?: string;
}
