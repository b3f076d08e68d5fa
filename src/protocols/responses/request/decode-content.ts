// The parts of input items as canonical parts. A part that no other protocol could take is refused by its path.
import { isObject, type JsonObject, type JsonValue, nonEmpty } from '../../../canonical/json.ts';
import type { DocumentPart, ImagePart, NativeField, Part, TextPart } from '../../../canonical/request.ts';
import { refuse } from '../../shared/client.ts';
import { fileSource, mediaSource } from '../../shared/media.ts';
import { addNativeFields } from '../fields.ts';
import { decodeAnnotations } from '../reply/citations.ts';

/** `at`: where the part stands. */
type Reader = (part: JsonObject, at: string) => Part;

function withMark<P extends TextPart | ImagePart | DocumentPart>(part: P, source: JsonObject): P {
  if (isObject(source.prompt_cache_breakpoint)) part.cache = { breakpoint: true };
  return part;
}

const readText: Reader = (part, at) => {
  if (typeof part.text !== 'string') return refuse(`${at}.text`, 'must be a string');
  const read: TextPart = { type: 'text', text: part.text };
  const citations = decodeAnnotations(part.annotations);
  if (citations.length > 0) read.citations = citations;
  return withMark(read, part);
};

const readRefusal: Reader = (part, at) => {
  if (typeof part.refusal !== 'string') return refuse(`${at}.refusal`, 'must be a string');
  return { type: 'text', text: part.refusal, refusal: true };
};

const readImage: Reader = (part, at) => {
  const { image_url: image, file_id: file, detail } = part;
  const url = nonEmpty(isObject(image) ? image.url : image);
  const id = nonEmpty(file);
  let source: ImagePart['source'];
  if (url !== undefined) source = mediaSource(url);
  else if (id !== undefined) source = { kind: 'file', protocol: 'responses', id };
  else return refuse(`${at}.image_url`, 'must be a non-empty string');
  const read: ImagePart = { type: 'image', source, at };
  if (typeof detail === 'string') read.detail = detail;
  return withMark(read, part);
};

const readFile: Reader = (part, at) => {
  const { file_data, file_url, file_id } = part;
  const filename = nonEmpty(part.filename);
  const [data, url, id] = [nonEmpty(file_data), nonEmpty(file_url), nonEmpty(file_id)];
  let source: DocumentPart['source'];
  if (data !== undefined) source = fileSource(data, filename);
  else if (url !== undefined) source = mediaSource(url);
  else if (id !== undefined) source = { kind: 'file', protocol: 'responses', id };
  else return refuse(at, 'needs file_data, file_url or file_id');
  const read: DocumentPart = { type: 'document', source, at };
  if (filename !== undefined) read.title = filename;
  return withMark(read, part);
};

const readAudio: Reader = ({ input_audio: audio }, at) => {
  if (!isObject(audio) || typeof audio.data !== 'string') {
    return refuse(`${at}.input_audio.data`, 'must be a string');
  }
  const format = nonEmpty(audio.format) ?? 'wav';
  return { type: 'audio', source: { kind: 'base64', format, data: audio.data }, at };
};

const READERS: ReadonlyMap<unknown, Reader> = new Map([
  ['input_text', readText],
  ['output_text', readText],
  ['text', readText],
  ['refusal', readRefusal],
  ['input_image', readImage],
  ['input_file', readFile],
  ['input_audio', readAudio],
]);

const PREFIX = 'input[].content[].';

/** `path`: of the list. `native` takes the members of parts that have no canonical name. */
export function decodeParts(content: JsonValue | undefined, path: string, native: NativeField[]): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((part, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(part)) return refuse(at, 'must be an object');
    const read = READERS.get(part.type);
    if (read === undefined) {
      return refuse(`${at}.type`, `${JSON.stringify(part.type ?? null)} cannot be carried to this provider`);
    }
    addNativeFields(native, part, PREFIX);
    return read(part, at);
  });
}
