// Takes unsigned thinking out of a relayed request: a real provider refuses it, and the gateway itself hands it out for models
// of other protocols. Every other byte stays, since prompt caches go by bytes.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';

interface Span {
  start: number;
  end: number;
}

function isUnsigned(block: JsonValue | undefined): boolean {
  return (
    isObject(block) &&
    block.type === 'thinking' &&
    (typeof block.signature !== 'string' || block.signature === '')
  );
}

function unsignedBlocks(turn: JsonValue): number[] {
  if (!isObject(turn) || turn.role !== 'assistant' || !Array.isArray(turn.content)) return [];
  const found: number[] = [];
  for (let index = 0; index < turn.content.length; index++)
    if (isUnsigned(turn.content[index])) found.push(index);
  return found;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function skipSpace(bytes: Buffer, at: number): number {
  while (isSpace(bytes[at])) at++;
  return at;
}

function stringEnd(bytes: Buffer, at: number): number {
  for (at++; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at + 1;
}

/** The end of the value at `at`, in bytes that are known to be valid JSON. */
function valueEnd(bytes: Buffer, at: number): number {
  if (bytes[at] === QUOTE) return stringEnd(bytes, at);
  let depth = 0;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at;
  }
  return at;
}

function elements(bytes: Buffer, array: Span): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(bytes, array.start + 1);
  while (bytes[at] !== CLOSE_ARRAY) {
    const end = valueEnd(bytes, at);
    spans.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return spans;
}

/** The value of a member; the last one of that name counts, as for JSON.parse. */
function member(bytes: Buffer, object: Span, name: string): Span | undefined {
  let found: Span | undefined;
  let at = skipSpace(bytes, object.start + 1);
  while (bytes[at] === QUOTE) {
    const nameEnd = stringEnd(bytes, at);
    const own = JSON.parse(bytes.toString('utf8', at, nameEnd)) as string;
    // Past the colon.
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1);
    const end = valueEnd(bytes, start);
    if (own === name) found = { start, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return found;
}

/** What to cut so that the elements at `indexes` are gone and the commas are right; never all of them. */
function cuts(spans: readonly Span[], indexes: readonly number[]): Span[] {
  const gone = new Set(indexes);
  const firstKept = spans.findIndex((_, index) => !gone.has(index));
  return indexes.flatMap((index) => {
    const span = spans[index];
    if (span === undefined) return [];
    // Before the first element that stays, the comma after goes too; later on, the comma before.
    const next = spans[index + 1];
    const previous = spans[index - 1];
    if (index < firstKept) return next === undefined ? [] : [{ start: span.start, end: next.start }];
    return previous === undefined ? [] : [{ start: previous.end, end: span.end }];
  });
}

function without(bytes: Buffer, spans: readonly Span[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(at, span.start));
    at = span.end;
  }
  pieces.push(bytes.subarray(at));
  return Buffer.concat(pieces);
}

/**
 * A turn of nothing but unsigned thinking goes whole: providers refuse an empty turn, and join the user turns around it.
 * If no turn at all would be left, the body stays as it is: the provider says what is wrong with it.
 */
export function cleanBody(bytes: Buffer, value: JsonObject): Buffer {
  const { messages } = value;
  if (!Array.isArray(messages)) return bytes;
  const dirty: { turn: number; blocks: number[]; whole: boolean }[] = [];
  for (let turn = 0; turn < messages.length; turn++) {
    const message = messages[turn];
    const blocks = message === undefined ? [] : unsignedBlocks(message);
    if (blocks.length === 0) continue;
    dirty.push({
      turn,
      blocks,
      whole: isObject(message) && blocks.length === (message.content as JsonValue[]).length,
    });
  }
  const wholeTurns = dirty.filter((item) => item.whole).map((item) => item.turn);
  if (dirty.length === 0 || wholeTurns.length === messages.length) return bytes;
  const list = member(bytes, { start: skipSpace(bytes, 0), end: bytes.length }, 'messages');
  if (list === undefined) return bytes;
  const turns = elements(bytes, list);
  const spans = cuts(turns, wholeTurns);
  for (const { turn, blocks, whole } of dirty) {
    const span = turns[turn];
    const content = whole || span === undefined ? undefined : member(bytes, span, 'content');
    if (content !== undefined) spans.push(...cuts(elements(bytes, content), blocks));
  }
  return without(bytes, spans);
}
