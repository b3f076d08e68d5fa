// Bytes that come in pieces and are wanted as one. The buffer grows by doubling, so that many small pieces cost linear time.

const LEAST = 512;
const EMPTY = Buffer.alloc(0);

export class ByteList {
  #bytes = EMPTY;
  length = 0;

  append(piece: Buffer): void {
    if (this.length + piece.length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(LEAST, 2 * (this.length + piece.length)));
      this.#bytes.copy(larger, 0, 0, this.length);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.length);
    this.length += piece.length;
  }

  /** Everything so far; then it is empty. */
  take(): Buffer {
    const whole = this.#bytes.subarray(0, this.length);
    this.#bytes = EMPTY;
    this.length = 0;
    return whole;
  }
}
