// What routing and recording ask of a chat request that is not decoded for it.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Hints } from '../../protocol.ts';
import { hashOfBeginning, hashOfKey, lastTurn, estimateBody } from '../../shared/hints.ts';

export function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return isObject(options) && options.include_usage === true;
}

export const hints: Hints = {
  estimate: estimateBody,
  conversation({ prompt_cache_key: key, messages }) {
    return typeof key === 'string' && key !== '' ? hashOfKey(key) : hashOfBeginning('', messages);
  },
  hasOpenToolTurn({ messages }) {
    const last = lastTurn(messages);
    return isObject(last) && (last.role === 'tool' || last.role === 'function');
  },
  asksForUsage,
};
