// The history of a chat request as canonical messages: `tool` and `function` messages become tool results of the user's side,
// system text stays where it stands, and every way in which a client replays reasoning is read.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type {
  CacheMark,
  Message,
  NativeField,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../canonical/request.ts';
import { decodeAnnotation } from './citations.ts';
import { cacheMark, decodeContent } from './content.ts';
import { refuse } from './envelope.ts';
import { nativeField } from './ledger.ts';
import { reasoningParts } from './reasoning.ts';
import { argumentsText } from './stream-calls.ts';

/** Ids for the legacy form, which has none: made by count, so that the same history gives the same ids. */
interface LegacyCalls {
  count: number;
  /** The name of a called function -> its newest id. */
  ids: Map<string, string>;
}

const READ_MEMBERS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'refusal',
  'audio',
  'annotations',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
  'cache_control',
  'prompt_cache_breakpoint',
]);

export function decodeMessages(messages: JsonValue | undefined): Message[] {
  const legacy: LegacyCalls = { count: 0, ids: new Map() };
  if (!Array.isArray(messages)) throw refuse('messages', 'must be an array');
  return messages.map((message, index) => {
    const at = `messages[${index}]`;
    if (!isObject(message)) throw refuse(at, 'must be an object');
    return decodeMessage(message, at, legacy);
  });
}

function decodeMessage(source: JsonObject, at: string, legacy: LegacyCalls): Message {
  const { role } = source;
  const message = readRole(source, at, legacy);
  if (typeof source.name === 'string' && role !== 'function') {
    // On a tool message the name repeats the call's.
    if (role === 'tool') message.native = [{ ...nativeField('messages[].name', source.name), fate: 'quiet' }];
    else message.name = source.name;
  }
  const mark = cacheMark(source);
  if (mark) markLast(message.parts, mark);
  const native = unknownMembers(source);
  if (native.length > 0) message.native = [...(message.native ?? []), ...native];
  return message;
}

function readRole(source: JsonObject, at: string, legacy: LegacyCalls): Message {
  switch (source.role) {
    case 'system':
      return { role: 'system', parts: decodeContent(source.content, at) };
    case 'developer':
      return { role: 'system', developer: true, parts: decodeContent(source.content, at) };
    case 'assistant':
      return { role: 'assistant', parts: assistantParts(source, at, legacy) };
    case 'tool':
      return { role: 'user', parts: [toolResult(source, textOr(source.tool_call_id), at)] };
    case 'function':
      return { role: 'user', parts: [toolResult(source, legacyResultId(source, legacy), at)] };
    case 'user':
      return { role: 'user', parts: decodeContent(source.content, at) };
    default:
      throw refuse(`${at}.role`, 'is not known');
  }
}

function textOr(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function legacyResultId(source: JsonObject, legacy: LegacyCalls): string {
  return legacy.ids.get(textOr(source.name)) ?? nextLegacyId(legacy);
}

function nextLegacyId(legacy: LegacyCalls): string {
  legacy.count += 1;
  return `call_fn_${legacy.count}`;
}

function toolResult(source: JsonObject, callId: string, at: string): ToolResultPart {
  const { content } = source;
  return {
    type: 'tool_result',
    callId,
    content: Array.isArray(content) ? decodeContent(content, at) : textOr(content),
  };
}

function assistantParts(source: JsonObject, at: string, legacy: LegacyCalls): Part[] {
  const parts: Part[] = [...reasoningParts(source)];
  const content = decodeContent(source.content, at).filter(
    (part) => part.type !== 'text' || part.text !== '',
  );
  addCitations(content, source.annotations);
  parts.push(...content);
  if (typeof source.refusal === 'string' && source.refusal !== '') {
    parts.push({ type: 'text', text: source.refusal, refusal: true });
  }
  if (isObject(source.audio)) {
    parts.push({
      type: 'audio',
      source: { kind: 'reference', id: textOr(source.audio.id) },
      at: `${at}.audio`,
    });
  }
  if (Array.isArray(source.tool_calls)) {
    source.tool_calls.forEach((call, index) => parts.push(readCall(call, `${at}.tool_calls[${index}]`)));
  }
  if (isObject(source.function_call)) parts.push(readLegacyCall(source.function_call, at, legacy));
  return parts;
}

function addCitations(parts: Part[], annotations: JsonValue | undefined): void {
  const text = parts.find((part): part is TextPart => part.type === 'text' && !part.refusal);
  if (!text || !Array.isArray(annotations)) return;
  const citations = annotations
    .map((annotation) => decodeAnnotation(annotation, 0))
    .filter((citation) => citation !== undefined);
  if (citations.length > 0) text.citations = citations;
}

const CALL_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function', 'custom']);

function readCall(value: JsonValue, at: string): ToolCallPart {
  if (!isObject(value)) throw refuse(at, 'must be an object');
  const custom = isObject(value.custom) ? value.custom : undefined;
  const body = custom ?? value.function;
  if (!isObject(body)) throw refuse(`${at}.function`, 'must be an object');
  if (typeof body.name !== 'string') throw refuse(`${at}.function.name`, 'must be a string');
  const call: ToolCallPart = {
    type: 'tool_call',
    id: textOr(value.id),
    name: body.name,
    arguments: argumentsText(custom ? custom.input : body.arguments),
  };
  if (custom) call.custom = true;
  const extra: JsonObject = {};
  for (const name in value) {
    const member = value[name];
    if (!CALL_MEMBERS.has(name) && member !== null && member !== undefined) extra[name] = member;
  }
  const cache = cacheMark(value);
  delete extra.cache_control;
  if (cache) call.cache = cache;
  if (Object.keys(extra).length > 0) call.extra = extra;
  return call;
}

function readLegacyCall(value: JsonObject, at: string, legacy: LegacyCalls): ToolCallPart {
  if (typeof value.name !== 'string') throw refuse(`${at}.function_call.name`, 'must be a string');
  const id = nextLegacyId(legacy);
  legacy.ids.set(value.name, id);
  return { type: 'tool_call', id, name: value.name, arguments: argumentsText(value.arguments) };
}

/** A mark on the message itself means its last part that can bear one. */
function markLast(parts: Part[], mark: CacheMark): void {
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i];
    if (!part || part.type === 'reasoning' || part.type === 'audio' || part.type === 'native') continue;
    part.cache ??= mark;
    return;
  }
}

function unknownMembers(source: JsonObject): NativeField[] {
  const natives: NativeField[] = [];
  for (const name in source) {
    const value = source[name];
    if (READ_MEMBERS.has(name) || value === null || value === undefined) continue;
    natives.push(nativeField(`messages[].${name}`, value));
  }
  return natives;
}
