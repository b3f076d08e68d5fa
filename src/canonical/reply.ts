// A whole answer, its tokens, and the events of a streamed one: collecting a stream's events gives the same value as the whole.
import type { NativePart, ReasoningPart, TextPart, ToolCallPart, Citation } from './request.ts';
import type { ProviderFailure } from '../errors.ts';
import type { JsonObject } from './json.ts';

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

export interface Usage {
  /** Fresh input tokens: neither read from nor written to a prompt cache. */
  input: number;
  cacheRead?: number;
  cacheWrite?: number;
  /** The part of `cacheWrite` that is stored for an hour, if the provider reports it. */
  cacheWrite1h?: number;
  /** Output tokens, reasoning included. */
  output: number;
  /** The part of `output` spent on reasoning. */
  reasoning?: number;
  /** Estimated by the gateway, not counted by the provider. */
  estimated?: true;
}

export function totalInput(usage: Usage): number {
  return usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}

/** What a person reads of an answer: its text, and the tools that it calls. */
export function contentOf(parts: readonly ReplyPart[]): {
  text: string;
  calls: Pick<ToolCallPart, 'name' | 'arguments'>[];
} {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const calls = parts.flatMap((part) =>
    part.type === 'tool_call' ? [{ name: part.name, arguments: part.arguments }] : [],
  );
  return { text: texts.join('\n'), calls };
}

const CHARACTERS_A_TOKEN = 4;

/** For a provider that reports no usage: clients need numbers, and zeros make agents show an empty context. */
export function estimateUsage(input: number, outputCharacters: number): Usage {
  return { input, output: Math.ceil(outputCharacters / CHARACTERS_A_TOKEN), estimated: true };
}

/** Characters that the model wrote, for an estimate where the provider counts nothing. */
export function writtenCharacters(parts: readonly ReplyPart[]): number {
  let sum = 0;
  for (const part of parts) {
    if (part.type === 'tool_call') sum += part.name.length + part.arguments.length;
    else if (part.type !== 'native') sum += part.text.length;
  }
  return sum;
}

export type StreamEvent =
  | { type: 'start'; id: string; model: string; created?: number; usage?: Usage; serviceTier?: string }
  | { type: 'text_start'; index: number; refusal?: true }
  | { type: 'text_delta'; index: number; text: string }
  /** Log probabilities of the tokens of the text that follows in this block. */
  | { type: 'logprobs'; index: number; tokens: JsonObject[] }
  | { type: 'citation'; index: number; citation: Citation }
  | { type: 'text_end'; index: number }
  | { type: 'reasoning_start'; index: number; raw?: true }
  | { type: 'reasoning_delta'; index: number; text: string }
  | { type: 'reasoning_end'; index: number; signature?: string }
  /** A redacted reasoning block, whole. */
  | { type: 'redacted'; index: number; data: string }
  | { type: 'tool_start'; index: number; id: string; name: string; custom?: true; extra?: JsonObject }
  /** A piece of the arguments' JSON text (or of the free text of a custom call). */
  | { type: 'tool_delta'; index: number; text: string }
  | { type: 'tool_end'; index: number; extra?: JsonObject }
  /** A block that only one protocol knows, whole. */
  | { type: 'native'; index: number; part: NativePart }
  /** `lost`: parts of the answer that a stream cannot hold at this point. */
  | { type: 'end'; stop: StopReason; usage?: Usage; serviceTier?: string; lost?: readonly string[] }
  | { type: 'error'; failure: ProviderFailure };
