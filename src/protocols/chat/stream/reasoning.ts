// The thoughts of a stream whose blocks are over. A signature that comes after other content has no place any more: its block
// was closed on the client's side, and text is not held back for what may never come.
import type { OpenReasoning, ReasoningPiece } from '../reply/reasoning.ts';

export interface ClosedReasoning {
  /** A block that is over. */
  add(block: OpenReasoning): void;
  /** A block, over or not, whose seal is told. */
  seal(seal: string, block: OpenReasoning): void;
  /** Whether it is such a block once more: some servers list all of them at the end of an answer. */
  isRepeated(thought: ReasoningPiece): boolean;
  /** Whether a piece is only the signature of such a block: it is then lost. */
  isLate(thought: ReasoningPiece): boolean;
  lost(): boolean;
}

export function createClosedReasoning(): ClosedReasoning {
  const keys = new Set<string | number>();
  const sealed = new Map<string, OpenReasoning>();
  let last: OpenReasoning | undefined;
  let lost = false;

  function belongs({ key }: ReasoningPiece): boolean {
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
