// Sealed thinking in the forms in which chat clients send it back: OpenRouter's `reasoning_details` and LiteLLM's
// `thinking_blocks`. The standard has none, and without it a model does not go on thinking in a tool loop.
import type { JsonObject } from '../../../canonical/json.ts';

export interface SealedThought {
  text: string;
  signature?: string;
  redacted?: string;
}

/** OpenRouter's word for what the messages protocol seals. */
const FORMAT = 'anthropic-claude-v1';

export function isSealed({ signature, redacted }: SealedThought): boolean {
  return Boolean(redacted ?? signature);
}

/** Readers join the pieces of a stream by `index`: each block is one piece, whole. */
export function reasoningDetail({ text, signature, redacted }: SealedThought, index: number): JsonObject {
  if (redacted !== undefined) return { type: 'reasoning.encrypted', data: redacted, format: FORMAT, index };
  const seal = signature ? { signature } : {};
  return { type: 'reasoning.text', text, ...seal, format: FORMAT, index };
}

export function thinkingBlock({ text, signature, redacted }: SealedThought): JsonObject {
  return redacted === undefined
    ? { type: 'thinking', thinking: text, signature: signature ?? '' }
    : { type: 'redacted_thinking', data: redacted };
}
