// Server-sent events by bytes: any split of the input gives the same frames.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

import { ByteList } from './byte-list.ts';
import { BytesFrame, type Frame } from './frame.ts';
import { plural } from '../../plural.ts';

export type { Frame };

/** Consecutive frames of a network chunk, not separated yet. */
export interface Run {
  readonly bytes: Buffer;
  /** `bytes` as latin1. */
  readonly text: string;
  frames(): Frame[];
  /** How many they are. */
  count(): number;
}

export interface Splitter {
  /** The frames that `chunk` completes. Every blank line ends one: a comment or a bare blank line is a frame without data. */
  push(chunk: Buffer): Frame[];
  /**
   * The same frames at once, where it is plain that they are whole: nothing waits from before, no \r is there. What is
   * behind them is kept. Undefined, and nothing done, where `push` has to look closer.
   */
  run(chunk: Buffer): Run | undefined;
  /** The input has ended: returns the last frame, if a server left out the last blank line. */
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
  return new ByteSplitter(maxFrame);
}

class ByteSplitter implements Splitter {
  readonly #maxFrame: number;
  /** The first part of a frame whose end has not come. */
  readonly #carry = new ByteList();
  /** No byte of the current line has been seen. */
  #lineStart = true;
  /** The last byte was a \r, which a \n may still join; `carriageEnds`: its line was blank. */
  #carriage = false;
  #carriageEnds = false;
  #first = true;
  #broken = false;

  constructor(maxFrame: number) {
    this.#maxFrame = maxFrame;
  }

  push(chunk: Buffer): Frame[] {
    if (this.#broken) throw new FrameTooLarge(this.#maxFrame);
    const frames: Frame[] = [];
    if (chunk.length === 0) return frames;
    const carry = this.#carry;
    const source = chunk.toString('latin1');
    const lines = !this.#carriage && source.indexOf('\r') === -1;
    const rest = lines ? this.#pushLines(frames, source, chunk) : this.#pushBytes(frames, source, chunk);
    if (carry.length + chunk.length - rest > this.#maxFrame) this.#broken = true;
    else if (rest < chunk.length) carry.append(rest === 0 ? chunk : chunk.subarray(rest));
    if (this.#broken && frames.length === 0) throw new FrameTooLarge(this.#maxFrame);
    return frames;
  }

  run(chunk: Buffer): Run | undefined {
    if (this.#broken || this.#carriage || this.#carry.length > 0 || chunk.length > this.#maxFrame) {
      return undefined;
    }
    const text = chunk.toString('latin1');
    if (chunk[0] === LF || text.indexOf('\r') !== -1) return undefined;
    const end = text.lastIndexOf('\n\n') + 2;
    if (end === 1) return undefined;
    const run = new ChunkRun(chunk, text, end, this.#first);
    this.#first = false;
    this.#lineStart = chunk[chunk.length - 1] === LF;
    if (end < chunk.length) this.#carry.append(chunk.subarray(end));
    return run;
  }

  finish(): Frame[] {
    if (this.#broken) throw new FrameTooLarge(this.#maxFrame);
    if (this.#carry.length === 0) return [];
    const bytes = this.#carry.take();
    return [new BytesFrame(bytes, undefined, 0, bytes.length, this.#first)];
  }

  #cut(into: Frame[], source: string, chunk: Buffer, start: number, end: number): void {
    if (this.#broken) return;
    const carry = this.#carry;
    if (carry.length + end - start > this.#maxFrame) {
      this.#broken = true;
      return;
    }
    if (carry.length === 0) {
      into.push(new BytesFrame(chunk, source, start, end, this.#first));
    } else {
      carry.append(chunk.subarray(start, end));
      const bytes = carry.take();
      into.push(new BytesFrame(bytes, undefined, 0, bytes.length, this.#first));
    }
    this.#first = false;
  }

  /** The common case: no \r anywhere, so that a frame's end is found with one search. */
  #pushLines(frames: Frame[], source: string, chunk: Buffer): number {
    const carry = this.#carry;
    let start = 0;
    if (this.#lineStart && carry.length > 0 && chunk[0] === LF) {
      start = 1;
      this.#cut(frames, source, chunk, 0, 1);
    }
    for (;;) {
      if (carry.length === 0 && chunk[start] === LF) {
        this.#cut(frames, source, chunk, start, ++start);
        continue;
      }
      const at = source.indexOf('\n\n', start);
      if (at === -1) break;
      this.#cut(frames, source, chunk, start, at + 2);
      start = at + 2;
      if (this.#broken) break;
    }
    this.#lineStart = chunk[chunk.length - 1] === LF;
    return start;
  }

  #pushBytes(frames: Frame[], source: string, chunk: Buffer): number {
    let start = 0;
    const end = (at: number): void => {
      this.#cut(frames, source, chunk, start, at);
      start = at;
    };
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#carriage) {
        this.#carriage = false;
        if (this.#carriageEnds) end(byte === LF ? at + 1 : at);
        this.#carriageEnds = false;
        if (byte === LF) continue;
      }
      if (byte === LF) {
        if (this.#lineStart) end(at + 1);
        this.#lineStart = true;
      } else if (byte === CR) {
        this.#carriage = true;
        this.#carriageEnds = this.#lineStart;
        this.#lineStart = true;
      } else {
        this.#lineStart = false;
      }
    }
    return start;
  }
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

  count(): number {
    let frames = 0;
    for (let at = 0; (at = this.text.indexOf('\n\n', at)) !== -1; at += 2) frames += 1;
    return frames;
  }
}
