// Whole answers, both ways.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Reply, ReplyPart } from '../../../canonical/reply.ts';
import type { ToolCallPart } from '../../../canonical/request.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { Usage } from '../../../canonical/usage.ts';
import { FailureError, type ReplyOptions, type ReplyContext } from '../../protocol.ts';
import { rawObjectJson } from '../../json/raw-json.ts';
import { keepSource, mayDiffer, type ArgumentsPath } from '../../json/raw-arguments.ts';
import { argumentsToObject, fitToolId } from '../../shared/tool-names.ts';
import { decodeCitations, encodeCitations } from './citations.ts';
import { readFailure } from '../errors.ts';
import { text, type WireMessage } from '../wire-types.ts';
import { createSourceList } from '../sources.ts';
import { decodeStop, encodeStop, failureOfSilence, failureOfStop, isStop } from './stop-reason.ts';
import { decodeUsage, encodeUsage, estimateUsage } from './usage.ts';

function broken(reason: string, message: string): never {
  throw new FailureError({ kind: 'failed', message, reason });
}

function saysNothing(block: JsonValue): boolean {
  return !isObject(block) || (block.type === 'text' && !block.text);
}

/** A message with a content list and a stop reason, or a failure: nothing half is taken for a success. */
function readMessage(value: unknown): { message: JsonObject; content: JsonValue[]; stopReason: string } {
  if (value === undefined || value === null) return broken('empty', 'the provider sent an empty answer');
  if (!isObject(value)) return broken('malformed', "the provider's answer is not a message");
  if (value.type === 'error' || (value.error !== undefined && value.error !== null)) {
    throw new FailureError(readFailure(value));
  }
  if (!Array.isArray(value.content)) return broken('malformed', "the provider's answer is not a message");
  const { stop_reason: stopReason } = value;
  if (!isStop(stopReason)) return broken('truncated', "the provider's answer has no stop reason");
  const silence = value.content.every(saysNothing) ? failureOfSilence(stopReason) : undefined;
  const failure = failureOfStop(stopReason) ?? silence;
  if (failure !== undefined) throw new FailureError(failure);
  return { message: value, content: value.content, stopReason };
}

/** The arguments stay text; a server that sends text already is taken at its word. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (isObject(input) || Array.isArray(input)) return rawObjectJson(input as JsonObject);
  return input === undefined || input === null ? '' : JSON.stringify(input);
}

/** Members of a call that must come back with it: who may call it, unless it is the model itself. */
export function callExtra(block: JsonObject): JsonObject | undefined {
  const { caller, toolset_name: toolset } = block;
  let extra: JsonObject | undefined;
  if (isObject(caller) && caller.type !== 'direct') extra = { caller };
  if (typeof toolset === 'string') (extra ??= {}).toolset_name = toolset;
  return extra;
}

function decodeCall(block: JsonObject, unique: (id: string) => string): ToolCallPart {
  const id = text(block.id) ?? '';
  const name = text(block.name) ?? '';
  if (name === '') return broken('malformed', 'the provider called a tool without a name');
  const call: ToolCallPart = {
    type: 'tool_call',
    // One that is missing is made by the encoder.
    id: id === '' ? id : unique(id),
    name,
    arguments: inputText(block.input) || '{}',
  };
  const extra = callExtra(block);
  if (extra !== undefined) call.extra = extra;
  return call;
}

function decodePart(block: JsonObject, unique: (id: string) => string): ReplyPart {
  switch (block.type) {
    case 'text': {
      const citations = decodeCitations(block.citations);
      const part = { type: 'text' as const, text: text(block.text) ?? '' };
      return citations.length === 0 ? part : { ...part, citations };
    }
    case 'thinking': {
      const part = { type: 'reasoning' as const, text: text(block.thinking) ?? '' };
      const signature = text(block.signature);
      return signature === undefined ? part : { ...part, signature };
    }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', redacted: text(block.data) ?? '' };
    case 'tool_use':
      return decodeCall(block, unique);
    default:
      return { type: 'native', protocol: 'messages', kind: text(block.type) ?? '', value: block };
  }
}

function isEmptyText(part: ReplyPart): boolean {
  return part.type === 'text' && part.text === '' && part.citations === undefined;
}

/** The inputs among `blocks` that a JavaScript object may not hold as they were written; `steps` lead to the list. */
export function addUnlikeInputs(
  places: ArgumentsPath[],
  blocks: readonly JsonValue[],
  steps: () => ArgumentsPath['steps'],
): void {
  for (let index = 0; index < blocks.length; index++) {
    const block = blocks[index];
    if (isObject(block) && block.type === 'tool_use' && mayDiffer(block.input)) {
      places.push({ holder: block, name: 'input', steps: [...steps(), index] });
    }
  }
}

function keepInputs(content: readonly JsonValue[], source: Buffer | string): void {
  const places: ArgumentsPath[] = [];
  addUnlikeInputs(places, content, () => ['content']);
  keepSource(source, places);
}

export function decodeReply(value: unknown, source?: Buffer | string): Reply {
  const { message, content, stopReason } = readMessage(value);
  if (source !== undefined) keepInputs(content, source);
  const unique = createUniqueIds();
  const parts = content.filter(isObject).map((block) => decodePart(block, unique));
  const reply: Reply = {
    id: text(message.id) ?? '',
    model: text(message.model) ?? '',
    parts: parts.filter((part) => !isEmptyText(part)),
    stop: decodeStop(stopReason, message),
  };
  const usage = decodeUsage(message.usage);
  if (usage !== undefined) reply.usage = usage;
  const serviceTier = isObject(message.usage) ? text(message.usage.service_tier) : undefined;
  if (serviceTier !== undefined) reply.serviceTier = serviceTier;
  return reply;
}

export function inspectReply(value: unknown): { usage?: Usage } {
  const usage = decodeUsage(readMessage(value).message.usage);
  return usage === undefined ? {} : { usage };
}

/** The `input` object of a call; the free text of a custom call goes where its stand-in tool has its one property. */
function encodeInput(call: ToolCallPart): JsonObject {
  return call.custom === true ? { input: call.arguments } : argumentsToObject(call.arguments).value;
}

/** Text of white space alone would be refused when it comes back: it goes with the next text, or nowhere. */
function encodeContent(parts: readonly ReplyPart[], hideThinking = false): JsonObject[] {
  const blocks: JsonObject[] = [];
  let blank = '';
  for (const part of parts) {
    const isText = part.type === 'text';
    if (isText && part.text.trim() === '') {
      blank += part.text;
      continue;
    }
    const block = encodeBlock(
      isText && blank !== '' ? { ...part, text: blank + part.text } : part,
      hideThinking,
    );
    if (isText) blank = '';
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

function encodeBlock(part: ReplyPart, hideThinking: boolean): JsonObject | undefined {
  switch (part.type) {
    case 'text': {
      const citations = encodeCitations(part.citations);
      return { type: 'text', text: part.text, ...(citations.length > 0 && { citations }) };
    }
    case 'reasoning':
      if (part.redacted !== undefined) return { type: 'redacted_thinking', data: part.redacted };
      if (part.text === '' && !part.signature) return undefined;
      return { type: 'thinking', thinking: hideThinking ? '' : part.text, signature: part.signature ?? '' };
    case 'tool_call':
      return {
        type: 'tool_use',
        id: fitToolId(part.id, 'messages'),
        name: part.name,
        input: encodeInput(part),
        caller: { type: 'direct' },
        ...(part.extra?.caller === undefined ? {} : { caller: part.extra.caller }),
      };
    case 'native':
      return part.protocol === 'messages' ? part.value : undefined;
  }
}

/** Characters that the model wrote, for an estimate where the provider counts nothing. */
function characters(parts: readonly ReplyPart[]): number {
  let sum = 0;
  for (const part of parts) {
    if (part.type === 'tool_call') sum += part.name.length + part.arguments.length;
    else if (part.type !== 'native') sum += part.text.length;
  }
  return sum;
}

const ID_PREFIX = 'msg_';

export function messageId(id: string, { ids, trace }: Pick<ReplyContext, 'ids' | 'trace'>): string {
  if (id.startsWith(ID_PREFIX)) return id;
  const own = ID_PREFIX + ids.random(24);
  if (trace !== undefined) trace.replyIds = { theirs: id, ours: own };
  return own;
}

/** Each text with the pages that it names behind it. */
function withSources(parts: readonly ReplyPart[], asked: ReplyOptions): ReplyPart[] {
  const sources = createSourceList(asked);
  return parts.map((part) => {
    if (part.type !== 'text' || part.citations === undefined) return part;
    for (const citation of part.citations) sources.add(citation);
    const list = sources.take();
    return list === '' ? part : { ...part, text: part.text + list };
  });
}

export function encodeReply(reply: Reply, context: ReplyContext): JsonObject {
  const content = encodeContent(
    withSources(reply.parts, context.request),
    context.request.reasoning?.display === 'omitted',
  );
  const hasCalls = content.some((block) => block.type === 'tool_use');
  const usage = reply.usage ?? estimateUsage(context.estimateInput(), characters(reply.parts));
  return {
    id: messageId(reply.id, context),
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    ...encodeStop(reply.stop, hasCalls),
    usage: encodeUsage(usage, reply.serviceTier),
  } satisfies WireMessage;
}
