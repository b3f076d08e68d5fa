// What routing and recording ask of a responses request that is not decoded for it, and by what its body is told from one of
// another protocol.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Hints } from '../../protocol.ts';
import { hashOfBeginning, hashOfKey, estimateBody } from '../../shared/hints.ts';

/** What only this protocol has; a body with `messages` is another's. */
const OWN_MEMBERS = ['input', 'instructions', 'previous_response_id', 'max_output_tokens'];

export function recognizes(value: JsonObject): boolean {
  return value.messages === undefined && OWN_MEMBERS.some((name) => value[name] !== undefined);
}

/** Results of tools, and the texts of the system that some clients put behind them. */
function isResult(item: JsonValue | undefined): boolean {
  return isObject(item) && typeof item.type === 'string' && item.type.endsWith('_output');
}

function isSystem(item: JsonValue | undefined): boolean {
  return isObject(item) && (item.role === 'system' || item.role === 'developer');
}

export const hints: Hints = {
  estimate: estimateBody,
  conversation({ prompt_cache_key: key, instructions, input }) {
    if (typeof key === 'string' && key !== '') return hashOfKey(key);
    const before = typeof instructions === 'string' ? instructions : '';
    return hashOfBeginning(before, typeof input === 'string' ? [{ role: 'user', content: input }] : input);
  },
  hasOpenToolTurn({ input }) {
    return Array.isArray(input) && isResult(input.findLast((item) => !isSystem(item)));
  },
  // Its streams always tell their usage.
  asksForUsage: () => true,
};
