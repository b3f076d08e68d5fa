// Server-sent events by bytes: any split of the input gives the same frames.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

/** One event as it came. `bytes` includes its blank line, so that frames put together are the stream again. */
export interface Frame {
  readonly bytes: Buffer;
  /** `bytes` as latin1: to look for ASCII marks without decoding. */
  readonly text: string;
  /** The last `event:` field, '' if none. */
  readonly event: string;
  /** The `data:` lines joined with \n, UTF-8 decoded; '' if none (a comment, a keep-alive). */
  readonly data: string;
}

export interface Splitter {
  /** The frames that `chunk` completes. Every blank line ends one: a comment or a bare blank line is a frame without data. */
  push(chunk: Buffer): Frame[];
  /** The input is over: what is left, where a server forgot the last blank line. */
  finish(): Frame[];
}

/** A frame is longer than is allowed. Frames before it are still given: then the next call throws. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge';
  readonly limit: number;
  constructor(limit: number) {
    super(`an event of the stream is larger than ${limit} bytes`);
    this.limit = limit;
  }
}

const LF = 10;
const CR = 13;
const BOM = '\u00ef\u00bb\u00bf';
const LINE_END = /[\r\n]/g;

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

/** Everything is made when it is first asked for: a relayed frame is often looked at only once. */
class BytesFrame implements Frame {
  private readonly chunk: Buffer;
  private readonly start: number;
  private readonly end: number;
  private readonly first: boolean;
  /** The chunk as latin1, where the splitter made it anyway. */
  private source: string | undefined;
  private ownBytes: Buffer | undefined;
  private ownText: string | undefined;
  private ownEvent: string | undefined;
  private ownData: string | undefined;
  /** Where the value of the first `data:` line stands in `text`, and those of further ones: start, end, start, end … */
  private dataStart = 0;
  private dataEnd = 0;
  private more: number[] | undefined;

  constructor(chunk: Buffer, source: string | undefined, start: number, end: number, first: boolean) {
    this.chunk = chunk;
    this.source = source;
    this.start = start;
    this.end = end;
    this.first = first;
  }

  get bytes(): Buffer {
    return (this.ownBytes ??= this.chunk.subarray(this.start, this.end));
  }

  get text(): string {
    if (this.ownText !== undefined) return this.ownText;
    const { source, start, end } = this;
    const text = source === undefined ? this.chunk.toString('latin1', start, end) : source.slice(start, end);
    this.ownText = text;
    this.source = undefined;
    return text;
  }

  get event(): string {
    return this.ownEvent ?? this.readFields();
  }

  get data(): string {
    if (this.ownData !== undefined) return this.ownData;
    if (this.ownEvent === undefined) this.readFields();
    const { more } = this;
    let data = this.decode(this.dataStart, this.dataEnd);
    for (let at = 0; more !== undefined && at < more.length; at += 2) {
      data += `\n${this.decode(more[at] ?? 0, more[at + 1] ?? 0)}`;
    }
    this.ownData = data;
    return data;
  }

  private decode(from: number, to: number): string {
    return this.chunk.toString('utf8', this.start + from, this.start + to);
  }

  private addData(from: number, to: number): void {
    if (this.dataEnd === 0) {
      this.dataStart = from;
      this.dataEnd = to;
    } else {
      (this.more ??= []).push(from, to);
    }
  }

  /** Finds the fields; gives the event's name. */
  private readFields(): string {
    const { text } = this;
    let event = '';
    let at = this.first && text.startsWith(BOM) ? BOM.length : 0;
    const carriages = text.indexOf('\r') !== -1;
    while (at < text.length) {
      const line = carriages ? endOfLine(text, at) : text.indexOf('\n', at);
      const end = line === -1 ? text.length : line;
      if (text.startsWith('data', at)) {
        const from = valueStart(text, at + 4, end);
        if (from !== -1) this.addData(from, end);
      } else if (text.startsWith('event', at)) {
        const from = valueStart(text, at + 5, end);
        if (from !== -1) event = this.decode(from, end);
      }
      at = end + 1;
    }
    this.ownEvent = event;
    return event;
  }
}

/** Behind the colon and one space; a field's name alone has an empty value; -1: the name goes on. */
function valueStart(text: string, at: number, end: number): number {
  if (at === end) return end;
  if (text.charCodeAt(at) !== 58) return -1;
  return at + 1 < end && text.charCodeAt(at + 1) === 32 ? at + 2 : at + 1;
}

/** A \r\n gives an empty line more, which means nothing inside a frame. */
function endOfLine(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.exec(text)?.index ?? -1;
}
