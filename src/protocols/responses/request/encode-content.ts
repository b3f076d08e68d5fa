// Canonical parts of a user's side as content parts of this wire. Media that the provider can't take is refused by the path that
// the client sent: the gateway fetches nothing, and leaving an image out would change the answer.
import type { JsonObject } from '../../../canonical/json.ts';

import type { CacheMark, CanonicalField, DocumentPart, ImagePart, Part } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import { detectMediaType } from '../../shared/media.ts';
import { nativeText } from '../../shared/texts/native-text.ts';

function refusePart(at: string | undefined, why: string): never {
  return refuse(at ?? 'messages', why);
}

export function takesMark(mark: CacheMark, { traits }: EncodeContext): boolean {
  return mark.breakpoint === true || traits.cacheMarks === 'prompt_cache_breakpoint';
}

function encodeMark(mark: CacheMark | undefined, encoding: EncodeContext): JsonObject {
  if (mark === undefined) return {};
  if (takesMark(mark, encoding)) {
    return { prompt_cache_breakpoint: { mode: 'explicit' } };
  }
  encoding.warn('quiet', 'messages.cache', 'the provider takes no cache marks');
  return {};
}

function encodeImage(part: ImagePart, encoding: EncodeContext): JsonObject {
  const { source, detail, at } = part;
  const image: JsonObject = { type: 'input_image' };
  if (source.kind === 'file') {
    if (source.protocol !== 'responses')
      refusePart(at, 'a file of another provider cannot be carried to this one');
    image.file_id = source.id;
  } else if (source.kind === 'url') {
    if (!encoding.traits.imageUrl) refusePart(at, 'this provider takes no image by URL, send its data');
    image.image_url = source.url;
  } else {
    const found = detectMediaType(source.data);
    const type = found?.startsWith('image/') === true ? found : source.mediaType;
    if (type !== source.mediaType)
      encoding.warn('changed', 'messages.image', `declared as ${source.mediaType}, is ${type}`);
    image.image_url = `data:${type};base64,${source.data}`;
  }
  const fitted = fitDetail(detail, encoding);
  if (fitted !== undefined) image.detail = fitted;
  return { ...image, ...encodeMark(part.cache, encoding) };
}

function fitDetail(detail: string | undefined, encoding: EncodeContext): string | undefined {
  const { imageDetail } = encoding.traits;
  if (detail !== undefined && imageDetail === 'none') {
    const effect = detail === 'auto' ? 'quiet' : 'dropped';
    encoding.warn(effect, 'messages.image.detail', 'this server refuses it');
    return undefined;
  }
  if (detail !== 'original' || imageDetail === 'original') return detail;
  encoding.warn('changed', 'messages.image.detail', 'original was sent as high');
  return 'high';
}

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/plain', 'txt'],
]);

function encodeFile(part: DocumentPart, encoding: EncodeContext): JsonObject {
  const { source, title, at } = part;
  const file: JsonObject = { type: 'input_file' };
  if (source.kind === 'file') {
    if (source.protocol !== 'responses')
      refusePart(at, 'a file of another provider cannot be carried to this one');
    file.file_id = source.id;
    if (title !== undefined) file.filename = title;
  } else if (!encoding.traits.pdfInput) refusePart(at, 'this provider takes no documents');
  else if (source.kind === 'url') file.file_url = source.url;
  else if (source.kind === 'base64') {
    file.filename = title ?? `document.${EXTENSIONS.get(source.mediaType) ?? 'bin'}`;
    file.file_data = `data:${source.mediaType};base64,${source.data}`;
  }
  return { ...file, ...encodeMark(part.cache, encoding) };
}

function encodeDocument(part: DocumentPart, encoding: EncodeContext): JsonObject[] {
  const { source, title } = part;
  if (part.context !== undefined)
    encoding.warn('dropped', 'messages.document.context', 'the protocol has no context of a document');
  if (part.citations === true)
    encoding.warn('dropped', 'messages.document.citations', 'the protocol cites no documents');
  if (source.kind !== 'text' && source.kind !== 'parts') return [encodeFile(part, encoding)];
  encoding.warn('changed', 'messages.document', 'a document of text is sent as text');
  const head = title === undefined ? '' : `[${title}]\n`;
  const mark = encodeMark(part.cache, encoding);
  if (source.kind === 'text') return [{ type: 'input_text', text: head + source.text, ...mark }];
  const inner = encodeParts(source.parts, encoding);
  const all = head === '' ? inner : [{ type: 'input_text', text: head.trimEnd() }, ...inner];
  const last = all.at(-1);
  if (last !== undefined) Object.assign(last, mark);
  return all;
}

function encodePart(part: Part, encoding: EncodeContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      if (part.citations?.length)
        encoding.warn('dropped', 'messages.citations', "a user's text cites nothing here");
      return [{ type: 'input_text', text: part.text, ...encodeMark(part.cache, encoding) }];
    case 'image':
      return [encodeImage(part, encoding)];
    case 'document':
      return encodeDocument(part, encoding);
    case 'audio': {
      const { source, at } = part;
      if (source.kind !== 'base64')
        return refusePart(at, 'an earlier audio answer cannot be carried to this provider');
      return [{ type: 'input_audio', input_audio: { data: source.data, format: source.format } }];
    }
    case 'native': {
      const words = nativeText(part, encoding);
      return words === undefined ? [] : [{ type: 'input_text', text: words }];
    }
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      encoding.warn('quiet', lossOf(part), `no place for a ${part.type} here`);
      return [];
  }
}

export function encodeParts(parts: readonly Part[], encoding: EncodeContext): JsonObject[] {
  return parts.flatMap((part) => encodePart(part, encoding));
}

/** What is named where a part can't stand in a message of its role. */
export function lossOf({ type }: Part): CanonicalField {
  return type === 'image' || type === 'document' || type === 'audio' ? `messages.${type}` : 'messages.native';
}
