// Encodes images and documents for a provider: only types that it takes, detected from the bytes if the declared type is wrong.
import type { JsonObject } from '../../../canonical/json.ts';
import { detectMediaType } from '../../shared/media.ts';
import type { DocumentPart, ImagePart, MediaSource } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function urlSource(url: string, what: string, at: string | undefined, encoding: EncodeContext): JsonObject {
  if (!encoding.traits.imageUrl)
    refuse(at, `this provider takes no ${what} by URL, and the gateway fetches none`);
  return { type: 'url', url };
}

/** Files live at one provider: their ids mean nothing at another. */
function fileSource(id: string, what: string, at: string | undefined, encoding: EncodeContext): JsonObject {
  if (encoding.request.protocol !== 'messages')
    refuse(at, `${what} by file id cannot be carried to another provider`);
  return { type: 'file', file_id: id };
}

function imageSource(source: MediaSource, at: string | undefined, encoding: EncodeContext): JsonObject {
  switch (source.kind) {
    case 'url':
      return urlSource(source.url, 'image', at, encoding);
    case 'file':
      return fileSource(source.id, 'an image', at, encoding);
    case 'base64': {
      const declared = source.mediaType.toLowerCase().replace(/^image\/jpg$/, 'image/jpeg');
      const type = detectMediaType(source.data) ?? declared;
      if (!IMAGE_TYPES.has(type))
        refuse(at, `an image of type ${type || 'unknown'} is not taken: jpeg, png, gif or webp are`);
      if (type !== declared)
        encoding.warn('changed', 'messages.image', `declared as ${declared}, is ${type}`);
      return { type: 'base64', media_type: type, data: source.data };
    }
  }
}

export function encodeImage(part: ImagePart, encoding: EncodeContext): JsonObject {
  const { detail } = part;
  if (detail !== undefined) {
    encoding.warn(
      detail === 'auto' ? 'quiet' : 'dropped',
      'messages.image.detail',
      'images have no level of detail',
    );
  }
  return { type: 'image', source: imageSource(part.source, part.at, encoding) };
}

function fileDocument(
  source: Extract<MediaSource, { kind: 'base64' }>,
  at: string | undefined,
  encoding: EncodeContext,
): JsonObject {
  const type = detectMediaType(source.data) ?? source.mediaType.toLowerCase();
  if (type.startsWith('text/')) return textSource(Buffer.from(source.data, 'base64').toString('utf8'));
  if (type !== 'application/pdf')
    refuse(at, `a document of type ${type || 'unknown'} is not taken: PDF and plain text are`);
  if (!encoding.traits.pdfInput) refuse(at, 'this provider takes no PDF');
  return { type: 'base64', media_type: 'application/pdf', data: source.data };
}

function textSource(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data };
}

/** `inner`: the blocks of a document that consists of parts. */
export function encodeDocument(
  part: DocumentPart,
  inner: () => JsonObject[],
  encoding: EncodeContext,
): JsonObject {
  const { source, at } = part;
  const block: JsonObject = { type: 'document', source: documentSource() };
  if (part.title !== undefined) block.title = part.title;
  if (part.context !== undefined) block.context = part.context;
  if (part.citations === true) block.citations = { enabled: true };
  return block;

  function documentSource(): JsonObject {
    switch (source.kind) {
      case 'base64':
        return fileDocument(source, at, encoding);
      case 'url':
        if (!encoding.traits.pdfInput) refuse(at, 'this provider takes no PDF');
        return urlSource(source.url, 'document', at, encoding);
      case 'file':
        return fileSource(source.id, 'a document', at, encoding);
      case 'text':
        return textSource(source.text);
      case 'parts':
        return { type: 'content', content: inner() };
    }
  }
}
