// Canonical parts as content blocks of a request.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { isSealedForMessages } from '../../../canonical/thinking-signature.ts';
import type {
  Message,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import { argumentsToObject } from '../../shared/tool-names.ts';
import { cacheControl } from './cache.ts';
import { encodeCitations } from '../reply/citations.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import { encodeDocument, encodeImage } from './media.ts';
import type { WireCacheControl } from '../wire-types.ts';

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
      if (part.protocol === 'chat')
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
