// Content blocks of a request as canonical parts. What only this protocol knows stays whole, as a native part that says where
// it stood; the encoder of another protocol decides what it can say instead.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type {
  CacheMark,
  DocumentPart,
  ImagePart,
  MediaSource,
  NativeField,
  NativePart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import { decodeCitations } from '../reply/citations.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields } from '../fields.ts';
import { callExtra, inputText } from '../reply/decode.ts';
import { flag, text } from '../wire-types.ts';

/** The wire path of a list of blocks. It is built only for the parts and errors that show it. */
type Path = () => string;

export function decodeCache(value: unknown): CacheMark | undefined {
  if (!isObject(value)) return undefined;
  const { ttl } = value;
  return ttl === '5m' || ttl === '1h' ? { ttl } : {};
}

function decodeText(block: JsonObject): TextPart {
  const part: TextPart = { type: 'text', text: text(block.text) ?? '' };
  if (!Array.isArray(block.citations)) return part;
  const citations = decodeCitations(block.citations);
  if (citations.length > 0) part.citations = citations;
  return part;
}

function decodeThinking(block: JsonObject): ReasoningPart {
  const part: ReasoningPart = { type: 'reasoning', text: text(block.thinking) ?? '' };
  const signature = text(block.signature);
  if (signature !== undefined) part.signature = signature;
  return part;
}

function decodeMedia(source: JsonObject): MediaSource | undefined {
  const { type } = source;
  if (type === 'base64') {
    return { kind: 'base64', mediaType: text(source.media_type) ?? '', data: text(source.data) ?? '' };
  }
  if (type === 'url' && typeof source.url === 'string') return { kind: 'url', url: source.url };
  if (type === 'file' && typeof source.file_id === 'string')
    return { kind: 'file', protocol: 'messages', id: source.file_id };
  return undefined;
}

function decodeImage(block: JsonObject, at: string): ImagePart {
  const source = isObject(block.source) ? decodeMedia(block.source) : undefined;
  return {
    type: 'image',
    source: source ?? refuse(`${at}.source`, 'must be a base64, url or file source'),
    at,
  };
}

function decodeDocumentSource(
  source: JsonObject,
  at: string,
  native: NativeField[],
): DocumentPart['source'] | undefined {
  if (source.type === 'text') return { kind: 'text', text: text(source.data) ?? '' };
  if (source.type !== 'content') return decodeMedia(source);
  return { kind: 'parts', parts: decodeParts(source.content, () => `${at}.source.content`, native) };
}

function decodeDocument(block: JsonObject, at: string, native: NativeField[]): DocumentPart {
  const source = isObject(block.source) ? decodeDocumentSource(block.source, at, native) : undefined;
  const part: DocumentPart = {
    type: 'document',
    source: source ?? refuse(`${at}.source`, 'must be a base64, url, file, text or content source'),
    at,
  };
  const title = text(block.title);
  const context = text(block.context);
  if (title !== undefined) part.title = title;
  if (context !== undefined) part.context = context;
  if (isObject(block.citations) && block.citations.enabled === true) part.citations = true;
  return part;
}

function decodeCall(block: JsonObject, list: Path, index: number): ToolCallPart {
  const { id, name } = block;
  if (typeof id !== 'string' || id === '') refuse(`${list()}[${index}].id`, 'must be a non-empty string');
  if (typeof name !== 'string' || name === '') {
    refuse(`${list()}[${index}].name`, 'must be a non-empty string');
  }
  const part: ToolCallPart = { type: 'tool_call', id, name, arguments: inputText(block.input) || '{}' };
  const extra = callExtra(block);
  if (extra !== undefined) part.extra = extra;
  return part;
}

function decodeResult(block: JsonObject, list: Path, index: number, native: NativeField[]): ToolResultPart {
  const { tool_use_id: callId, content } = block;
  if (typeof callId !== 'string' || callId === '') {
    refuse(`${list()}[${index}].tool_use_id`, 'must be a non-empty string');
  }
  const part: ToolResultPart = {
    type: 'tool_result',
    callId,
    content: Array.isArray(content)
      ? decodeParts(content, () => `${list()}[${index}].content`, native)
      : (text(content) ?? ''),
  };
  const isError = flag(block.is_error);
  if (isError !== undefined) part.isError = isError;
  return part;
}

/** Undefined: a block that only this protocol knows. */
function decodeKnown(
  block: JsonObject,
  list: Path,
  index: number,
  native: NativeField[],
): Exclude<Part, NativePart> | undefined {
  switch (block.type) {
    case 'text':
      return decodeText(block);
    case 'image':
      return decodeImage(block, `${list()}[${index}]`);
    case 'document':
      return decodeDocument(block, `${list()}[${index}]`, native);
    case 'tool_use':
      return decodeCall(block, list, index);
    case 'tool_result':
      return decodeResult(block, list, index, native);
    case 'thinking':
      return decodeThinking(block);
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', redacted: text(block.data) ?? '' };
    default:
      return undefined;
  }
}

function decodeBlock(block: JsonValue, list: Path, index: number, native: NativeField[]): Part {
  if (!isObject(block)) return refuse(`${list()}[${index}]`, 'must be a content block');
  const part = decodeKnown(block, list, index, native);
  if (part === undefined) {
    const at = `${list()}[${index}]`;
    const kind = text(block.type) ?? refuse(`${at}.type`, 'must be a string');
    return { type: 'native', protocol: 'messages', kind, value: block, at };
  }
  addNativeFields(native, block, 'messages[].content[].');
  if (block.cache_control === undefined || part.type === 'reasoning' || part.type === 'audio') return part;
  const cache = decodeCache(block.cache_control);
  if (cache !== undefined) part.cache = cache;
  return part;
}

/** A string is one text part: both forms mean the same. */
export function decodeParts(content: JsonValue | undefined, list: Path, native: NativeField[]): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((block, index) => decodeBlock(block, list, index, native));
}
