// What JSON may become in memory. Bytes within their limit can still hold millions of values or levels, each of which costs a
// hundred times its bytes; that is seen before anything is parsed.
import { FailureError, type ProviderFailure } from '../../errors.ts';
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { measureJson } from '../../protocols/json/splice.ts';

/** No shorter JSON has more than MAX_LEVELS levels: each takes two brackets. */
const SHORT = 2 * MAX_LEVELS;

/** Why a provider's JSON is not parsed; undefined: it may be. `ascii`: the bytes as text, where they are ASCII. */
export function unparsable(bytes: Buffer, maxValues: number, ascii?: string): ProviderFailure | undefined {
  // Each value takes a character, and a separator after it.
  if (bytes.length <= SHORT && bytes.length <= 2 * maxValues) return undefined;
  const { tooDeep, values } = measureJson(bytes, MAX_LEVELS, ascii);
  if (tooDeep) return tooLarge(`is nested deeper than ${MAX_LEVELS} levels`);
  return values > maxValues ? tooLarge(`holds more than ${maxValues} JSON values`) : undefined;
}

/** Throws FailureError for a reply that is not parsed. */
export function checkReply(bytes: Buffer, maxValues: number, ascii?: string): void {
  const failure = unparsable(bytes, maxValues, ascii);
  if (failure !== undefined) throw new FailureError(failure);
}

function tooLarge(how: string): ProviderFailure {
  return { kind: 'failed', message: `the provider's answer ${how}`, reason: 'too_large' };
}
