// One answer of a provider, whole and as its stream, and what a client of either protocol gets of it.
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName, GenerationRequest } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { context, eventsIn, written } from './pipeline.ts';

/** A whole chat completion. `over`: members beside the choices. */
export function completion(message: JsonObject, finish: string, over: JsonObject = {}): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 5,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
    ...over,
  };
}

/** The same as a stream: one chunk, its finish, and the usage where there is one. */
export function chunks(delta: JsonObject, finish: string, over: JsonObject = {}): string {
  const { usage, ...top } = over;
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 5, model: 'm', ...top };
  const calls = Array.isArray(delta.tool_calls)
    ? { tool_calls: delta.tool_calls.map((call, index) => ({ index, ...(call as JsonObject) })) }
    : {};
  const values: JsonObject[] = [
    {
      ...head,
      choices: [{ index: 0, delta: { role: 'assistant', ...delta, ...calls }, finish_reason: null }],
    },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
  ];
  if (usage !== undefined) values.push({ ...head, choices: [], usage });
  return `${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')}data: [DONE]\n\n`;
}

export function message(content: JsonObject[], stop: string | null, over: JsonObject = {}): JsonObject {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
    ...over,
  };
}

/** The same as a stream, its blocks by their starts alone but for text. */
export function events(content: JsonObject[], stop: string, over: JsonObject = {}): string {
  const { usage, stop_sequence = null, stop_details = null, ...top } = over;
  const start = message([], null, { ...top, ...(usage !== undefined && { usage }) });
  const values: JsonObject[] = [{ type: 'message_start', message: start }];
  content.forEach((block, index) => {
    values.push({
      type: 'content_block_start',
      index,
      content_block: block.type === 'text' ? { type: 'text', text: '' } : block,
    });
    const delta = (value: JsonObject) => values.push({ type: 'content_block_delta', index, delta: value });
    if (block.type === 'text') delta({ type: 'text_delta', text: block.text ?? '' });
    const citations = Array.isArray(block.citations) ? block.citations : [];
    for (const citation of citations) delta({ type: 'citations_delta', citation });
    values.push({ type: 'content_block_stop', index });
  });
  const last = usage ?? { output_tokens: 2 };
  values.push({
    type: 'message_delta',
    delta: { stop_reason: stop, stop_sequence, stop_details },
    usage: last,
  });
  values.push({ type: 'message_stop' });
  return values.map((value) => `event: ${value.type as string}\ndata: ${JSON.stringify(value)}\n\n`).join('');
}

/** What a client gets of a provider's whole answer. */
export function crossed(
  client: ProtocolName,
  provider: ProtocolName,
  value: JsonObject,
  over: Partial<GenerationRequest> = {},
): JsonObject {
  return protocols[client].client.encodeReply(
    protocols[provider].provider.decodeReply(value),
    context(client, over),
  );
}

/** The data of the frames that a client gets of a provider's stream; `[DONE]` is left out. */
export function crossedStream(
  client: ProtocolName,
  provider: ProtocolName,
  stream: string,
  over: Partial<GenerationRequest> = {},
): JsonObject[] {
  return written(client, eventsIn(provider, stream), over)
    .split('\n\n')
    .map((frame) => frame.slice(frame.indexOf('data: ') + 6))
    .filter((data) => data !== '' && data !== '[DONE]')
    .map((data) => JSON.parse(data) as JsonObject);
}
