// The content of an answer: text, or a list of chunks (Mistral's, and servers that draw). A chunk that no other protocol knows
// is carried unchanged, so that its loss can be reported.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { NativePart } from '../../../canonical/request.ts';
import { thinkingChunkText } from './reasoning.ts';

export type ReplyContent =
  { kind: 'text' | 'refusal' | 'thinking'; text: string } | { kind: 'native'; part: NativePart };

function native(kind: string, value: JsonObject): ReplyContent {
  return { kind: 'native', part: { type: 'native', protocol: 'chat', kind, value } };
}

function readChunk(chunk: JsonValue): ReplyContent | undefined {
  if (typeof chunk === 'string') return { kind: 'text', text: chunk };
  if (!isObject(chunk)) return undefined;
  if (chunk.type === 'thinking') return { kind: 'thinking', text: thinkingChunkText(chunk) };
  if (chunk.type === 'refusal' && typeof chunk.refusal === 'string') {
    return { kind: 'refusal', text: chunk.refusal };
  }
  if (typeof chunk.text === 'string') return { kind: 'text', text: chunk.text };
  return native(typeof chunk.type === 'string' ? chunk.type : 'unknown', chunk);
}

/** `message.content` or `delta.content`. */
export function readContent(content: JsonValue | undefined): ReplyContent[] {
  if (content === undefined || content === null || content === '') return [];
  if (!Array.isArray(content)) return readContent([content]);
  return content.map(readChunk).filter((piece) => piece !== undefined);
}

/** Members beside the content that are content too: pictures and sound, and what a server wants back with the turn. */
const BESIDE = ['images', 'audio', 'extra_content'] as const;

export function readBeside(message: JsonObject): ReplyContent[] {
  return BESIDE.filter((name) => typeof message[name] === 'object' && message[name] !== null).map((name) =>
    native(name, { [name]: message[name] ?? null }),
  );
}

/** Sources of an answer without text. */
export function sourcesAlone(annotations: JsonValue | undefined): NativePart[] {
  if (!Array.isArray(annotations) || annotations.length === 0) return [];
  return [{ type: 'native', protocol: 'chat', kind: 'annotations', value: { annotations } }];
}
