// What a message has no place for.
import type { JsonObject } from '../../../canonical/json.ts';
import type { ReplyHolds } from '../../protocol.ts';

export const holds: ReplyHolds = {
  protocol: 'messages',
  nativeParts: true,
  // What Gemini's chat endpoint wants back with a call.
  losesExtras: (extra) => extra.extra_content !== undefined,
  stopCategory: true,
  pages: false,
  signedThinking: true,
};

export function lossesOfRewriting({ container }: JsonObject): string[] {
  return container !== undefined && container !== null ? ['the container'] : [];
}
