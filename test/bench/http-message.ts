// Reads HTTP/1.1 messages from a socket's bytes, in either direction. The stub and the load client use it instead of
// node:http so that they cost less than what they measure.

export interface MessageReader {
  /** The start line and the header lines, without the blank one. */
  head(text: string): void;
  body(bytes: Buffer): void;
  end(): void;
}

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;

type State = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer';

/** The returned function takes the socket's bytes, split anyhow; messages may follow each other. */
export function createMessageParser(reader: MessageReader): (bytes: Buffer) => void {
  let state: State = 'head';
  let carry: Buffer | undefined;
  let left = 0;

  /** Up to `mark`, which is consumed too; undefined where it has not come yet. */
  function until(bytes: Buffer, at: number, mark: string): string | undefined {
    const end = bytes.indexOf(mark, at, 'latin1');
    return end < 0 ? undefined : bytes.toString('latin1', at, end);
  }

  function startBody(head: string): void {
    reader.head(head);
    const length = LENGTH.exec(head)?.[1];
    left = Number(length ?? 0);
    state = CHUNKED.test(head) ? 'chunk-size' : 'sized';
    if (state === 'sized' && left === 0) finish();
  }

  function finish(): void {
    state = 'head';
    reader.end();
  }

  function takeBody(bytes: Buffer, at: number): number {
    const taken = Math.min(left, bytes.length - at);
    if (taken > 0) reader.body(bytes.subarray(at, at + taken));
    left -= taken;
    return taken;
  }

  /** How many bytes a step took; 0: more bytes are needed. */
  const steps: Record<State, (bytes: Buffer, at: number) => number> = {
    head(bytes, at) {
      const head = until(bytes, at, HEAD_END);
      if (head === undefined) return 0;
      startBody(head);
      return head.length + HEAD_END.length;
    },
    sized(bytes, at) {
      const taken = takeBody(bytes, at);
      if (left === 0) finish();
      return taken;
    },
    'chunk-size'(bytes, at) {
      const line = until(bytes, at, '\r\n');
      if (line === undefined) return 0;
      left = Number.parseInt(line, 16);
      state = left === 0 ? 'trailer' : 'chunk';
      return line.length + 2;
    },
    chunk(bytes, at) {
      const taken = takeBody(bytes, at);
      if (left === 0) state = 'chunk-end';
      return taken;
    },
    'chunk-end'(bytes, at) {
      if (bytes.length - at < 2) return 0;
      state = 'chunk-size';
      return 2;
    },
    trailer(bytes, at) {
      const line = until(bytes, at, '\r\n');
      if (line === undefined) return 0;
      if (line === '') finish();
      return line.length + 2;
    },
  };

  return (incoming) => {
    const bytes = carry === undefined ? incoming : Buffer.concat([carry, incoming]);
    carry = undefined;
    let at = 0;
    while (at < bytes.length) {
      const taken = steps[state](bytes, at);
      if (taken === 0) break;
      at += taken;
    }
    if (at < bytes.length) carry = bytes.subarray(at);
  };
}
