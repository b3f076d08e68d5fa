// Where conversations were answered last: a provider's prompt cache and its thinking signatures are there. Bounded.
import type { Target } from './catalog.ts';

interface AffinityEntry {
  asked: string;
  /** The target's key. */
  key: string;
  family: string;
}

interface Conversation {
  accountId: number;
  conversation: string | undefined;
  model: string;
}

export interface Affinity {
  recall(of: Conversation): AffinityEntry | undefined;
  remember(of: Conversation, target: Target): void;
}

const MOST_CONVERSATIONS = 10_000;

export function createAffinity(most = MOST_CONVERSATIONS): Affinity {
  // In order of last use: the first is forgotten first.
  const places = new Map<string, AffinityEntry>();
  return {
    recall({ accountId, conversation }) {
      return conversation === undefined ? undefined : places.get(`${accountId}:${conversation}`);
    },
    remember({ accountId, conversation, model }, target) {
      if (conversation === undefined) return;
      const id = `${accountId}:${conversation}`;
      places.delete(id);
      places.set(id, { asked: model, key: target.key, family: target.family });
      if (places.size <= most) return;
      for (const oldest of places.keys()) {
        places.delete(oldest);
        return;
      }
    },
  };
}
