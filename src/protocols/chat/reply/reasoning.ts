// A model's reasoning in one message or one delta, read into one order of pieces. The standard has no reasoning:
// servers have made up several forms.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import { signAsGateway } from '../../../canonical/thinking-signature.ts';
import type { ReasoningPart } from '../../../canonical/request.ts';

/** A piece: text, its signature, or both; or opaque data, which is a block of its own. */
export interface ReasoningPiece {
  text: string;
  signature?: string;
  redacted?: string;
  /** The item of the answer that it belongs to, if the server names one. */
  key?: string | number;
}

/** A block that later pieces may still extend. */
export interface OpenReasoning {
  text: string;
  signature?: string;
  key?: string | number;
}

const NONE: readonly ReasoningPiece[] = [];

/** Mistral's content chunk `{type: thinking, thinking: [{type: text, text}]}`. */
export function thinkingChunkText(chunk: JsonObject): string {
  if (typeof chunk.thinking === 'string') return chunk.thinking;
  if (!Array.isArray(chunk.thinking)) return '';
  return chunk.thinking.map((item) => (isObject(item) ? stringOf(item.text) : '')).join('');
}

/**
 * The reasoning of a message or delta in the form that `lenient.ts` gives it. A text that both members repeat is read once, from
 * the one that can be given back: signed items before plain text.
 */
export function readReasoning(source: JsonObject): readonly ReasoningPiece[] {
  const { reasoning_content: content, reasoning_details: details } = source;
  const plain = stringOf(content);
  if (!details) return plain === '' ? NONE : [{ text: plain }];
  const items = readItems(details);
  if (plain === '') return items;
  const text = items.map((item) => item.text).join('');
  if (text === '') return [{ text: plain }, ...items];
  if (text === plain || items.some(({ signature }) => signature !== undefined)) return items;
  return [{ text: plain }, ...items.filter(({ redacted }) => redacted !== undefined)];
}

/** Whether it is the model's own words. Items with a seal, or in the form of a maker that seals, are summaries. */
export function isRaw({ reasoning_details: details }: JsonObject): boolean {
  return !Array.isArray(details) || details.every(isRawItem);
}

function isRawItem(item: JsonValue): boolean {
  if (!isObject(item)) return true;
  const { type = 'reasoning.text', format = 'unknown', signature, data } = item;
  return type === 'reasoning.text' && (format === 'unknown' || format === null) && !signature && !data;
}

export function readItems(items: JsonValue | undefined): ReasoningPiece[] {
  if (!Array.isArray(items)) return [];
  return items.map(readItem).filter((item) => item !== undefined);
}

/** OpenRouter's `reasoning.text`, `.summary` and `.encrypted`; litellm's blocks, which are the messages protocol's own. */
function readItem(item: JsonValue): ReasoningPiece | undefined {
  if (!isObject(item)) return undefined;
  const text = stringOf(item.text) || stringOf(item.summary) || stringOf(item.thinking);
  const data = stringOf(item.data);
  const seal = isForeign(item.format) ? signAsGateway : (value: string): string => value;
  if (text === '' && data !== '') return { text, redacted: seal(data) };
  const signature = stringOf(item.signature);
  if (text === '' && signature === '') return undefined;
  const thought: ReasoningPiece = { text };
  if (signature !== '') thought.signature = seal(signature);
  const key = typeof item.index === 'number' ? item.index : item.id;
  if (typeof key === 'number' || typeof key === 'string') thought.key = key;
  return thought;
}

/** Said to be of a family that no messages provider knows: it would refuse what this one sealed. */
function isForeign(format: JsonValue | undefined): boolean {
  return typeof format === 'string' && format !== 'unknown' && !format.startsWith('anthropic');
}

/** A signature is the last of its block: text after it is another's. `whole`: items, not pieces of them. */
export function continues(
  open: OpenReasoning,
  { text, signature, key }: ReasoningPiece,
  whole: boolean,
): boolean {
  const sameKey = key !== undefined && key === open.key;
  if (!sameKey && key !== undefined && open.key !== undefined) return false;
  if (open.signature !== undefined) return text === '' && (sameKey || signature === open.signature);
  if (text === '' || signature === undefined || !whole) return true;
  return sameKey || text === open.text;
}

/** What a piece adds to its block: some servers repeat the whole text beside the signature. */
export function addedText(open: OpenReasoning, { text, signature, key }: ReasoningPiece): string {
  if (signature === undefined || open.text === '') return text;
  if (text === open.text) return '';
  // A server may send several blocks as plain text first, and the last of them as a whole block afterwards.
  if (key !== undefined && open.key === undefined && open.text.endsWith(text)) return '';
  return key === undefined && text.startsWith(open.text) ? text.slice(open.text.length) : text;
}

/** The reasoning of a whole message, in history or in an answer: each signed item a block of its own. */
export function reasoningParts(message: JsonObject): ReasoningPart[] {
  const thoughts = readReasoning(message);
  if (thoughts.length === 0) return [];
  const blocks: ReasoningPiece[] = [];
  const unsigned = new Map<string | number, ReasoningPiece>();
  for (const thought of thoughts) {
    const open = thought.redacted === undefined ? blockOf(thought, blocks.at(-1), unsigned) : undefined;
    if (open === undefined) blocks.push({ ...thought });
    else extend(open, thought);
    const block = open ?? blocks.at(-1);
    if (block?.key === undefined) continue;
    if (block.signature === undefined) unsigned.set(block.key, block);
    else unsigned.delete(block.key);
  }
  return blocks.map(({ text, signature, redacted }): ReasoningPart => {
    if (redacted !== undefined) return { type: 'reasoning', text: '', redacted };
    return signature === undefined ? { type: 'reasoning', text } : { type: 'reasoning', text, signature };
  });
}

/** The block that an item extends: the newest, or the one that its signature names. */
function blockOf(
  thought: ReasoningPiece,
  last: ReasoningPiece | undefined,
  unsigned: ReadonlyMap<string | number, ReasoningPiece>,
): ReasoningPiece | undefined {
  if (last !== undefined && last.redacted === undefined && continues(last, thought, true)) return last;
  return thought.text === '' && thought.key !== undefined ? unsigned.get(thought.key) : undefined;
}

function extend(open: OpenReasoning, thought: ReasoningPiece): void {
  open.text += addedText(open, thought);
  if (thought.signature !== undefined) open.signature = thought.signature;
  open.key ??= thought.key;
}

// -- sealed thinking in the forms in which chat clients send it back: the standard has none, and without it a model does not go
// on thinking in a tool loop --

export interface SealedThought {
  text: string;
  signature?: string;
  redacted?: string;
}

/** OpenRouter's word for what the messages protocol seals. */
const FORMAT = 'anthropic-claude-v1';

export function isSealed({ signature, redacted }: SealedThought): boolean {
  return Boolean(redacted ?? signature);
}

/** Readers join the pieces of a stream by `index`: each block is one piece, whole. */
export function reasoningDetail({ text, signature, redacted }: SealedThought, index: number): JsonObject {
  if (redacted !== undefined) return { type: 'reasoning.encrypted', data: redacted, format: FORMAT, index };
  const seal = signature ? { signature } : {};
  return { type: 'reasoning.text', text, ...seal, format: FORMAT, index };
}

export function thinkingBlock({ text, signature, redacted }: SealedThought): JsonObject {
  return redacted === undefined
    ? { type: 'thinking', thinking: text, signature: signature ?? '' }
    : { type: 'redacted_thinking', data: redacted };
}
