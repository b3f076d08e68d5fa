// Messages to the client, in pieces of which each leaves after the one before: Node reports a write only when all of it is over, so a
// client that reads a large message slowly would look like a client that reads nothing.
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** Of a fragment. */
const PIECE_BYTES = 64 * 1024;

export class Outbox {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  #waiting: Buffer[] = [];
  #needsDrain = false;
  #onEmpty: (() => void) | undefined;

  /** `socket`: the one below `ws`. */
  constructor(ws: WebSocket, socket: Socket) {
    this.#ws = ws;
    this.#socket = socket;
  }

  /** Bytes wait for the client. */
  get busy(): boolean {
    return this.#needsDrain || this.#waiting.length > 0;
  }

  /** They leave in one write if they are small. */
  send(messages: readonly string[]): void {
    for (const message of messages) this.#waiting.push(Buffer.from(message));
    this.#flush();
  }

  /** Calls `listener` once, when nothing waits any more: at once if that is so. */
  whenEmpty(listener: () => void): void {
    if (this.busy) this.#onEmpty = listener;
    else listener();
  }

  #flush(): void {
    if (this.#needsDrain) return;
    this.#socket.cork();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const piece = first.subarray(0, PIECE_BYTES);
      const isLast = piece.length === first.length;
      if (isLast) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(PIECE_BYTES);
      this.#ws.send(piece, { binary: false, fin: isLast });
      if (this.#socket.writableNeedDrain) break;
    }
    this.#needsDrain = this.#socket.writableNeedDrain;
    if (this.#needsDrain) this.#socket.once('drain', () => this.#drained());
    this.#socket.uncork();
  }

  #drained(): void {
    this.#needsDrain = false;
    this.#flush();
    if (this.busy) return;
    const listener = this.#onEmpty;
    this.#onEmpty = undefined;
    listener?.();
  }
}
