// Canonical messages as a chat history. Nothing may stand between an assistant's calls and their `tool` messages, and those
// hold text alone: images of results follow in a user message after the whole run.
import { withoutAttribution } from '../../shared/hints.ts';
import { append, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { signedExtra } from './encode-tools.ts';
import { alternate, bridgeTools, CONTINUE, joinTexts, limitMarks, markLast, merge } from './server-rules.ts';
import { gapBetween, separates } from '../reply/encode.ts';
import { asUsersText, nativeText } from '../../shared/texts/native-text.ts';
import { encodeMark, encodeUserPart, isMarked, lossOf } from './encode-content.ts';

interface History {
  out: JsonObject[];
  /** Parts of tool results that wait for the end of the run of tool messages. */
  attached: JsonObject[];
  /** Something other than system text is written. */
  hasTurns: boolean;
  /** Nothing was left of the message before, which was the assistant's or the system's: what stands on both sides of it is one turn. */
  gap: boolean;
}

export function encodeMessages(encoding: EncodeContext): JsonObject[] {
  const history: History = { out: [], attached: [], hasTurns: false, gap: false };
  for (const message of encoding.request.messages) {
    if (message.role === 'system') encodeSystem(message, history, encoding);
    else if (message.role === 'user') encodeUser(message, history, encoding);
    else encodeAssistant(message, history, encoding);
  }
  flushAttached(history);
  endWithUser(history, encoding);
  // OpenAI marks the end of the prompt by itself.
  if (encoding.traits.cacheMarks === 'cache_control') {
    markLast(history.out, encodeMark(encoding.request.cache, encoding));
  }
  if (encoding.traits.cacheMarks !== 'none') limitMarks(history.out, encoding);
  const written = encoding.traits.strictAlternation ? alternate(history.out) : history.out;
  if (!encoding.traits.contentLists) joinTexts(written);
  return encoding.traits.userAfterTool ? written : bridgeTools(written, encoding);
}

/** One plain text is a string, the form that every server takes. */
function simplest(parts: JsonObject[]): JsonValue {
  const [only] = parts;
  const isPlain = parts.length === 1 && only?.type === 'text' && !isMarked(only);
  return isPlain && typeof only.text === 'string' ? only.text : parts;
}

/** Many servers take a string alone for this role, so that texts are joined unless a mark needs its part. */
function joined(parts: JsonObject[]): JsonValue {
  return parts.some(isMarked) ? parts : textOf(parts);
}

function textOf(parts: JsonObject[]): string {
  const [only] = parts;
  if (parts.length === 1 && typeof only?.text === 'string') return only.text;
  return parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n\n');
}

/** A model that can't continue its own turn is asked to continue. */
function endWithUser({ out }: History, encoding: EncodeContext): void {
  const last = out.at(-1);
  if (encoding.traits.prefill || last?.role !== 'assistant' || last.tool_calls !== undefined) return;
  out.push({ ...CONTINUE });
  encoding.warn('changed', 'messages', 'this model answers only after a user message');
}

function withMembers(wire: JsonObject, message: Message, encoding: EncodeContext): JsonObject {
  if (message.name !== undefined) wire.name = message.name;
  if (message.prefix === true) wire.prefix = true;
  encoding.natives(message.native, wire, 'messages[].');
  return wire;
}

/** System text is text alone on this wire. */
function encodeSystemPart(part: Part, encoding: EncodeContext): JsonObject[] {
  if (part.type === 'native') return encodeUserPart(part, encoding);
  if (part.type === 'text') {
    const text = withoutAttribution(part.text);
    return text === '' ? [] : encodeUserPart({ ...part, text }, encoding);
  }
  encoding.warn('dropped', lossOf(part), `system text holds no ${part.type} on chat`);
  return [];
}

function encodeSystem(message: Message, history: History, encoding: EncodeContext): void {
  const { traits } = encoding;
  const parts = message.parts.flatMap((part) => encodeSystemPart(part, encoding));
  if (parts.length === 0) {
    history.gap = true;
    return;
  }
  const content = joined(parts);
  if (history.hasTurns && (traits.strictAlternation || traits.lateSystem === 'user')) {
    flushAttached(history);
    history.out.push({ role: 'user', content: asUsersText(textOf(parts)) });
    encoding.warn('changed', 'messages', 'system text in mid-conversation is sent inside a user message');
    return;
  }
  if (history.hasTurns) flushAttached(history);
  history.out.push(withMembers({ role: traits.systemRole, content }, message, encoding));
}

function encodeUser(message: Message, history: History, encoding: EncodeContext): void {
  const rest: Part[] = [];
  history.hasTurns = true;
  for (const part of message.parts) {
    if (part.type === 'tool_result') encodeResult(part, message, history, encoding);
    else rest.push(part);
  }
  if (rest.length === 0) return;
  const parts = history.attached;
  for (const part of rest) append(parts, encodeUserPart(part, encoding));
  history.attached = [];
  const last = history.out.at(-1);
  if (parts.length === 0) {
    if (last?.role === 'user' || last?.role === 'tool') return;
    history.out.push({ role: 'user', content: '.' });
    encoding.warn('changed', 'messages', 'a turn of the user that lost all it held was sent as a full stop');
    return;
  }
  const wire = withMembers({ role: 'user', content: simplest(parts) }, message, encoding);
  if (history.gap && last?.role === 'user') last.content = merge(last.content, wire.content);
  else history.out.push(wire);
  history.gap = false;
}

function flushAttached(history: History): void {
  if (history.attached.length === 0) return;
  history.out.push({ role: 'user', content: history.attached });
  history.attached = [];
}

function encodeResult(
  part: ToolResultPart,
  message: Message,
  history: History,
  encoding: EncodeContext,
): void {
  const id = encoding.toolId(part.callId);
  const content = resultContent(part, history, encoding);
  const wire: JsonObject = { role: 'tool', tool_call_id: id, content: markedResult(content, part, encoding) };
  // A message of results alone was a message of its own on this wire.
  if (message.parts.length === 1) encoding.natives(message.native, wire, 'messages[].');
  history.out.push(wire);
}

function markedResult(content: JsonValue, part: ToolResultPart, encoding: EncodeContext): JsonValue {
  if (part.cache === undefined) return content;
  const mark = encodeMark(part.cache, encoding);
  return Array.isArray(content) || !isMarked(mark) ? content : [{ type: 'text', text: content, ...mark }];
}

function resultContent(part: ToolResultPart, history: History, encoding: EncodeContext): JsonValue {
  if (typeof part.content === 'string') return markError(part.content, part);
  const lines: string[] = [];
  const media: JsonObject[] = [];
  for (const item of part.content) {
    if (item.type === 'text') lines.push(item.text);
    else if (item.type === 'native' && item.protocol !== 'chat') {
      const words = nativeText(item, encoding);
      if (words !== undefined) lines.push(words);
    } else {
      for (const wire of encodeUserPart(item, encoding)) {
        if (wire.type === 'text' && typeof wire.text === 'string') lines.push(wire.text);
        else attach(wire, lines, media, encoding);
      }
    }
  }
  const text = markError(lines.join('\n'), part);
  append(history.attached, media);
  return text;
}

function attach(wire: JsonObject, lines: string[], media: JsonObject[], encoding: EncodeContext): void {
  media.push(wire);
  const what = wire.type === 'image_url' ? 'image' : wire.type === 'file' ? 'document' : 'audio';
  lines.push(`[${what} attached below]`);
  encoding.warn('changed', 'messages.toolResult', `the ${what} of a tool result follows in a user message`);
}

function markError(text: string, part: ToolResultPart): string {
  return part.isError && !/^\s*error/i.test(text) ? `Error: ${text}` : text;
}

interface Turn {
  text: string;
  refusal: string;
  reasoning: string;
  calls: ToolCallPart[];
  mark: JsonObject;
  /** The last text does not continue in the next message. */
  apart: boolean;
}

function readTurn(message: Message, encoding: EncodeContext): Turn {
  const turn: Turn = { text: '', refusal: '', reasoning: '', calls: [], mark: {}, apart: false };
  for (const part of message.parts) {
    switch (part.type) {
      case 'text':
        addText(part, turn, encoding);
        break;
      case 'tool_call':
        turn.calls.push(part);
        if (part.cache) encoding.warn('quiet', 'messages.cache', 'chat marks no calls');
        break;
      case 'reasoning':
        turn.reasoning += part.text;
        if (part.redacted)
          encoding.warn('quiet', 'messages.redacted', 'redacted reasoning goes to its origin alone');
        break;
      case 'audio':
        encodeUserPart(part, encoding);
        break;
      case 'native':
        if (part.protocol !== 'chat') addApart(nativeText(part, encoding), turn);
        turn.apart ||= separates(part);
        break;
      case 'image':
      case 'document':
      case 'tool_result':
        encoding.warn('dropped', lossOf(part), `an assistant message of chat holds no ${part.type}`);
        break;
    }
  }
  return turn;
}

function paragraph(before: string, text: string): string {
  return before === '' ? text : before + gapBetween(before, text) + text;
}

/** A separate text: a blank line separates it from the text beside it. */
function addApart(text: string | undefined, turn: Turn): void {
  if (text === undefined) return;
  turn.text = paragraph(turn.text, text);
  turn.apart = true;
}

function addText(part: TextPart, turn: Turn, encoding: EncodeContext): void {
  if (turn.calls.length > 0 && part.text.trim() !== '') {
    encoding.warn('changed', 'messages', 'text after a tool call is sent before it');
  }
  if (part.citations?.length) encoding.warn('dropped', 'messages.citations', 'chat takes no citations back');
  if (part.refusal) turn.refusal += part.text;
  else turn.text = turn.apart ? paragraph(turn.text, part.text) : turn.text + part.text;
  if (part.text !== '') turn.apart = false;
  if (part.cache) turn.mark = encodeMark(part.cache, encoding);
}

function encodeAssistant(message: Message, history: History, encoding: EncodeContext): void {
  const turn = readTurn(message, encoding);
  const replays = replaysReasoning(turn, encoding);
  const isEmpty = turn.text === '' && turn.refusal === '' && turn.calls.length === 0;
  if (turn.reasoning !== '' && !replays) {
    encoding.warn('quiet', 'messages.reasoning', 'this provider takes no reasoning back');
  }
  // A turn of reasoning alone that is not taken back is no turn any more.
  if (isEmpty && !(replays && turn.reasoning !== '')) {
    if (message.parts.length > 0 && message.parts.every((part) => part.type !== 'text')) {
      history.gap = true;
      return;
    }
  }
  const { gap } = history;
  history.gap = false;
  flushAttached(history);
  history.hasTurns = true;
  const wire: JsonObject = { role: 'assistant', content: assistantContent(turn) };
  if (turn.refusal !== '') wire.refusal = turn.refusal;
  if (replays) wire[encoding.traits.reasoningField] = turn.reasoning || encoding.traits.reasoningFill;
  if (turn.calls.length > 0) wire.tool_calls = turn.calls.map((call, at) => encodeCall(call, at, encoding));
  const wireTurn = withMembers(wire, message, encoding);
  const last = history.out.at(-1);
  // Calls are followed by their results: a turn with calls never comes before its rest.
  if (gap && last?.role === 'assistant') continueTurn(last, wireTurn);
  else history.out.push(wireTurn);
}

/** Appends the rest of a turn that followed system text, when nothing of that text remains. */
function continueTurn(turn: JsonObject, rest: JsonObject): void {
  for (const name in rest) {
    const [before, after] = [turn[name], rest[name]];
    if (name === 'role' || after === undefined || after === null || after === '') continue;
    if (name === 'content' && before) turn[name] = merge(before, after);
    else turn[name] = typeof before === 'string' && typeof after === 'string' ? before + after : after;
  }
}

function assistantContent({ text, refusal, calls, mark }: Turn): JsonValue {
  if (text === '' && (calls.length > 0 || refusal !== '')) return null;
  return text !== '' && isMarked(mark) ? [{ type: 'text', text, ...mark }] : text;
}

/** With `tool_turns` a server requires the member in turns with calls: what stands for reasoning that is missing is a trait. */
function replaysReasoning(turn: Turn, { traits, request }: EncodeContext): boolean {
  if (traits.replayReasoning === 'always') return turn.reasoning !== '';
  if (traits.replayReasoning === 'never' || turn.calls.length === 0) return false;
  return turn.reasoning !== '' || request.reasoning?.mode !== 'off';
}

function encodeCall(call: ToolCallPart, at: number, encoding: EncodeContext): JsonObject {
  const id = encoding.toolId(call.id);
  const name = encoding.toolName(call.name);
  const { customTools, thoughtSignatures } = encoding.traits;
  if (call.custom && customTools) return { id, type: 'custom', custom: { name, input: call.arguments } };
  const written = call.custom ? JSON.stringify({ input: call.arguments }) : call.arguments;
  const body: JsonObject = { name, arguments: written || '{}' };
  if (call.extra === undefined && !thoughtSignatures) {
    return { id, type: 'function', function: body };
  }
  const extra = signedExtra(call.extra, at, encoding);
  if (call.extra && call.extra.extra_content === undefined) {
    encoding.warn('quiet', 'messages.toolCall.extra', 'chat has no such member of a call');
  }
  return { id, type: 'function', ...extra, function: body };
}
