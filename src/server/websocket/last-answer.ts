// What a WebSocket remembers: its last answer with all that it was made from, so that the next message may go on from it by its id
// alone. All connections together are bounded: the one that was idle longest forgets first, and its client sends everything again.
import type { AnswerMemory } from '../../gateway/exchange.ts';
import type { NewStored } from '../../protocols/interface/features.ts';

const MIB = 1024 * 1024;

/** Characters that are remembered, about. */
interface MemoryBounds {
  connection: number;
  all: number;
}

export const BOUNDS: MemoryBounds = { connection: 64 * MIB, all: 256 * MIB };

/** Of all connections. */
export class AnswerMemories {
  readonly #bounds: MemoryBounds;
  /** In the order in which they were used last. */
  readonly #sizes = new Map<LastAnswer, number>();
  #total = 0;

  constructor(bounds: MemoryBounds) {
    this.#bounds = bounds;
  }

  /** False: it is too large. */
  take(answer: LastAnswer, size: number): boolean {
    this.release(answer);
    if (size > this.#bounds.connection) return false;
    this.#sizes.set(answer, size);
    this.#total += size;
    for (const [oldest] of this.#sizes) {
      if (this.#total <= this.#bounds.all) break;
      oldest.forget();
    }
    return true;
  }

  release(answer: LastAnswer): void {
    this.#total -= this.#sizes.get(answer) ?? 0;
    this.#sizes.delete(answer);
  }
}

export class LastAnswer implements AnswerMemory {
  readonly #all: AnswerMemories;
  #texts: ReadonlyMap<string, () => string> = new Map();
  /** A request has found something since `beginRequest`. */
  #isUsed = false;
  #isEnded = false;

  constructor(all: AnswerMemories) {
    this.#all = all;
  }

  find(ids: readonly string[]): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const id of ids) {
      const text = this.#texts.get(id);
      if (text !== undefined) found.set(id, text());
    }
    if (found.size > 0) this.#isUsed = true;
    return found;
  }

  keep(items: readonly NewStored[]): void {
    if (this.#isEnded) return;
    const size = items.reduce((sum, item) => sum + item.size, 0);
    this.#texts = this.#all.take(this, size)
      ? new Map(items.map(({ id, text }) => [id, text] as const))
      : new Map();
  }

  beginRequest(): void {
    this.#isUsed = false;
  }

  /** The answer of a request that fails must not be gone on from again: its client may have lost count. */
  requestFailed(): void {
    if (this.#isUsed) this.forget();
  }

  forget(): void {
    this.#all.release(this);
    this.#texts = new Map();
  }

  /** Its connection is closed: an answer that is settled only then is kept no more. */
  end(): void {
    this.#isEnded = true;
    this.forget();
  }
}
