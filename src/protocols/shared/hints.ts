// What every protocol computes for the router from a request: what identifies the conversation, its last turn, and an estimate of its
// tokens.
import { crc32 } from 'node:zlib';
import type { BodyNames } from '../../canonical/body-names.ts';
import { isObject, type JsonValue, type JsonObject } from '../../canonical/json.ts';
import type { JsonNode } from '../json/body.ts';

/** No body of most clients names its conversation. */
export const NO_NAMES: BodyNames = {};

/** The cache key that the client sent, if any. */
export function keyAlone({ prompt_cache_key: key }: JsonObject): BodyNames {
  return typeof key === 'string' && key !== '' ? { cacheKey: key } : NO_NAMES;
}

/** A JSON text with `session_id`, or a name that ends so. A plain text there names a person. */
const SESSION_AT_END = /_session_([0-9a-fA-F-]{36})$/;
/** Characters of the text; agents write three ids. */
const MOST_USER = 2000;

/** The session that an agent names in the id of its user. */
export function sessionIn(metadata: JsonValue | undefined): BodyNames | undefined {
  const user = isObject(metadata) ? metadata.user_id : undefined;
  if (typeof user !== 'string' || user.length > MOST_USER) return undefined;
  const session = user.startsWith('{') ? sessionOf(user) : SESSION_AT_END.exec(user)?.[1];
  return session === undefined ? undefined : { session };
}

function sessionOf(user: string): string | undefined {
  try {
    const { session_id: session } = Object(JSON.parse(user)) as Record<string, unknown>;
    return typeof session === 'string' && session !== '' ? session : undefined;
  } catch {
    return undefined;
  }
}

/** The text before the messages, and the messages up to the first user message. */
export function beginningOf(before: string, messages: readonly JsonNode[] = []): string {
  let text = before;
  for (const message of messages) {
    const role = message.textOf('role');
    const content = message.get('content');
    // Most messages are a text: written as one, it is hashed sooner.
    text +=
      role !== undefined && content?.isText === true && content.end - content.start <= LONG
        ? `\n${role} ${content.text ?? ''}`
        : spelled(message);
    if (role === 'user') return text;
  }
  // Without a user message, none belongs to the beginning for certain.
  return before;
}

/** Bytes of a message that count as they are written: a longer one has an image, and a hash of it takes longer than all else. */
const LONG = 65_536;
const HEAD = 4096;

function spelled(message: JsonNode): string {
  const { bytes } = message;
  return bytes.length <= LONG
    ? bytes.toString()
    : `${bytes.toString('utf8', 0, HEAD)} ${bytes.length} ${crc32(bytes)}`;
}

/** The last message that is not system text, which some clients add after the results of tools. */
export function lastTurn(messages: readonly JsonNode[] | undefined): JsonNode | undefined {
  return messages?.findLast((message) => message.textOf('role') !== 'system');
}

/**
 * Claude Code's attribution, a line at the start of its system text: only its own provider uses it. It changes with every call, so
 * another provider's prompt cache would never match.
 */
export const ATTRIBUTION = 'x-anthropic-billing-header';

/** The text without that line. Some clients write it and their prompt as one text. */
export function withoutAttribution(text: string): string {
  if (!text.startsWith(ATTRIBUTION)) return text;
  const end = text.indexOf('\n');
  return end < 0 ? '' : text.slice(end + 1);
}

// The estimate needs no tokeniser: four bytes of text are about one token. It is good enough to choose a target, to answer a count
// and to replace usage that a provider does not report; no request is refused because of it.
const BYTES_PER_TOKEN = 4;
/** Tokens that providers count for one image of usual size. */
const IMAGE_TOKENS = 1500;
/** A page of a PDF is about 60 KB and 2,000 tokens, for its text and its image. */
const DOCUMENT_BYTES_PER_TOKEN = 30;
/** A second of compressed speech is about 16 kB and 10 tokens. */
const AUDIO_BYTES_PER_TOKEN = 1600;
/** Roles and separators. */
const MESSAGE_TOKENS = 4;
/** Quotes, colon and comma. */
const MEMBER_BYTES = 4;

/** Members of a request that the model reads, in every protocol. */
const READ_BY_MODEL = [
  'system',
  'instructions',
  'messages',
  'input',
  'tools',
  'functions',
  'response_format',
  'output_config',
  'output_format',
  'text',
] as const;

/** Members that the model does not read: marks, ids, signatures. */
const NOT_READ: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'tool_use_id',
  'tool_call_id',
  'call_id',
  'status',
  'encrypted_content',
  'signature',
  'media_type',
  'cache_control',
  'detail',
]);

/** Members whose values the model reads, but not their names. */
const IN_WORDS: ReadonlySet<string> = new Set(['system', 'instructions', 'messages', 'input']);

/** Tokens of a text, given itself or the length of its UTF-8. */
export function estimateText(text: string | number): number {
  const bytes = typeof text === 'number' ? text : Buffer.byteLength(text);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Input tokens of a request's body, of any protocol. */
export function estimateBody(body: JsonObject): number {
  return countBody(body, Infinity);
}

/** The most tokens that the client wants to get, in the words of every protocol. */
export function outputLimit(body: JsonObject): number | undefined {
  for (const name of ['max_completion_tokens', 'max_output_tokens', 'max_tokens']) {
    const value = body[name];
    if (typeof value === 'number' && value >= 0) return value;
  }
  return undefined;
}

/** Whether the body's estimate is at least `tokens`. Counting stops there: a long conversation reaches any limit early. */
export function isAtLeast(body: JsonObject, tokens: number): boolean {
  return countBody(body, tokens) >= tokens;
}

/** The estimate, or the first sum on the way to it that reaches `enough`. */
function countBody(body: JsonObject, enough: number): number {
  const sum: Sum = { tokens: 0, bytes: 0 };
  for (const list of [body.messages, body.input]) {
    if (Array.isArray(list)) sum.tokens += MESSAGE_TOKENS * list.length;
  }
  for (const name of READ_BY_MODEL) {
    const value = body[name];
    if (value === undefined) continue;
    const named = !IN_WORDS.has(name);
    for (const item of Array.isArray(value) ? value : [value]) {
      walk(item, named, sum);
      if (total(sum) >= enough) return total(sum);
    }
  }
  return total(sum);
}

interface Sum {
  tokens: number;
  /** Of text. */
  bytes: number;
}

function total({ tokens, bytes }: Sum): number {
  return tokens + estimateText(bytes);
}

/** `named`: the model reads the names of members too, as in a schema or in a call's input. */
function walk(value: JsonValue | undefined, named: boolean, sum: Sum): void {
  if (typeof value === 'string') sum.bytes += Buffer.byteLength(value);
  else if (Array.isArray(value)) for (const item of value) walk(item, named, sum);
  else if (isObject(value)) walkObject(value, named, sum);
  else if (value !== null && value !== undefined) sum.bytes += BYTES_PER_TOKEN;
}

function walkObject(value: JsonObject, named: boolean, sum: Sum): void {
  const media = mediaTokens(value);
  if (media !== undefined) {
    sum.tokens += media;
    return;
  }
  for (const name in value) {
    if (named) sum.bytes += name.length + MEMBER_BYTES;
    else if (NOT_READ.has(name)) continue;
    walk(value[name], named || name === 'input', sum);
  }
}

/** Tokens of a part that holds media, by kind and size; undefined for other objects. */
function mediaTokens(value: JsonObject): number | undefined {
  const { data, type } = value;
  if (type === 'image_url' || type === 'image' || type === 'input_image') return IMAGE_TOKENS;
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
