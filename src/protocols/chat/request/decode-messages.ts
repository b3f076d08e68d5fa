// The history of a chat request as canonical messages: `tool` and `function` messages become tool results of the user's side,
// system text stays where it stands, and every way in which a client replays reasoning is read.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type {
  CacheMark,
  Message,
  NativeField,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import { decodeAnnotation } from '../reply/citations.ts';
import { cacheMark, decodeContent, messagePath } from './decode-content.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import { argumentsText } from '../../json/raw-json.ts';
import { strictReasoning } from '../lenient.ts';
import { reasoningParts } from '../reply/reasoning.ts';

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
  'prefix',
]);

export function decodeMessages(messages: JsonValue | undefined): Message[] {
  const legacy = createLegacyResults();
  if (!Array.isArray(messages)) refuse('messages', 'must be an array');
  const last = messages.length - 1;
  return messages.map((message, at) => {
    if (!isObject(message)) refuse(messagePath(at), 'must be an object');
    const decoded = decodeMessage(message, at, legacy);
    if (at === last && message.prefix === true && message.role === 'assistant') decoded.prefix = true;
    else if (message.prefix === true) addNative(decoded, nativeField('messages[].prefix', true));
    return decoded;
  });
}

/** `at`: its index in the list. A wire path is built only if a message needs it. */
function decodeMessage(source: JsonObject, at: number, legacy: LegacyResults): Message {
  const { role } = source;
  const native: NativeField[] = [];
  const message = readRole(source, at, legacy, native);
  if (native.length > 0) message.native = distinct(native);
  if (typeof source.name === 'string' && role !== 'function') {
    // On a tool message the name repeats the call's.
    if (role === 'tool') {
      addNative(message, { ...nativeField('messages[].name', source.name), fate: 'quiet' });
    } else message.name = source.name;
  }
  const mark = cacheMark(source);
  if (mark) markLast(message.parts, mark);
  const unread: NativeField[] = [];
  addNativeFields(unread, source, 'messages[].', READ_MEMBERS);
  if (unread.length > 0) message.native = [...(message.native ?? []), ...unread];
  return message;
}

function addNative(message: Message, field: NativeField): void {
  (message.native ??= []).push(field);
}

/** The same member of a hundred parts is one report. */
function distinct(fields: readonly NativeField[]): NativeField[] {
  const seen = new Set<string>();
  return fields.filter(({ path }) => !seen.has(path) && seen.add(path));
}

function readRole(source: JsonObject, at: number, legacy: LegacyResults, native: NativeField[]): Message {
  switch (source.role) {
    case 'system':
      return { role: 'system', parts: decodeContent(source.content, at, native) };
    case 'developer':
      return { role: 'system', developer: true, parts: decodeContent(source.content, at, native) };
    case 'assistant':
      return { role: 'assistant', parts: assistantParts(source, at, legacy, native) };
    case 'tool':
      legacy.answered(stringOf(source.tool_call_id));
      return { role: 'user', parts: [toolResult(source, stringOf(source.tool_call_id), at, native)] };
    case 'function':
      return { role: 'user', parts: [toolResult(source, legacy.idFor(stringOf(source.name)), at, native)] };
    case 'user':
      return { role: 'user', parts: decodeContent(source.content, at, native) };
    default:
      refuse(`${messagePath(at)}.role`, 'is not known');
  }
}

function toolResult(source: JsonObject, callId: string, at: number, native: NativeField[]): ToolResultPart {
  const { content } = source;
  return {
    type: 'tool_result',
    callId,
    content: Array.isArray(content) ? decodeContent(content, at, native) : stringOf(content),
  };
}

function assistantParts(
  source: JsonObject,
  at: number,
  legacy: LegacyResults,
  native: NativeField[],
): Part[] {
  const parts: Part[] = reasoningParts(strictReasoning(source));
  const { content, refusal, audio, tool_calls: calls } = source;
  if (typeof content === 'string') {
    if (content !== '') parts.push({ type: 'text', text: content });
  } else {
    for (const part of decodeContent(content, at, native)) {
      if (part.type !== 'text' || part.text !== '') parts.push(part);
    }
  }
  addCitations(parts, source.annotations);
  if (typeof refusal === 'string' && refusal !== '') {
    parts.push({ type: 'text', text: refusal, refusal: true });
  }
  if (isObject(audio)) {
    const id = stringOf(audio.id);
    parts.push({ type: 'audio', source: { kind: 'reference', id }, at: `${messagePath(at)}.audio` });
  }
  if (Array.isArray(calls)) {
    for (let index = 0; index < calls.length; index++) {
      const call = readCall(calls[index], at, index, native);
      legacy.called(call.name, call.id, at);
      parts.push(call);
    }
  }
  if (isObject(source.function_call)) parts.push(readLegacyCall(source.function_call, at, legacy, native));
  return parts;
}

function addCitations(parts: Part[], annotations: JsonValue | undefined): void {
  if (!Array.isArray(annotations)) return;
  const text = parts.find((part): part is TextPart => part.type === 'text' && !part.refusal);
  if (!text) return;
  const citations = annotations
    .map((annotation) => decodeAnnotation(annotation, 0))
    .filter((citation) => citation !== undefined);
  if (citations.length > 0) text.citations = citations;
}

const CALL_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'type',
  'index',
  'function',
  'custom',
  'cache_control',
  'extra_content',
]);
const BODY_MEMBERS: Readonly<Record<'function' | 'custom', ReadonlySet<string>>> = {
  function: new Set(['name', 'arguments']),
  custom: new Set(['name', 'input']),
};
const CALL = 'messages[].tool_calls[]';

function callPath(at: number, index: number): string {
  return `${messagePath(at)}.tool_calls[${index}]`;
}

function readCall(
  value: JsonValue | undefined,
  at: number,
  index: number,
  native: NativeField[],
): ToolCallPart {
  if (!isObject(value)) refuse(callPath(at, index), 'must be an object');
  const custom = isObject(value.custom) ? value.custom : undefined;
  const body = custom ?? value.function;
  if (!isObject(body)) refuse(`${callPath(at, index)}.function`, 'must be an object');
  if (typeof body.name !== 'string') refuse(`${callPath(at, index)}.function.name`, 'must be a string');
  const call: ToolCallPart = {
    type: 'tool_call',
    id: stringOf(value.id),
    name: body.name,
    arguments: argumentsText(custom ? custom.input : body.arguments),
  };
  if (custom) call.custom = true;
  const cache = cacheMark(value);
  if (cache) call.cache = cache;
  if (isObject(value.extra_content)) call.extra = { extra_content: value.extra_content };
  addNativeFields(native, value, `${CALL}.`, CALL_MEMBERS);
  const kind = custom ? 'custom' : 'function';
  addNativeFields(native, body, `${CALL}.${kind}.`, BODY_MEMBERS[kind]);
  return call;
}

function readLegacyCall(
  value: JsonObject,
  at: number,
  legacy: LegacyResults,
  native: NativeField[],
): ToolCallPart {
  if (typeof value.name !== 'string') {
    refuse(`${messagePath(at)}.function_call.name`, 'must be a string');
  }
  addNativeFields(native, value, 'messages[].function_call.', BODY_MEMBERS.function);
  const id = legacy.nextId();
  legacy.called(value.name, id, at);
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

// Results of the legacy role `function` name no call but a function: which call each of them answers.

/** The calls of one name in one turn, in their order. */
interface Turn {
  at: number;
  ids: string[];
  /** How many of them have a result, or were skipped. */
  next: number;
}

interface LegacyResults {
  /** An id for a legacy call, which has none: made by count, so that the same history gives the same ids. */
  nextId(): string;
  /** `at`: the place of the call's message. */
  called(name: string, id: string, at: number): void;
  /** A result that names its call. */
  answered(id: string): void;
  /** The call that a result for `name` belongs to: the nearest that waits for one, else the nearest, else none that was made. */
  idFor(name: string): string;
}

function createLegacyResults(): LegacyResults {
  let count = 0;
  /** The turns that called a name and wait for results, the newest last. */
  const open = new Map<string, Turn[]>();
  const newest = new Map<string, string>();
  const done = new Set<string>();

  function nextId(): string {
    count += 1;
    return `call_fn_${count}`;
  }

  function waiting(name: string): string | undefined {
    const turns = open.get(name) ?? [];
    for (let turn = turns.at(-1); turn !== undefined; turn = turns.at(-1)) {
      const id = turn.ids[turn.next++];
      if (id === undefined) turns.pop();
      else if (!done.has(id)) return id;
    }
    return undefined;
  }

  return {
    nextId,
    called(name, id, at) {
      newest.set(name, id);
      // Some models count their ids anew in every turn.
      done.delete(id);
      let turns = open.get(name);
      if (turns === undefined) open.set(name, (turns = []));
      const last = turns.at(-1);
      if (last?.at === at) last.ids.push(id);
      else turns.push({ at, ids: [id], next: 0 });
    },
    answered: (id) => void done.add(id),
    idFor(name) {
      const id = waiting(name) ?? newest.get(name) ?? nextId();
      done.add(id);
      return id;
    },
  };
}
