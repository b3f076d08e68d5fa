// A stream of an answer. Every block opens with a start and closes with an end of the same `index` (0, 1, 2 … in order of
// opening, without gaps); tool calls may interleave, text and reasoning never overlap one another. `start` comes first;
// exactly one `end` or `error` comes last.
import type { ProviderFailure } from '../errors.ts';
import type { StopReason } from './reply.ts';
import type { Citation, NativePart } from './request.ts';
import type { JsonObject } from './json.ts';
import type { Usage } from './usage.ts';

export type StreamEvent =
  | { type: 'start'; id: string; model: string; created?: number; usage?: Usage; serviceTier?: string }
  | { type: 'text_start'; index: number; refusal?: true }
  | { type: 'text_delta'; index: number; text: string }
  | { type: 'citation'; index: number; citation: Citation }
  | { type: 'text_end'; index: number }
  | { type: 'reasoning_start'; index: number }
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
