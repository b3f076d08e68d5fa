// Finds what the simulated model replies to: the last user message, or the results of its tool calls.
import type {
  Message,
  Part,
  GenerationRequest,
  ToolResultPart,
  AudioPart,
  DocumentPart,
  ImagePart,
  MediaSource,
} from '../canonical/request.ts';
import { plural } from '../plural.ts';

export interface Prompt {
  /** The text of the last user message; tools are chosen by the names in it. */
  text: string;
  /** Tool results follow the last assistant message. Then no tool is called, or the client would loop forever. */
  afterTools: boolean;
  /** The text of the reply. */
  answer: string;
}

export function promptOf(request: GenerationRequest): Prompt {
  const { messages } = request;
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const afterTools = turn.some(hasToolResult);
  const last = messages.findLast(({ role }) => role === 'user');
  const text = last === undefined ? '' : textOf(last.parts);
  // A user message without text after the results holds images that a tool result cannot hold in chat.
  const isResult = afterTools && last !== undefined && (hasToolResult(last) || text === '');
  if (isResult) return { text, afterTools, answer: resultsOf(turn) };
  const media = last === undefined ? [] : last.parts.map(describeMedia).filter((line) => line !== '');
  return { text, afterTools, answer: [text, ...media].filter((line) => line !== '').join('\n') };
}

function hasToolResult({ parts }: Message): boolean {
  return parts.some(({ type }) => type === 'tool_result');
}

/** The tool results and the images beside them, one per line. */
function resultsOf(turn: Message[]): string {
  return turn
    .filter(({ role }) => role === 'user')
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === 'tool_result' ? describeResult(part) : describeMedia(part)))
    .filter((line) => line !== '')
    .join('\n');
}

function describeResult({ content }: ToolResultPart): string {
  return typeof content === 'string' ? content : describe(content);
}

function textOf(parts: Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function describeMedia(part: Part): string {
  switch (part.type) {
    case 'image':
      return describeImage(part);
    case 'document':
      return describeDocument(part, describe);
    case 'audio':
      return describeAudio(part);
    case 'native':
      return `[${part.kind}]`;
    case 'text':
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return '';
  }
}

/** A part as text: for the token count and for the content of tool results. */
export function describePart(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool_call':
      return part.name + part.arguments;
    case 'tool_result':
      return describeResult(part);
    case 'image':
    case 'document':
    case 'audio':
    case 'native':
      return describeMedia(part);
  }
}

function describe(parts: readonly Part[]): string {
  return parts
    .map(describePart)
    .filter((line) => line !== '')
    .join('\n');
}

// -- descriptions of media: type, bytes, and the pixel size from the file's header --

/** `image/png, 70 bytes, 1 x 1`. */
function describeImage(part: ImagePart): string {
  return `[image: ${describeSource(part.source)}]`;
}

function describeDocument(part: DocumentPart, describeParts: (parts: readonly Inner[]) => string): string {
  const title = part.title === undefined ? '' : `"${part.title}", `;
  const { source } = part;
  if (source.kind === 'text')
    return `[document: ${title}text/plain, ${plural(Buffer.byteLength(source.text), 'byte')}]`;
  if (source.kind === 'parts') return `[document: ${title}${describeParts(source.parts)}]`;
  return `[document: ${title}${describeSource(source)}]`;
}

type Inner = Extract<DocumentPart['source'], { kind: 'parts' }>['parts'][number];

function describeAudio({ source }: AudioPart): string {
  if (source.kind === 'reference') return `[audio: ${source.id}]`;
  return `[audio: ${source.format}, ${plural(Buffer.from(source.data, 'base64').length, 'byte')}]`;
}

function describeSource(source: MediaSource): string {
  if (source.kind === 'url') return source.url;
  if (source.kind === 'file') return `file ${source.id}`;
  const bytes = Buffer.from(source.data, 'base64');
  const size = sizeOf(bytes);
  const pixels = size === undefined ? '' : `, ${size.width} x ${size.height}`;
  return `${source.mediaType}, ${plural(bytes.length, 'byte')}${pixels}`;
}

interface Size {
  width: number;
  height: number;
}

/** Reads the file's first bytes, not the declared type; undefined for an unknown format. */
export function sizeOf(bytes: Buffer): Size | undefined {
  try {
    for (const read of [pngSize, gifSize, jpegSize, webpSize]) {
      const size = read(bytes);
      if (size !== undefined) return size;
    }
  } catch (error) {
    // A read past the end: the header is incomplete.
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}

function starts(bytes: Buffer, at: number, signature: string): boolean {
  return bytes.toString('latin1', at, at + signature.length) === signature;
}

function pngSize(bytes: Buffer): Size | undefined {
  if (!starts(bytes, 0, '\x89PNG\r\n\x1a\n')) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifSize(bytes: Buffer): Size | undefined {
  if (!starts(bytes, 0, 'GIF8')) return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Walks the segments up to the frame header (SOF), which holds the size. */
function jpegSize(bytes: Buffer): Size | undefined {
  if (!starts(bytes, 0, '\xff\xd8')) return undefined;
  let at = 2;
  while (bytes.readUInt8(at) === 0xff) {
    const marker = bytes.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    const isFill = marker === 0xff;
    at += isFill ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer): Size | undefined {
  if (!starts(bytes, 0, 'RIFF') || !starts(bytes, 8, 'WEBP')) return undefined;
  if (starts(bytes, 12, 'VP8X'))
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (starts(bytes, 12, 'VP8L')) {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}
