// The thoughts of a stream whose blocks are over. A signature that comes after other content has no place any more: its block
// was closed on the client's side, and text is not held back for what may never come.
import type { OpenThought, Thought } from '../reply/reasoning.ts';

export interface PastThoughts {
  /** A block that is over. */
  add(block: OpenThought): void;
  /** A block, over or not, whose seal is told. */
  seal(seal: string, block: OpenThought): void;
  /** Whether it is such a block once more: some servers list all of them at the end of an answer. */
  isRepeated(thought: Thought): boolean;
  /** Whether a piece is only the signature of such a block: it is then lost. */
  isLate(thought: Thought): boolean;
  lost(): boolean;
}

export function createPastThoughts(): PastThoughts {
  const keys = new Set<string | number>();
  const sealed = new Map<string, OpenThought>();
  let last: OpenThought | undefined;
  let lost = false;

  function belongs({ key }: Thought): boolean {
    if (key !== undefined && keys.has(key)) return true;
    if (last === undefined || last.signature !== undefined) return false;
    return key === undefined || last.key === undefined;
  }

  return {
    add(block) {
      last = block;
      if (block.key !== undefined) keys.add(block.key);
    },
    seal: (name, block) => sealed.set(name, block),
    isRepeated: ({ redacted, signature, key, text }) =>
      key === undefined && sealed.get(redacted ?? signature ?? '')?.text.endsWith(text) === true,
    isLate(thought) {
      if (thought.text !== '' || !belongs(thought)) return false;
      lost = true;
      return true;
    },
    lost: () => lost,
  };
}
