// Large answers leave in pieces, each when the client took the one before: Node says of one write only that it is over, and a
// client that reads a large one slowly would look like one that reads nothing.
import type { ServerResponse } from 'node:http';

/** What is written at once. */
export const PIECE_BYTES = 64 * 1024;

export class Pieces {
  readonly #response: ServerResponse;
  #waiting: Buffer[] = [];
  #needsDrain = false;
  #ended = false;
  #onDrain: (() => void) | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Something waits for the client. */
  get busy(): boolean {
    return this.#needsDrain || this.#waiting.length > 0;
  }

  /** `false`: wait for `onDrain`. */
  write(bytes: Buffer): boolean {
    if (this.#ended) return false;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#flush();
    return !this.busy;
  }

  /** Nothing that is written later counts. */
  end(bytes: Buffer): void {
    if (this.#ended) return;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#ended = true;
    this.#flush();
  }

  /** Calls `listener` once, when nothing waits any more. */
  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  #flush(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#needsDrain) return;
      const piece = first.subarray(0, PIECE_BYTES);
      if (piece.length < first.length) this.#waiting[0] = first.subarray(PIECE_BYTES);
      else this.#waiting.shift();
      if (this.#ended && this.#waiting.length === 0) {
        this.#response.end(piece);
        return;
      }
      this.#write(piece);
    }
    if (this.#ended) this.#response.end();
  }

  #write(piece: Buffer): void {
    if (this.#response.write(piece)) return;
    this.#needsDrain = true;
    this.#response.once('drain', () => {
      this.#needsDrain = false;
      this.#flush();
      if (this.busy || this.#ended) return;
      const listener = this.#onDrain;
      this.#onDrain = undefined;
      listener?.();
    });
  }
}
