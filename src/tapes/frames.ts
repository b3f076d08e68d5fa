// A frame of a stream as a line of a tape, and back. JSON data stands in the line as the provider wrote it: readable, and to the byte.
import { framings } from '../providers/framings.ts';
import { jsonOf } from './json.ts';
import type { Frame } from '../protocols/sse/splitter.ts';

/** A frame, and when it arrived: milliseconds after the request. */
export interface TimedFrame {
  ms: number;
  event: string;
  /** '' if it is a comment, or has another form than one event and one line of data. */
  data: string;
  /** Of such a frame, with its blank line. */
  text: string;
}

export interface Piece {
  ms: number;
  bytes: Buffer;
}

/** Bytes of one event: the limit of a whole answer. */
const MAX_FRAME = 64 * 1024 * 1024;

export function framesOf(pieces: readonly Piece[]): TimedFrame[] {
  const splitter = framings.sse.createSplitter({ maxFrame: MAX_FRAME });
  const frames = pieces.flatMap(({ ms, bytes }) => splitter.push(bytes).map((frame) => timed(frame, ms)));
  const last = pieces.at(-1)?.ms ?? 0;
  return [...frames, ...splitter.finish().map((frame) => timed(frame, last))];
}

function timed(frame: Frame, ms: number): TimedFrame {
  const { event, data, bytes } = frame;
  const text = bytes.toString('utf8');
  const isPlain = data !== '' && frameText(event, data) === text;
  return { ms, event, data: isPlain ? data : '', text };
}

/** As providers write it. */
function frameText(event: string, data: string): string {
  return `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`;
}

export const textOf = ({ event, data, text }: TimedFrame): string =>
  data === '' ? text : frameText(event, data);

const DATA = ',"data":';

export function lineOf({ ms, event, data, text }: TimedFrame): string {
  if (data === '' || !isJson(data))
    return JSON.stringify({ ms, text: data === '' ? text : frameText(event, data) });
  return `${JSON.stringify({ ms, ...(event !== '' && { event }) }).slice(0, -1)}${DATA}${data}}`;
}

/** A line that `isLine` takes. Data is taken from its text where it stands last, as it is written. */
export function frameOf(
  line: string,
  value: { ms: number; event?: string; data?: unknown; text?: string },
): TimedFrame {
  const { ms, event = '', text } = value;
  if (text !== undefined) return { ms, event: '', data: '', text };
  const at = line.indexOf(DATA);
  const own = at < 0 ? '' : line.slice(at + DATA.length, line.lastIndexOf('}'));
  const data = isJson(own) ? own : JSON.stringify(value.data);
  return { ms, event, data, text: '' };
}

const isJson = (text: string): boolean => jsonOf(text) !== undefined;
