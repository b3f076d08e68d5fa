// How much output fits where a provider refused input and output together. Messages demands a limit of output, so that clients
// ask for more than they need, and the gateway itself for the model's most where a chat client asked for none. A translated
// request is sent once more with what fits; a client of the provider's own protocol sees to that itself, by the provider's words.
import { LEAST_OUTPUT, type ProviderFailure } from '../../errors.ts';

/** Our estimate may be too small by so much. */
const ESTIMATE_MARGIN = 1.25;

/** Tokens; undefined where that is not what was wrong, or where hardly any are left. */
export function outputRoom(
  { tokens = {} }: ProviderFailure,
  facts: () => { estimate: () => number },
): number | undefined {
  const { sent, limit, output, atLeast = false } = tokens;
  if (limit === undefined || output === undefined) return undefined;
  const input =
    sent === undefined || atLeast
      ? Math.max(sent ?? 0, Math.ceil(facts().estimate() * ESTIMATE_MARGIN))
      : sent;
  const room = limit - input;
  return room < LEAST_OUTPUT || room >= output ? undefined : room;
}
