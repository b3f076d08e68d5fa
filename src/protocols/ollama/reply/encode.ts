// The canonical reply as one answer of Ollama's.
import { append, type JsonObject } from '../../../canonical/json.ts';
import type { Reply } from '../../../canonical/reply.ts';
import type { ToolCallPart } from '../../../canonical/request.ts';
import type { Ids } from '../../../ids.ts';
import type { ReplyContext, ReplyHolds } from '../../interface/answer.ts';
import { createSourceList } from '../../shared/texts/source-list.ts';
import { argumentsToObject } from '../../shared/tools/tool-names.ts';
import { ending } from './ending.ts';
import type { Form, Said } from './forms.ts';

export function encodeReply(reply: Reply, context: ReplyContext, form: Form): JsonObject {
  const tokens: JsonObject[] = [];
  for (const part of reply.parts) if (part.type === 'text' && part.logprobs) append(tokens, part.logprobs);
  return {
    model: reply.model,
    created_at: new Date(context.now()).toISOString(),
    ...form.members(saidIn(reply, context)),
    ...(tokens.length > 0 && { logprobs: tokens }),
    ...ending(reply.stop, reply.usage, { first: undefined, last: context.elapsed() }),
  };
}

function saidIn({ parts, stop }: Reply, { request, ids }: ReplyContext): Said {
  let content = '';
  let thinking = '';
  const calls: JsonObject[] = [];
  const sources = createSourceList(request);
  for (const part of parts) {
    if (part.type === 'reasoning') thinking += part.text;
    else if (part.type === 'tool_call') calls.push(encodeCall(part, calls.length, ids));
    else if (part.type === 'text') {
      for (const citation of part.citations ?? []) sources.add(citation);
      content += part.text + sources.take();
    }
  }
  if (content === '') content = stop.explanation ?? '';
  return {
    content,
    ...(thinking !== '' && { thinking }),
    ...(calls.length > 0 && { calls }),
  };
}

export function encodeCall(
  { id, name, arguments: written }: Pick<ToolCallPart, 'id' | 'name' | 'arguments'>,
  index: number,
  ids: Ids,
): JsonObject {
  return {
    id: id || `call_${ids.random(24)}`,
    function: { index, name, arguments: argumentsToObject(written).value },
  };
}

export const holds: ReplyHolds = {
  protocol: 'ollama',
  nativeParts: false,
  losesExtras: ({ extra_content: content }) => content !== undefined,
  stopCategory: false,
  pages: false,
  signedThinking: false,
};
