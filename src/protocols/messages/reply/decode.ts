// A provider's whole message, read into the canonical reply.
import { isEmptyText } from '../../../canonical/collect.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Reply, ReplyPart } from '../../../canonical/reply.ts';
import type { ToolCallPart } from '../../../canonical/request.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import {
  keepSource,
  mayDiffer,
  type ArgumentsPath,
  rawObjectJson,
  type Source,
} from '../../json/raw-json.ts';
import { readMessage } from '../relay.ts';
import { text } from '../wire-types.ts';
import { decodeCitations } from './citations.ts';
import { decodeStop, decodeUsage } from './ending.ts';
import { FailureError } from '../../../errors.ts';
import { NAMELESS_CALL } from '../../../failures.ts';

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
  if (name === '') throw new FailureError(NAMELESS_CALL);
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

function keepInputs(content: readonly JsonValue[], source: Source): void {
  const places: ArgumentsPath[] = [];
  addUnlikeInputs(places, content, () => ['content']);
  keepSource(source, places);
}

export function decodeReply(value: unknown, source?: Source): Reply {
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
