// The body of an event stream, written in HTTP chunks of our own: each leaves at once and as one piece. node:http would send
// the length, a line's end, the bytes and another line's end as a writev of four after the tick: 20 % more processor time a
// chunk (26 against 21 us, the sockets of both sides included).
import type { ServerResponse } from 'node:http';

/** What is larger is not copied into a string. */
const ONE_PIECE_BYTES = 16 * 1024;
const LAST_CHUNK = '0\r\n\r\n';

export class EventWriter {
  readonly #response: ServerResponse;
  /** False for clients of HTTP/1.0: their stream ends with the connection. */
  readonly #chunked: boolean;

  /** The head of `response` is written, nothing of its body. */
  constructor(response: ServerResponse) {
    this.#response = response;
    this.#chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** `false`: wait for the response's `drain`. */
  write(bytes: Buffer | string): boolean {
    return bytes.length === 0 || this.#send(bytes, '');
  }

  /** Ends the body, with `bytes` before if there are any. */
  end(bytes: Buffer | string): void {
    if (bytes.length > 0) this.#send(bytes, this.#chunked ? LAST_CHUNK : '');
    else if (this.#chunked) this.#response.write(LAST_CHUNK, 'latin1');
    this.#response.end();
  }

  /** Uncorked at once: else node:http waits for the end of the tick. */
  #send(bytes: Buffer | string, after: string): boolean {
    const response = this.#response;
    response.cork();
    const goOn = this.#chunked ? this.#chunk(bytes, after) : response.write(bytes);
    response.uncork();
    return goOn;
  }

  #chunk(bytes: Buffer | string, after: string): boolean {
    const response = this.#response;
    const length = Buffer.byteLength(bytes);
    const before = `${length.toString(16)}\r\n`;
    if (typeof bytes === 'string') {
      // Of as many bytes as characters is ASCII alone, which needs no conversion.
      return response.write(`${before}${bytes}\r\n${after}`, length === bytes.length ? 'latin1' : 'utf8');
    }
    if (length <= ONE_PIECE_BYTES) {
      return response.write(`${before}${bytes.toString('latin1')}\r\n${after}`, 'latin1');
    }
    response.write(before, 'latin1');
    response.write(bytes);
    return response.write(`\r\n${after}`, 'latin1');
  }
}
