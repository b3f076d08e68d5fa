// JSON of tapes, which may be damaged.
import type { JsonValue } from '../canonical/json.ts';

/** undefined: it is no JSON. */
export function jsonOf(text: string): JsonValue | undefined {
  let value: JsonValue | undefined;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    value = undefined;
  }
  return value;
}
