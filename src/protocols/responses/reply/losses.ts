// What a Response has no place for.
import type { ReplyHolds } from '../../protocol.ts';

export const holds: ReplyHolds = {
  protocol: 'responses',
  nativeParts: true,
  // What Gemini's chat endpoint wants back with a call.
  losesExtras: (extra) => extra.extra_content !== undefined,
  stopCategory: false,
  pages: true,
  signedThinking: true,
};

/** Log probabilities are asked for by `include`. */
export function lossesOfRewriting({ include }: { include?: unknown }): string[] {
  const asked = Array.isArray(include) && include.includes('message.output_text.logprobs');
  return asked ? ['the log probabilities'] : [];
}
