// Finds the bytes of a prompt that are none of it: cache marks, which move from request to request, and a line of one client.
import type { CutKind } from '../../canonical/prompt-print.ts';
import { JsonSource, type Range } from '../json/splice.ts';
import { skipSpace } from '../json/spans.ts';
import type { MarkShape } from '../interface/prompt.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Providers take four. More are a part of the prompt, so that a body full of them costs no more than another. */
const MOST_MARKS = 64;
/** Bytes of a mark. */
const LONGEST_MARK = 256;

/** How a list of one text begins and ends. */
const OPENING = '[{"type":"text","text":';
const CLOSING = '}]';
/** Bytes of a text whose list is looked for. */
const LONGEST_TEXT = 256 * 1024;

export interface Mark extends Range {
  kind: CutKind;
}

/** The marks between these offsets, each with one comma, in order. */
export function findMarks(bytes: Buffer, { start, end }: Range, shape: MarkShape): Mark[] {
  const within = bytes.subarray(0, end);
  const marks: Mark[] = [];
  for (const name of shape.names) {
    let at = within.indexOf(name, start);
    for (let tries = 0; at !== -1 && tries < MOST_MARKS; tries++) {
      const from = beginningOf(bytes, at - 1);
      const behind = from < start ? -1 : behindMark(bytes, from, shape);
      if (behind !== -1) marks.push({ start: from, end: behind, kind: 'mark' });
      at = within.indexOf(name, Math.max(behind, at + name.length));
    }
  }
  if (shape.line !== undefined) {
    const at = within.indexOf(shape.line, start);
    const behind = at === -1 || bytes[at - 1] !== QUOTE ? -1 : behindMark(bytes, at, shape);
    if (behind !== -1) marks.push({ start: at, end: behind, kind: 'mark' });
  }
  return marks.length > 1 ? marks.sort((a, b) => a.start - b.start) : marks;
}

/** The marks of messages, with what makes a list of a marked text that stands alone in it. */
export function withLists(bytes: Buffer, start: number, marks: readonly Mark[]): Mark[] {
  return marks.flatMap((mark) => withList(bytes, start, mark));
}

function withList(bytes: Buffer, from: number, plain: Mark): Mark[] {
  if (!startsWith(bytes, plain.end, CLOSING)) return [plain];
  const least = Math.max(from, plain.start - LONGEST_TEXT);
  const found = bytes.subarray(least, plain.start).lastIndexOf(OPENING);
  if (found === -1) return [plain];
  const start = least + found;
  const text = start + OPENING.length;
  // Nothing but the text stands between.
  if (
    bytes[text] !== QUOTE ||
    new JsonSource(bytes.subarray(0, plain.start)).skipString(text) !== plain.start
  )
    return [plain];
  return [
    { start, end: text, kind: 'open' },
    { start: plain.start, end: plain.end + CLOSING.length, kind: 'close' },
  ];
}

/** The offset behind what stands at `at` in the place of a cut; -1: nothing of the kind. */
export function behindCut(bytes: Buffer, at: number, kind: CutKind, shape: MarkShape): number {
  if (kind === 'open') return startsWith(bytes, at, OPENING) ? at + OPENING.length : -1;
  const behind = behindMark(bytes, at, shape);
  if (kind === 'mark') return behind;
  const end = behind === -1 ? at : behind;
  return startsWith(bytes, end, CLOSING) ? end + CLOSING.length : -1;
}

/** Of the member whose name's quote is at `quote`: its comma in front, or the quote. -1: the name stands in a text. */
function beginningOf(bytes: Buffer, quote: number): number {
  if (bytes[quote] !== QUOTE || bytes[quote - 1] === BACKSLASH) return -1;
  let at = quote - 1;
  while (isSpace(bytes[at])) at--;
  return bytes[at] === COMMA ? at : quote;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The offset behind the mark that begins at `at`, and behind its comma; -1: none does. */
function behindMark(bytes: Buffer, at: number, { names, line }: MarkShape): number {
  if (line !== undefined && startsWith(bytes, at, line)) return endOfLine(bytes, at);
  const first = bytes[at];
  const quote = first === COMMA ? skipSpace(bytes, at + 1) : at;
  if (bytes[quote] !== QUOTE) return -1;
  const name = names.find((known) => startsWith(bytes, quote + 1, known));
  if (name === undefined || bytes[quote + name.length + 1] !== QUOTE) return -1;
  const colon = skipSpace(bytes, quote + name.length + 2);
  const end = bytes[colon] === COLON ? endOfObject(bytes, skipSpace(bytes, colon + 1)) : -1;
  if (end === -1 || first === COMMA) return end;
  const next = skipSpace(bytes, end);
  return bytes[next] === COMMA ? next + 1 : end;
}

function startsWith(bytes: Buffer, at: number, text: string): boolean {
  return bytes[at] === text.charCodeAt(0) && bytes.toString('latin1', at, at + text.length) === text;
}

/** The offset of the quote that ends the text, or of the escape that ends its line. */
function endOfLine(bytes: Buffer, from: number): number {
  for (let at = from; at < from + LONGEST_MARK; at++) {
    if (bytes[at] === QUOTE || bytes[at] === BACKSLASH) return at;
  }
  return -1;
}

/** Behind a short object without a bracket or an escape in its texts. */
function endOfObject(bytes: Buffer, from: number): number {
  if (bytes[from] !== OPEN) return -1;
  let depth = 0;
  for (let at = from; at < from + LONGEST_MARK; at++) {
    const byte = bytes[at];
    if (byte === undefined || byte === BACKSLASH) return -1;
    if (byte === OPEN) depth++;
    else if (byte === CLOSE && --depth === 0) return at + 1;
  }
  return -1;
}
