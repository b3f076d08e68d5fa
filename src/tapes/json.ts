// JSON of tapes, which may be damaged, or anybody's.
import type { JsonValue } from '../canonical/json.ts';
import { MAX_LEVELS } from '../protocols/json/raw-json.ts';
import { measureJson } from '../protocols/json/splice.ts';

/** No shorter text has more levels: each takes two brackets. */
const SHORT = 2 * MAX_LEVELS;

/** undefined: it is no JSON, or nested deeper than a gateway reads. */
export function jsonOf(text: string): JsonValue | undefined {
  if (text.length > SHORT && measureJson(Buffer.from(text), MAX_LEVELS).tooDeep) return undefined;
  let value: JsonValue | undefined;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    value = undefined;
  }
  return value;
}
