// Canonical parts as content blocks of a request. Images and documents go in types that the provider takes alone, detected from the
// bytes if the declared type is wrong.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { isSealedForMessages } from '../../../canonical/thinking-signature.ts';
import type {
  Message,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  DocumentPart,
  ImagePart,
  MediaSource,
} from '../../../canonical/request.ts';
import { argumentsToObject } from '../../shared/tools/tool-names.ts';
import { cacheControl } from './cache.ts';
import { encodeCitations } from '../reply/citations.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import type { WireCacheControl } from '../wire-types.ts';
import { detectMediaType } from '../../shared/media.ts';

/** Providers refuse blocks of text without a visible character. */
function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  // Most texts begin with a letter: they need not be trimmed.
  if (first > 0x20 && first < 0x7f) return false;
  return text.trim() === '';
}

/** `block` was made for this part alone. */
function marked(block: JsonObject, part: { cache?: { ttl?: '5m' | '1h' } }): JsonObject {
  if (part.cache !== undefined) block.cache_control = cacheControl(part.cache) satisfies WireCacheControl;
  return block;
}

/** Citations are for answers: in a user's text they are refused. */
function encodeText(part: TextPart, role: Message['role'], encoding: EncodeContext): JsonObject | undefined {
  if (isBlank(part.text)) return undefined;
  const block: JsonObject = { type: 'text', text: part.text };
  if (part.citations !== undefined) {
    const citations = encodeCitations(part.citations);
    if (role === 'assistant' && citations.length > 0) block.citations = citations;
    else encoding.warn('quiet', 'messages.citations', 'citations are not sent back');
  }
  return marked(block, part);
}

/** Unsigned thinking is refused by providers, and so is what was signed elsewhere. */
function encodeThinking(part: ReasoningPart, encoding: EncodeContext): JsonObject | undefined {
  if (isSealedForMessages(part)) {
    if (part.redacted !== undefined) return { type: 'redacted_thinking', data: part.redacted };
    return { type: 'thinking', thinking: part.text, signature: part.signature ?? '' };
  }
  encoding.warn('quiet', 'messages.reasoning', 'thinking that this provider did not sign is not sent back');
  return undefined;
}

function encodeCall(part: ToolCallPart, encoding: EncodeContext): JsonObject {
  const { value, repaired } =
    part.custom === true
      ? { value: { input: part.arguments }, repaired: false }
      : argumentsToObject(part.arguments);
  if (repaired)
    encoding.warn('changed', 'messages.toolCall', 'arguments that are no JSON object were wrapped in one');
  const block: JsonObject = {
    type: 'tool_use',
    id: encoding.toolId(part.id),
    name: encoding.toolName(part.name),
    input: value,
  };
  const { extra } = part;
  if (extra === undefined) return marked(block, part);
  if (isObject(extra.caller)) block.caller = extra.caller;
  if (typeof extra.toolset_name === 'string') block.toolset_name = extra.toolset_name;
  if (Object.keys(extra).some((name) => name !== 'caller' && name !== 'toolset_name')) {
    encoding.warn('quiet', 'messages.toolCall.extra', 'members of another provider are not sent back');
  }
  return marked(block, part);
}

function encodeResult(part: ToolResultPart, encoding: EncodeContext): JsonObject {
  const content =
    typeof part.content === 'string' ? part.content : encodeParts(part.content, 'user', encoding);
  const block: JsonObject = {
    type: 'tool_result',
    tool_use_id: encoding.toolId(part.callId),
    content: content.length === 0 ? '' : content,
  };
  if (part.isError !== undefined) block.is_error = part.isError;
  return marked(block, part);
}

function encodePart(part: Part, role: Message['role'], encoding: EncodeContext): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part, role, encoding);
    case 'reasoning':
      return encodeThinking(part, encoding);
    case 'image':
      return marked(encodeImage(part, encoding), part);
    case 'document': {
      const { source } = part;
      const inner = () => (source.kind === 'parts' ? encodeParts(source.parts, role, encoding) : []);
      return marked(encodeDocument(part, inner, encoding), part);
    }
    case 'audio':
      return refuse(part.at, 'audio cannot be carried to this provider');
    case 'tool_call':
      return encodeCall(part, encoding);
    case 'tool_result':
      return encodeResult(part, encoding);
    case 'native':
      if (part.protocol === 'messages') return structuredClone(part.value);
      if (part.fate !== 'report')
        return refuse(part.at, `a part of type "${part.kind}" cannot be carried to this provider`);
      encoding.warn('dropped', 'messages.native', `the provider has no ${part.kind}`);
      return undefined;
  }
}

export function encodeParts(
  parts: readonly Part[],
  role: Message['role'],
  encoding: EncodeContext,
): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const part of parts) {
    const block = encodePart(part, role, encoding);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function urlSource(url: string, what: string, at: string | undefined, encoding: EncodeContext): JsonObject {
  if (!encoding.traits.imageUrl)
    refuse(at, `this provider takes no ${what} by URL, and the gateway fetches none`);
  return { type: 'url', url };
}

type FileSource = Extract<MediaSource, { kind: 'file' }>;

/** Files live at one provider: their ids mean nothing at another. */
function fileSource(source: FileSource, what: string, at: string | undefined): JsonObject {
  if (source.protocol !== 'messages') refuse(at, `${what} by file id cannot be carried to another provider`);
  return { type: 'file', file_id: source.id };
}

function imageSource(source: MediaSource, at: string | undefined, encoding: EncodeContext): JsonObject {
  switch (source.kind) {
    case 'url':
      return urlSource(source.url, 'image', at, encoding);
    case 'file':
      return fileSource(source, 'an image', at);
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

function encodeImage(part: ImagePart, encoding: EncodeContext): JsonObject {
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
function encodeDocument(part: DocumentPart, inner: () => JsonObject[], encoding: EncodeContext): JsonObject {
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
        return fileSource(source, 'a document', at);
      case 'text':
        return textSource(source.text);
      case 'parts':
        return { type: 'content', content: inner() };
    }
  }
}
