// Stores what an account's later requests may need of an answer.
import type { Observer } from '../gateway/trace.ts';
import type { SealedItems } from '../store/sealed-items.ts';

/** `enabled`: whether the configuration has items stored now. */
export function createItemRecorder(items: SealedItems, enabled: () => boolean): Observer {
  return {
    finished({ key, outcome }) {
      if (outcome.items !== undefined && enabled()) items.put(key.accountId, outcome.items);
    },
  };
}
