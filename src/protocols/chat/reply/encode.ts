// The canonical reply as a whole chat completion, and what a chat completion has no place for.
import { append, type JsonObject } from '../../../canonical/json.ts';
import type { Reply } from '../../../canonical/reply.ts';
import type { NativePart, ReasoningPart, ToolCallPart } from '../../../canonical/request.ts';
import type { Ids } from '../../../ids.ts';
import type { ReplyContext, ReplyHolds } from '../../interface/answer.ts';
import { chatExtra } from '../request/encode-tools.ts';
import { encodeCitation } from './citations.ts';
import { isSealed, reasoningDetail, thinkingBlock } from './reasoning.ts';
import { encodeServiceTier } from '../../shared/openai/fields.ts';
import { encodeFinish, encodeUsage } from './ending.ts';

/** An id of this protocol is unchanged; an id of another protocol gets the form of this one. */
export function fitReplyId(id: string, ids: Ids): string {
  return id.startsWith('chatcmpl') ? id : `chatcmpl-${ids.random(24)}`;
}

export function encodeReply(reply: Reply, context: ReplyContext): JsonObject {
  const { request } = context;
  const legacy = request.legacyFunctions === true;
  const hasCalls = reply.parts.some(({ type }) => type === 'tool_call');
  const choice: JsonObject = {
    index: 0,
    message: encodeMessage(reply, context),
    logprobs: logprobsOf(reply),
    finish_reason: encodeFinish(reply.stop, hasCalls, legacy),
  };
  if (reply.stop.sequence !== undefined) choice.stop_reason = reply.stop.sequence;
  const body: JsonObject = {
    id: fitReplyId(reply.id, context.ids),
    object: 'chat.completion',
    created: reply.created ?? context.created,
    model: reply.model,
    choices: [choice],
  };
  if (reply.usage) body.usage = encodeUsage(reply.usage);
  const tier = encodeServiceTier(reply.serviceTier);
  if (tier !== undefined) body.service_tier = tier;
  return body;
}

function logprobsOf({ parts }: Reply): JsonObject | null {
  const content: JsonObject[] = [];
  for (const part of parts) if (part.type === 'text' && part.logprobs) append(content, part.logprobs);
  return content.length === 0 ? null : { content, refusal: null };
}

function encodeMessage(reply: Reply, { request, ids }: ReplyContext): JsonObject {
  let content = '';
  let refusal = '';
  let reasoning = '';
  /** A server tool ran since the last text. */
  let apart = false;
  const thoughts: ReasoningPart[] = [];
  const annotations: JsonObject[] = [];
  const calls: ToolCallPart[] = [];
  for (const part of reply.parts) {
    if (part.type === 'reasoning') {
      reasoning += part.text;
      thoughts.push(part);
    } else if (part.type === 'tool_call') calls.push(part);
    else if (part.type === 'native') apart ||= separates(part);
    else if (part.type === 'text' && part.refusal) refusal += part.text;
    else if (part.type === 'text') {
      if (apart && content !== '') content += gapBetween(content, part.text);
      apart = false;
      for (const citation of part.citations ?? []) {
        const annotation = encodeCitation(citation, content.length, part.text.length);
        if (annotation) annotations.push(annotation);
      }
      content += part.text;
    }
  }
  if (refusal === '' && reply.stop.reason === 'refusal') refusal = reply.stop.explanation ?? '';
  // A provider may refuse in its text and explain it in the same words.
  if (refusal === content) content = '';
  const message: JsonObject = {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
    refusal: refusal === '' ? null : refusal,
  };
  if (request.reasoning?.hidden !== true) {
    if (reasoning !== '') message.reasoning_content = reasoning;
    if (reasoning !== '' && request.readsReasoning === true) message.reasoning = reasoning;
    const sealed = thoughts.filter(isSealed);
    if (sealed.length > 0) {
      message.reasoning_details = thoughts.map(reasoningDetail);
      message.thinking_blocks = sealed.map(thinkingBlock);
    }
  }
  if (annotations.length > 0) message.annotations = annotations;
  const [first] = calls;
  if (first && request.legacyFunctions) {
    message.function_call = { name: first.name, arguments: first.arguments || '{}' };
  } else if (first) {
    message.tool_calls = calls.map((call) => encodeCall(call, ids));
  }
  return message;
}

function encodeCall(call: ToolCallPart, ids: Ids): JsonObject {
  const id = call.id || `call_${ids.random(24)}`;
  if (call.custom) return { id, type: 'custom', custom: { name: call.name, input: call.arguments } };
  return {
    id,
    type: 'function',
    ...chatExtra(call.extra),
    function: { name: call.name, arguments: call.arguments || '{}' },
  };
}

// -- paragraphs: chat has one text for the texts before and after a server tool's block --

export function separates({ kind }: NativePart): boolean {
  return kind.endsWith('tool_use') || kind.endsWith('tool_result');
}

function newlines(text: string): number {
  return /^\n{0,2}/.exec(text)?.[0].length ?? 0;
}

/** What makes a blank line between them. `before`: the last two characters at least. */
export function gapBetween(before: string, after: string): string {
  const reversed = [...before.slice(-2)].reverse().join('');
  return '\n'.repeat(Math.max(0, 2 - newlines(reversed) - newlines(after)));
}

export const holds: ReplyHolds = {
  protocol: 'chat',
  // Where it has such members, they are not written anew.
  nativeParts: false,
  losesExtras: () => false,
  stopCategory: false,
  pages: true,
  // Few clients keep the members in which it is handed out.
  signedThinking: false,
};

export function lossesOfRewriting({ n }: JsonObject): string[] {
  return typeof n === 'number' && n > 1 ? ['the choices after the first'] : [];
}
