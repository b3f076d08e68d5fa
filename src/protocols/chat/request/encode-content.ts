// Canonical parts of a user's side as chat content parts. Media that this wire or this provider can't take is refused by the
// path that the client sent: the gateway fetches nothing, and leaving an image out would change the answer.
import type { JsonObject } from '../../../canonical/json.ts';
import { detectMediaType } from '../../shared/media.ts';
import type {
  AudioPart,
  CacheMark,
  DocumentPart,
  CanonicalField,
  ImagePart,
  NativePart,
  Part,
  TextPart,
} from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import { nativeText } from '../../shared/texts/native-text.ts';

function refusePart(at: string | undefined, why: string): never {
  return refuse(at ?? 'messages', why);
}

/** What a cache mark becomes on a part for this target; empty if the target has no marks. */
export function encodeMark(mark: CacheMark | undefined, encoding: EncodeContext): JsonObject {
  if (!mark) return {};
  switch (encoding.traits.cacheMarks) {
    case 'none':
      encoding.warn('quiet', 'messages.cache', 'the provider takes no cache marks');
      return {};
    case 'prompt_cache_breakpoint':
      return { prompt_cache_breakpoint: { mode: 'explicit' } };
    case 'cache_control':
      return { cache_control: { type: 'ephemeral', ...(mark.ttl === '1h' ? { ttl: '1h' } : {}) } };
  }
}

function dataUrl({ mediaType, data }: { mediaType: string; data: string }, encoding: EncodeContext): string {
  const found = detectMediaType(data);
  const type = found?.startsWith('image/') === true ? found : mediaType;
  if (type !== mediaType) encoding.warn('changed', 'messages.image', `declared as ${mediaType}, is ${type}`);
  return `data:${type};base64,${data}`;
}

function encodeImage(part: ImagePart, encoding: EncodeContext): JsonObject {
  const { source } = part;
  if (source.kind === 'file') refusePart(part.at, 'a file of another provider cannot be carried to this one');
  if (source.kind === 'url' && !encoding.traits.imageUrl) {
    refusePart(part.at, 'this provider takes no image by URL, send its data');
  }
  const image: JsonObject = { url: source.kind === 'url' ? source.url : dataUrl(source, encoding) };
  if (part.detail !== undefined) putDetail(image, part.detail, encoding);
  return { type: 'image_url', image_url: image, ...encodeMark(part.cache, encoding) };
}

/** The responses protocol alone has `original`. */
function putDetail(image: JsonObject, detail: string, encoding: EncodeContext): void {
  if (encoding.traits.imageDetail === 'none') {
    const effect = detail === 'auto' ? 'quiet' : 'dropped';
    encoding.warn(effect, 'messages.image.detail', 'this server takes no detail of an image');
  } else if (detail === 'original') {
    image.detail = 'high';
    encoding.warn('changed', 'messages.image.detail', 'original was sent as high');
  } else image.detail = detail;
}

const EXTENSIONS: Readonly<Record<string, string | undefined>> = {
  'application/pdf': 'pdf',
  'text/plain': 'txt',
};

function encodeFile(part: DocumentPart, encoding: EncodeContext): JsonObject {
  const { source, at } = part;
  if (source.kind === 'file' && source.protocol === 'chat') {
    return { type: 'file', file: { file_id: source.id } };
  }
  if (source.kind !== 'base64') {
    const what = source.kind === 'url' ? 'a document by URL' : 'a file of another provider';
    refusePart(at, `${what} cannot be carried to this provider`);
  }
  if (!encoding.traits.pdfInput) refusePart(at, 'this provider takes no documents');
  const filename = part.title ?? `document.${EXTENSIONS[source.mediaType] ?? 'bin'}`;
  const file = { filename, file_data: `data:${source.mediaType};base64,${source.data}` };
  return { type: 'file', file, ...encodeMark(part.cache, encoding) };
}

function encodeDocument(part: DocumentPart, encoding: EncodeContext): JsonObject[] {
  const { source, title } = part;
  if (part.context !== undefined) {
    encoding.warn('dropped', 'messages.document.context', 'chat has no context of a document');
  }
  if (part.citations) encoding.warn('dropped', 'messages.document.citations', 'chat cites no documents');
  if (source.kind !== 'text' && source.kind !== 'parts') return [encodeFile(part, encoding)];
  encoding.warn('changed', 'messages.document', 'a document of text is sent as text');
  const head = title === undefined ? '' : `[${title}]\n`;
  const mark = encodeMark(part.cache, encoding);
  if (source.kind === 'text') return [{ type: 'text', text: head + source.text, ...mark }];
  const inner = source.parts.flatMap((item) => encodeUserPart(item, encoding));
  const all = head === '' ? inner : [{ type: 'text', text: head.trimEnd() }, ...inner];
  const last = all.at(-1);
  if (last) Object.assign(last, mark);
  return all;
}

function encodeAudio(part: AudioPart): JsonObject {
  const { source, at } = part;
  if (source.kind !== 'base64') refusePart(at, 'an earlier audio answer cannot be carried to this provider');
  return { type: 'input_audio', input_audio: { data: source.data, format: source.format } };
}

function encodeNative(part: NativePart, encoding: EncodeContext): JsonObject[] {
  if (part.protocol === 'chat') return [part.value];
  const words = nativeText(part, encoding);
  return words === undefined ? [] : [{ type: 'text', text: words }];
}

function encodeText(part: TextPart, encoding: EncodeContext): JsonObject {
  if (part.cache === undefined) return { type: 'text', text: part.text };
  return { type: 'text', text: part.text, ...encodeMark(part.cache, encoding) };
}

export function encodeUserPart(part: Part, encoding: EncodeContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      if (part.citations?.length)
        encoding.warn('dropped', 'messages.citations', 'chat takes no citations back');
      return [encodeText(part, encoding)];
    case 'image':
      return [encodeImage(part, encoding)];
    case 'document':
      return encodeDocument(part, encoding);
    case 'audio':
      return [encodeAudio(part)];
    case 'native':
      return encodeNative(part, encoding);
    case 'reasoning':
      encoding.warn('quiet', 'messages.reasoning', 'the assistant alone thinks');
      return [];
    // They stand in messages of their own.
    case 'tool_call':
    case 'tool_result':
      encoding.warn('dropped', lossOf(part), `chat has no place for a ${part.type} here`);
      return [];
  }
}

/** What is named where a part can't stand in a message of its role. */
export function lossOf({ type }: Part): CanonicalField {
  if (type === 'image') return 'messages.image';
  return type === 'document' ? 'messages.document' : 'messages.native';
}

/** Whether it bears a cache mark, in either form. */
export function isMarked(part: JsonObject): boolean {
  return part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined;
}
