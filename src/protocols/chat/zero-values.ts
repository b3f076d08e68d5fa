// Servers written in Go send the zero values of members that they don't have: such a member is absent.
import { isObject, type JsonValue } from '../../canonical/json.ts';

/** Levels that are looked at: what is deeper is no zero value of any server. */
const DEPTH = 8;

/** Whether anything but empty texts, 0 and false stands in it. */
export function isFilled(value: JsonValue | undefined, depth = DEPTH): boolean {
  if (Array.isArray(value)) return depth === 0 || value.some((item) => isFilled(item, depth - 1));
  if (!isObject(value)) return Boolean(value);
  return depth === 0 || Object.values(value).some((member) => isFilled(member, depth - 1));
}
