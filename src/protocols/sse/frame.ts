// One server-sent event, read no further than needed; and JSON without `data:` before it, which readers of events ignore: servers that
// fail in mid-stream write their errors in this form, some with `error:` before it.
import { type JsonValue, isObject, type JsonObject } from '../../canonical/json.ts';
import { parseJson } from '../json/values.ts';

/** One event, unchanged. `bytes` includes its blank line, so that all frames together are the stream again. */
export interface Frame {
  readonly bytes: Buffer;
  /** `bytes` as latin1: to look for ASCII marks without decoding. */
  readonly text: string;
  /** The last `event:` field, '' if none. */
  readonly event: string;
  /** The `data:` lines joined with \n, UTF-8 decoded; '' if none (a comment, a keep-alive). */
  readonly data: string;
  /** `data` as JSON, parsed at most once, so that several readers can share it; undefined: it is not JSON. */
  readonly value: JsonValue | undefined;
}

const BOM = '\u00ef\u00bb\u00bf';
const LINE_END = /[\r\n]/g;

/** All members are computed on first use: a relayed frame is often read only once. */
export class BytesFrame implements Frame {
  private readonly chunk: Buffer;
  private readonly start: number;
  private readonly end: number;
  private readonly first: boolean;
  /** The chunk as latin1, if the splitter has it already. */
  private source: string | undefined;
  private ownBytes: Buffer | undefined;
  private ownText: string | undefined;
  private ownEvent: string | undefined;
  private ownData: string | undefined;
  private ownValue: JsonValue | undefined;
  private isParsed = false;
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

  get value(): JsonValue | undefined {
    if (!this.isParsed) {
      this.isParsed = true;
      this.ownValue = parsed(this.data);
    }
    return this.ownValue;
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

function parsed(data: string): JsonValue | undefined {
  if (data === '') return undefined;
  try {
    return parseJson(data);
  } catch {
    return undefined;
  }
}

/** A frame of our own. `data` in one line. */
export function makeFrame(event: string, data: string): Frame {
  const bytes = Buffer.from(`${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`);
  return new BytesFrame(bytes, undefined, 0, bytes.length, false);
}

/** The place after the colon and one space; a field without a colon has an empty value; -1: the name is longer. */
function valueStart(text: string, at: number, end: number): number {
  if (at === end) return end;
  if (text.charCodeAt(at) !== 58) return -1;
  return at + 1 < end && text.charCodeAt(at + 1) === 32 ? at + 2 : at + 1;
}

/** A \r\n counts as an additional empty line, which has no meaning inside a frame. */
function endOfLine(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.exec(text)?.index ?? -1;
}

/** Whether the last frame of a stream without its blank line is whole: some servers forget the line, others break off. */
export function isWholeFrame(frame: Frame): boolean {
  return frame.event === 'error' || frame.data.trim() === '[DONE]' || frame.value !== undefined;
}

/** With its blank line: a reader ignores a frame without one, and would take what follows for a part of it. */
export function endedFrame({ bytes, text, event, data, value }: Frame): Frame {
  return { bytes: Buffer.concat([bytes, Buffer.from('\n\n')]), text: `${text}\n\n`, event, data, value };
}

const BRACE = 123;
const FIELD = 'error:';
/** Where the stream is well formed again. */
const NEXT_FIELD = /^(?:data|event|id|retry):/m;

/** One look at the first character for every frame that is not like that. */
export function strayObject(frame: Frame): JsonObject | undefined {
  const { text } = frame;
  const hasField = text.startsWith(FIELD);
  if (!hasField && text.charCodeAt(0) !== BRACE) return undefined;
  const [stray = ''] = frame.bytes.toString('utf8', hasField ? FIELD.length : 0).split(NEXT_FIELD);
  try {
    const value: unknown = JSON.parse(stray);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the data of a frame ends as an object does. */
export function closesObject(text: string): boolean {
  return text.charCodeAt(text.length - 3) === 125 || text.trimEnd().endsWith('}');
}
