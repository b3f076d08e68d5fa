// Which target answered a conversation last: it has the prompt cache and accepts the thinking signatures. Bounded in size.
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
  const entries = new Map<string, AffinityEntry>();
  return {
    recall({ accountId, conversation }) {
      return conversation === undefined ? undefined : entries.get(`${accountId}:${conversation}`);
    },
    remember({ accountId, conversation, model }, target) {
      if (conversation === undefined) return;
      const id = `${accountId}:${conversation}`;
      entries.delete(id);
      entries.set(id, { asked: model, key: target.key, family: target.family });
      if (entries.size <= most) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
  };
}
