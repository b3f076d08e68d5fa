// Tokens without a tokeniser: four bytes of text make about one. Good enough to choose a target, to answer a count and to fill a
// figure that a provider did not tell; never used to refuse anything.
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import type { ReplyPart } from './reply.ts';

const BYTES_PER_TOKEN = 4;
/** What providers count for one picture of usual size. */
const IMAGE_TOKENS = 1500;
/** A page of a PDF is some 60 KB and 2,000 tokens, of its text and of its picture. */
const DOCUMENT_BYTES_PER_TOKEN = 30;
/** 16 kB of compressed speech is a second, and that some 10 tokens. */
const AUDIO_BYTES_PER_TOKEN = 1600;
/** Roles and separators. */
const MESSAGE_TOKENS = 4;
/** Quotes, colon and comma. */
const MEMBER_BYTES = 4;

/** Members of a request that the model reads, in either protocol. */
const READ_BY_MODEL = [
  'system',
  'messages',
  'tools',
  'functions',
  'response_format',
  'output_config',
  'output_format',
] as const;

/** Members that stand beside what the model reads: marks, ids, proofs. */
const NOT_READ: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'tool_use_id',
  'tool_call_id',
  'signature',
  'media_type',
  'cache_control',
  'detail',
]);

/** Tokens of a text, given itself or the length of its UTF-8. */
export function estimateText(text: string | number): number {
  const bytes = typeof text === 'number' ? text : Buffer.byteLength(text);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Input tokens of a request's body, of either protocol. */
export function estimateBody(body: JsonObject): number {
  let tokens = 0;
  let bytes = 0;

  function walk(value: JsonValue | undefined, named: boolean): void {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (Array.isArray(value)) for (const item of value) walk(item, named);
    else if (isObject(value)) walkObject(value, named);
    else if (value !== null && value !== undefined) bytes += BYTES_PER_TOKEN;
  }

  /** `named`: the model reads the names of members too, as in a schema or in a call's input. */
  function walkObject(value: JsonObject, named: boolean): void {
    const media = mediaTokens(value);
    if (media !== undefined) {
      tokens += media;
      return;
    }
    for (const name in value) {
      if (named) bytes += name.length + MEMBER_BYTES;
      else if (NOT_READ.has(name)) continue;
      walk(value[name], named || name === 'input');
    }
  }

  for (const name of READ_BY_MODEL) walk(body[name], name !== 'messages' && name !== 'system');
  if (Array.isArray(body.messages)) tokens += MESSAGE_TOKENS * body.messages.length;
  return tokens + estimateText(bytes);
}

/** Tokens of a part that holds media, by kind and size; undefined for other objects. */
function mediaTokens(value: JsonObject): number | undefined {
  const { data, type } = value;
  if (type === 'image_url' || type === 'image') return IMAGE_TOKENS;
  if (type === 'base64' && typeof data === 'string') {
    return bySize(data.length, DOCUMENT_BYTES_PER_TOKEN);
  }
  if (typeof value.file_data === 'string') return bySize(value.file_data.length, DOCUMENT_BYTES_PER_TOKEN);
  if (typeof data === 'string' && typeof value.format === 'string') {
    return bySize(data.length, AUDIO_BYTES_PER_TOKEN);
  }
  return undefined;
}

function bySize(base64Length: number, bytesPerToken: number): number {
  return Math.ceil((base64Length * 3) / 4 / bytesPerToken);
}

/** Output tokens of an answer. */
export function estimateReply(parts: readonly ReplyPart[]): number {
  let bytes = 0;
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'reasoning') bytes += Buffer.byteLength(part.text);
    else if (part.type === 'tool_call')
      bytes += Buffer.byteLength(part.name) + Buffer.byteLength(part.arguments);
    else bytes += Buffer.byteLength(JSON.stringify(part.value));
  }
  return estimateText(bytes);
}
