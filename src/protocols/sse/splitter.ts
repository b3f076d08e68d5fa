// Server-sent events by bytes: any split of the input gives the same frames.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

import { BytesFrame, type Frame } from './frame.ts';
import { plural } from '../../plural.ts';

export type { Frame };

/** Frames that lie one behind the other in a network chunk, not told apart yet. */
export interface Run {
  readonly bytes: Buffer;
  /** `bytes` as latin1. */
  readonly text: string;
  frames(): Frame[];
}

interface Splitter {
  /** The frames that `chunk` completes. Every blank line ends one: a comment or a bare blank line is a frame without data. */
  push(chunk: Buffer): Frame[];
  /**
   * The same frames at once, where it is plain that they are whole: nothing waits from before, no \r is there. What is
   * behind them is kept. Undefined, and nothing done, where `push` has to look closer.
   */
  run(chunk: Buffer): Run | undefined;
  /** The input is over: what is left, where a server forgot the last blank line. */
  finish(): Frame[];
}

/** A frame is longer than is allowed. Frames before it are still given: then the next call throws. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge';
  readonly limit: number;
  constructor(limit: number) {
    super(`an event of the stream is larger than ${plural(limit, 'byte')}`);
    this.limit = limit;
  }
}

const LF = 10;
const CR = 13;

/** `maxFrame` in bytes. */
export function createSplitter({ maxFrame }: { maxFrame: number }): Splitter {
  const carry = createCarry();
  /** No byte of the current line has been seen. */
  let lineStart = true;
  /** The last byte was a \r, which a \n may still join; `carriageEnds`: its line was blank. */
  let carriage = false;
  let carriageEnds = false;
  let first = true;
  let broken = false;

  function cut(into: Frame[], source: string, chunk: Buffer, start: number, end: number): void {
    if (broken) return;
    if (carry.length() + end - start > maxFrame) {
      broken = true;
      return;
    }
    if (carry.length() === 0) {
      into.push(new BytesFrame(chunk, source, start, end, first));
    } else {
      const bytes = carry.take(chunk.subarray(start, end));
      into.push(new BytesFrame(bytes, undefined, 0, bytes.length, first));
    }
    first = false;
  }

  /** The common case: no \r anywhere, so that a frame's end is found with one search. */
  function pushLines(frames: Frame[], source: string, chunk: Buffer): number {
    let start = 0;
    if (lineStart && carry.length() > 0 && chunk[0] === LF) {
      start = 1;
      cut(frames, source, chunk, 0, 1);
    }
    for (;;) {
      if (carry.length() === 0 && chunk[start] === LF) {
        cut(frames, source, chunk, start, ++start);
        continue;
      }
      const at = source.indexOf('\n\n', start);
      if (at === -1) break;
      cut(frames, source, chunk, start, at + 2);
      start = at + 2;
      if (broken) break;
    }
    lineStart = chunk[chunk.length - 1] === LF;
    return start;
  }

  function pushBytes(frames: Frame[], source: string, chunk: Buffer): number {
    let start = 0;
    const end = (at: number): void => {
      cut(frames, source, chunk, start, at);
      start = at;
    };
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (carriage) {
        carriage = false;
        if (carriageEnds) end(byte === LF ? at + 1 : at);
        carriageEnds = false;
        if (byte === LF) continue;
      }
      if (byte === LF) {
        if (lineStart) end(at + 1);
        lineStart = true;
      } else if (byte === CR) {
        carriage = true;
        carriageEnds = lineStart;
        lineStart = true;
      } else {
        lineStart = false;
      }
    }
    return start;
  }

  return {
    push(chunk) {
      if (broken) throw new FrameTooLarge(maxFrame);
      const frames: Frame[] = [];
      if (chunk.length === 0) return frames;
      const source = chunk.toString('latin1');
      const lines = !carriage && source.indexOf('\r') === -1;
      const rest = lines ? pushLines(frames, source, chunk) : pushBytes(frames, source, chunk);
      if (carry.length() + chunk.length - rest > maxFrame) broken = true;
      else if (rest < chunk.length) carry.append(rest === 0 ? chunk : chunk.subarray(rest));
      if (broken && frames.length === 0) throw new FrameTooLarge(maxFrame);
      return frames;
    },
    run(chunk) {
      if (broken || carriage || carry.length() > 0 || chunk.length > maxFrame) return undefined;
      const text = chunk.toString('latin1');
      if (chunk[0] === LF || text.indexOf('\r') !== -1) return undefined;
      const end = text.lastIndexOf('\n\n') + 2;
      if (end === 1) return undefined;
      const run = new ChunkRun(chunk, text, end, first);
      first = false;
      lineStart = chunk[chunk.length - 1] === LF;
      if (end < chunk.length) carry.append(chunk.subarray(end));
      return run;
    },
    finish() {
      if (broken) throw new FrameTooLarge(maxFrame);
      if (carry.length() === 0) return [];
      const bytes = carry.take(Buffer.alloc(0));
      return [new BytesFrame(bytes, undefined, 0, bytes.length, first)];
    },
  };
}

/** The beginning of a frame whose end has not come. Grows by doubling, so that a line without end costs linear time. */
function createCarry() {
  let bytes = Buffer.alloc(0);
  let length = 0;
  return {
    length: () => length,
    append(piece: Buffer): void {
      if (length + piece.length > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(512, 2 * (length + piece.length)));
        bytes.copy(larger, 0, 0, length);
        bytes = larger;
      }
      piece.copy(bytes, length);
      length += piece.length;
    },
    /** Everything kept and `piece` after it; nothing is kept any more. */
    take(piece: Buffer): Buffer {
      this.append(piece);
      const whole = bytes.subarray(0, length);
      bytes = Buffer.alloc(0);
      length = 0;
      return whole;
    },
  };
}

class ChunkRun implements Run {
  readonly bytes: Buffer;
  readonly text: string;
  readonly #first: boolean;

  constructor(chunk: Buffer, text: string, end: number, first: boolean) {
    this.bytes = end === chunk.length ? chunk : chunk.subarray(0, end);
    this.text = end === chunk.length ? text : text.slice(0, end);
    this.#first = first;
  }

  frames(): Frame[] {
    const { bytes, text } = this;
    const frames: Frame[] = [];
    for (let start = 0; start < text.length;) {
      const end = text.charCodeAt(start) === LF ? start + 1 : text.indexOf('\n\n', start) + 2;
      frames.push(new BytesFrame(bytes, text, start, end, this.#first && start === 0));
      start = end;
    }
    return frames;
  }
}
