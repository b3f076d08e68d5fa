// The canonical reply as a whole message, and what a message has no place for.
import type { JsonObject } from '../../../canonical/json.ts';
import { estimateUsage, writtenCharacters, type Reply, type ReplyPart } from '../../../canonical/reply.ts';
import type { ToolCallPart } from '../../../canonical/request.ts';
import type { ReplyContext, ReplyOptions, ReplyHolds } from '../../interface/answer.ts';
import { argumentsToObject, fitToolId } from '../../shared/tools/tool-names.ts';
import { messageId, type WireMessage } from '../wire-types.ts';
import { createSourceList } from '../../shared/texts/source-list.ts';
import { encodeCitations } from './citations.ts';
import { encodeStop, encodeUsage } from './ending.ts';

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
      const { text } = part;
      const citations = part.citations === undefined ? [] : encodeCitations(part.citations);
      return citations.length > 0 ? { type: 'text', text, citations } : { type: 'text', text };
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

/** Each text with the pages that it names behind it. */
function withSources(parts: readonly ReplyPart[], asked: ReplyOptions): ReplyPart[] {
  if (!parts.some((part) => part.type === 'text' && part.citations !== undefined)) return [...parts];
  const sources = createSourceList(asked, 'messages');
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
    context.request.reasoning?.hidden === true,
  );
  const hasCalls = content.some((block) => block.type === 'tool_use');
  const usage = reply.usage ?? estimateUsage(context.estimateInput(), writtenCharacters(reply.parts));
  const stop = encodeStop(reply.stop, hasCalls);
  return {
    id: messageId(reply.id, context.ids),
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: stop.stop_reason,
    stop_sequence: stop.stop_sequence,
    stop_details: stop.stop_details,
    usage: encodeUsage(usage, reply.serviceTier),
  } satisfies WireMessage;
}

export const holds: ReplyHolds = {
  protocol: 'messages',
  nativeParts: true,
  // What Gemini's chat endpoint wants back with a call.
  losesExtras: (extra) => extra.extra_content !== undefined,
  stopCategory: true,
  pages: false,
  signedThinking: true,
};

export function lossesOfRewriting({ container }: JsonObject): string[] {
  return container !== undefined && container !== null ? ['the container'] : [];
}
