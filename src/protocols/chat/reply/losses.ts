// What a chat completion has no place for.
import type { JsonObject } from '../../../canonical/json.ts';
import type { ReplyHolds } from '../../protocol.ts';

export const holds: ReplyHolds = {
  protocol: 'chat',
  // Where it has such members, they are not written anew.
  nativeParts: false,
  losesExtras: () => false,
  stopCategory: false,
  pages: true,
  // Few clients keep the members in which it is handed out.
  signedThinking: false,
};

export function lossesOfRewriting({ n, logprobs }: JsonObject): string[] {
  const lost: string[] = [];
  if (typeof n === 'number' && n > 1) lost.push('the choices after the first');
  if (logprobs === true) lost.push('the log probabilities');
  return lost;
}
