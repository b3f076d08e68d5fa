// The parts of chat messages, read into canonical parts. A part that no other protocol could take is refused by its path.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type {
  AudioPart,
  CacheMark,
  DocumentPart,
  ImagePart,
  NativeField,
  Part,
  ReasoningPart,
  TextPart,
} from '../../../canonical/request.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields } from '../fields.ts';
import { thinkingChunkText } from '../reply/reasoning.ts';
import { fileSource, mediaSource } from '../../shared/media.ts';

/** Wire paths are for refusals and for parts that may be refused later: not written for every part. */
export function messagePath(at: number): string {
  return `messages[${at}]`;
}

function partPath(at: number, index: number): string {
  return `${messagePath(at)}.content[${index}]`;
}

/** A mark of the standard (`prompt_cache_breakpoint`) or of OpenRouter and litellm (`cache_control`). */
export function cacheMark(source: JsonObject): CacheMark | undefined {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = source;
  if (isObject(control)) return control.ttl === '1h' || control.ttl === '5m' ? { ttl: control.ttl } : {};
  return isObject(breakpoint) ? {} : undefined;
}

const EVERY_PART = ['type', 'cache_control', 'prompt_cache_breakpoint'] as const;
const NO_MEMBERS: ReadonlySet<string> = new Set(EVERY_PART);

/** Members that are decoded, by the type of the part. */
const PART_MEMBERS: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['text', new Set([...EVERY_PART, 'text'])],
  ['image_url', new Set([...EVERY_PART, 'image_url'])],
  ['file', new Set([...EVERY_PART, 'file'])],
  ['input_audio', new Set([...EVERY_PART, 'input_audio'])],
  ['refusal', new Set([...EVERY_PART, 'refusal'])],
  ['thinking', new Set([...EVERY_PART, 'thinking', 'signature'])],
  ['redacted_thinking', new Set([...EVERY_PART, 'data'])],
]);

/** Members of the object inside a part. */
const INNER_MEMBERS: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['image_url', new Set(['url', 'detail'])],
  ['file', new Set(['file_data', 'file_id', 'filename'])],
  ['input_audio', new Set(['data', 'format'])],
]);

const PART = 'messages[].content[].';

/** What no member of the canonical part stands for goes to `native`. */
function addPartFields(native: NativeField[], part: JsonObject): void {
  addNativeFields(native, part, PART, PART_MEMBERS.get(part.type) ?? NO_MEMBERS);
  const { type } = part;
  if (typeof type !== 'string') return;
  const members = INNER_MEMBERS.get(type);
  const inner = part[type];
  if (members !== undefined && isObject(inner)) addNativeFields(native, inner, `${PART}${type}.`, members);
}

function withMark<P extends TextPart | ImagePart | DocumentPart>(part: P, source: JsonObject): P {
  const cache = cacheMark(source);
  if (cache) part.cache = cache;
  return part;
}

const PDF = 'application/pdf';

/** Some clients send a PDF in the form of an image. */
function readImage(part: JsonObject, message: number, index: number): ImagePart | DocumentPart {
  const { image_url: image } = part;
  const url = isObject(image) ? image.url : image;
  const at = partPath(message, index);
  if (typeof url !== 'string' || url === '') refuse(`${at}.image_url.url`, 'must be a non-empty string');
  const source = mediaSource(url);
  if (source.kind === 'base64' && source.mediaType === PDF) {
    return withMark<DocumentPart>({ type: 'document', source, at }, part);
  }
  const read: ImagePart = { type: 'image', source, at };
  if (isObject(image) && typeof image.detail === 'string') read.detail = image.detail;
  return withMark(read, part);
}

function readFile(part: JsonObject, message: number, index: number): DocumentPart {
  const at = partPath(message, index);
  const file = isObject(part.file) ? part.file : {};
  const filename = typeof file.filename === 'string' && file.filename !== '' ? file.filename : undefined;
  let source: DocumentPart['source'];
  if (typeof file.file_data === 'string' && file.file_data !== '') {
    source = fileSource(file.file_data, filename);
  } else if (typeof file.file_id === 'string' && file.file_id !== '') {
    source = { kind: 'file', protocol: 'chat', id: file.file_id };
  } else {
    refuse(`${at}.file`, 'needs file_data or file_id');
  }
  const read: DocumentPart = { type: 'document', source, at };
  if (filename !== undefined) read.title = filename;
  return withMark(read, part);
}

function readAudio(part: JsonObject, message: number, index: number): AudioPart {
  const at = partPath(message, index);
  const audio = isObject(part.input_audio) ? part.input_audio : {};
  if (typeof audio.data !== 'string') refuse(`${at}.input_audio.data`, 'must be a string');
  const format = typeof audio.format === 'string' ? audio.format : 'wav';
  return { type: 'audio', source: { kind: 'base64', format, data: audio.data }, at };
}

function readText(part: JsonObject, message: number, index: number): TextPart {
  if (typeof part.text !== 'string') refuse(`${partPath(message, index)}.text`, 'must be a string');
  return withMark<TextPart>({ type: 'text', text: part.text }, part);
}

function readRefusal(part: JsonObject, message: number, index: number): TextPart {
  if (typeof part.refusal !== 'string') refuse(`${partPath(message, index)}.refusal`, 'must be a string');
  return { type: 'text', text: part.refusal, refusal: true };
}

function readThinking(part: JsonObject): ReasoningPart {
  const read: ReasoningPart = { type: 'reasoning', text: thinkingChunkText(part) };
  if (typeof part.signature === 'string') read.signature = part.signature;
  return read;
}

const readRedacted = ({ data }: JsonObject): ReasoningPart => ({
  type: 'reasoning',
  text: '',
  redacted: typeof data === 'string' ? data : '',
});

/** By type, but for text. */
const READERS: Readonly<Record<string, (part: JsonObject, message: number, index: number) => Part>> = {
  image_url: readImage,
  file: readFile,
  input_audio: readAudio,
  refusal: readRefusal,
  thinking: readThinking,
  redacted_thinking: readRedacted,
};

/** `at`: the place of the message. `native` takes the members of parts that have no canonical name. */
export function decodeContent(content: JsonValue | undefined, at: number, native: NativeField[]): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((part, index) => {
    if (!isObject(part)) refuse(partPath(at, index), 'must be an object');
    const { type } = part;
    addPartFields(native, part);
    if (type === 'text') return readText(part, at, index);
    const read = typeof type === 'string' && Object.hasOwn(READERS, type) ? READERS[type] : undefined;
    if (read) return read(part, at, index);
    const what = JSON.stringify(type ?? null);
    refuse(`${partPath(at, index)}.type`, `${what} cannot be carried to this provider`);
  });
}
