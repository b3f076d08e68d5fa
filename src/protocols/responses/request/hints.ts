// What routing and recording ask of a responses request that is not decoded for it.
import type { JsonObject } from '../../../canonical/json.ts';
import type { Hints } from '../../protocol.ts';
import { estimateBody } from '../../shared/token-estimate.ts';

export function recognizes({ input, messages }: JsonObject): boolean {
  return messages === undefined && input !== undefined;
}

export const hints: Hints = {
  estimate: estimateBody,
  conversation: () => '',
  hasOpenToolTurn: () => false,
  asksForUsage: () => true,
};
