// What a Response has no place for.
import type { JsonObject } from '../../../canonical/json.ts';
import type { ReplyHolds } from '../../protocol.ts';

export const holds: ReplyHolds = {
  protocol: 'responses',
  nativeParts: true,
  losesExtras: () => false,
  stopCategory: false,
  pages: true,
};

export function lossesOfRewriting(_value: JsonObject): string[] {
  return [];
}
