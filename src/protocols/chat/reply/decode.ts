// A provider's whole chat completion, read into the canonical reply. The content is text, or a list of chunks (Mistral's, and servers
// that draw). A chunk that no other protocol knows is carried unchanged, so that its loss can be reported.
import { createHash } from 'node:crypto';
import { append, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Reply, ReplyPart } from '../../../canonical/reply.ts';
import type { Citation, TextPart, ToolCallPart, NativePart } from '../../../canonical/request.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import { keepSource, type ArgumentsPath, type Source } from '../../json/raw-json.ts';
import { decodeAnnotation, pagesBeside } from './citations.ts';
import { tokensOf } from '../../../canonical/logprobs.ts';
import { throwFailure } from '../../shared/failures/provider-error.ts';
import { decodeStop, decodeUsage } from './ending.ts';
import { checkReply, failSilence } from '../relay.ts';
import { addUnlikeArguments } from '../stream/tool-calls.ts';
import { argumentsText } from '../../json/raw-json.ts';
import { isRaw, reasoningParts, thinkingChunkText } from './reasoning.ts';
import { NAMELESS_CALL } from '../../../failures.ts';

export function decodeReply(value: unknown, source?: Source): Reply {
  const { value: body, choice, message, finish, spread } = checkReply(value);
  if (source !== undefined && (message.tool_calls || message.function_call))
    keepArguments(body, [choice, ...spread], source);
  const id = typeof body.id === 'string' ? body.id : '';
  const { parts, refusal } = contentParts(message, pagesOf(body, message));
  addTokens(parts, choice.logprobs);
  const calls = replyCalls(message, id);
  append(parts, calls);
  const hasCalls = calls.length > 0;
  if (parts.length === 0) failSilence(finish);
  const reply: Reply = {
    id,
    model: typeof body.model === 'string' ? body.model : '',
    parts,
    stop: decodeStop({ finish, stopReason: choice.stop_reason, hasCalls, refusal }),
  };
  if (typeof body.created === 'number' && body.created > 0) reply.created = body.created;
  const usage = decodeUsage(body.usage);
  if (usage) reply.usage = usage;
  if (typeof body.service_tier === 'string') reply.serviceTier = body.service_tier;
  return reply;
}

function addTokens(parts: readonly ReplyPart[], logprobs: JsonValue | undefined): void {
  const tokens = isObject(logprobs) ? tokensOf(logprobs.content) : [];
  const text = parts.find((part) => part.type === 'text' && part.refusal !== true);
  if (tokens.length > 0 && text?.type === 'text') text.logprobs = tokens;
}

/** Pages that stand beside the text, in two places. */
function pagesOf(...places: readonly JsonObject[]): Citation[] {
  return places.filter((place) => place.citations || place.search_results).flatMap(pagesBeside);
}

function keepArguments(body: JsonObject, holders: readonly JsonObject[], source: Source): void {
  const places: ArgumentsPath[] = [];
  for (const choice of holders) {
    if (!isObject(choice.message)) continue;
    const index = Array.isArray(body.choices) ? body.choices.indexOf(choice) : -1;
    addUnlikeArguments(places, choice.message, () => ['choices', index, 'message']);
  }
  keepSource(source, places);
}

/** Reasoning first, then the text, the refusal, and what only this protocol knows. */
function contentParts(message: JsonObject, pages: Citation[]): { parts: ReplyPart[]; refusal: string } {
  const isOwn = isRaw(message);
  const parts: ReplyPart[] = reasoningParts(message).map((part) => (isOwn ? { ...part, raw: true } : part));
  const others: ReplyPart[] = [];
  let text = '';
  let refusal = '';
  for (const item of [...readContent(message.content), ...readBeside(message)]) {
    if (item.kind === 'native') others.push(item.part);
    else if (item.kind === 'thinking') parts.push({ type: 'reasoning', text: item.text, raw: true });
    else if (item.kind === 'refusal') refusal += item.text;
    else text += item.text;
  }
  if (typeof message.refusal === 'string') refusal += message.refusal;
  if (text !== '') parts.push(withSources({ type: 'text', text }, message.annotations, pages));
  else append(others, sourcesAlone(message.annotations));
  if (refusal !== '') parts.push({ type: 'text', text: refusal, refusal: true });
  append(parts, others);
  return { parts, refusal };
}

function withSources(part: TextPart, annotations: JsonValue | undefined, pages: Citation[]): TextPart {
  if (annotations === undefined && pages.length === 0) return part;
  const citations = (Array.isArray(annotations) ? annotations : [])
    .map((annotation) => decodeAnnotation(annotation, 0))
    .filter((citation) => citation !== undefined);
  const known = new Set(citations.map(({ url }) => url));
  for (const page of pages) {
    if (!known.has(page.url)) citations.push(page);
    known.add(page.url);
  }
  if (citations.length > 0) part.citations = citations;
  return part;
}

function replyCalls(message: JsonObject, replyId: string): ToolCallPart[] {
  const items: JsonValue[] = Array.isArray(message.tool_calls) ? [...message.tool_calls] : [];
  const { function_call: legacy } = message;
  if (items.length === 0 && isObject(legacy)) items.push({ function: legacy });
  const unique = createUniqueIds();
  return items
    .filter(isObject)
    .map((item, position) => decodeCall(item, `${replyId}/${position}`))
    .map((call) => ({ ...call, id: unique(call.id) }));
}

function decodeCall(item: JsonObject, seed: string): ToolCallPart {
  const custom = isObject(item.custom) ? item.custom : undefined;
  const body = custom ?? (isObject(item.function) ? item.function : {});
  if (typeof body.name !== 'string' || body.name === '') {
    return throwFailure(NAMELESS_CALL);
  }
  const written = custom ? argumentsText(custom.input) : argumentsText(body.arguments) || '{}';
  const id =
    typeof item.id === 'string' && item.id !== '' ? item.id : madeId(`${seed}/${body.name}/${written}`);
  const call: ToolCallPart = { type: 'tool_call', id, name: body.name, arguments: written };
  if (custom) call.custom = true;
  if (isObject(item.extra_content)) call.extra = { extra_content: item.extra_content };
  return call;
}

/** For servers that give a call no id: the same call of the same reply gets the same one. */
function madeId(seed: string): string {
  return `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`;
}

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
