// Frames of a provider of this protocol, as it or a careless server writes them.
import type { StreamEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { responses } from '../../../src/protocols/responses/index.ts';
import { createSplitter, type Frame } from '../../../src/protocols/sse/splitter.ts';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';

export const CREATED = event('response.created', {
  response: {
    id: 'resp_1',
    object: 'response',
    model: 'm',
    created_at: 5,
    status: 'in_progress',
    output: [],
  },
});

export function event(type: string, members: JsonObject = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** The same with nothing but its data. */
export function bare(type: string, members: JsonObject = {}): string {
  return `data: ${JSON.stringify({ type, ...members })}\n\n`;
}

export function completed(output: JsonObject[] = [], over: JsonObject = {}): string {
  const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
  return event('response.completed', {
    response: { id: 'resp_1', model: 'm', status: 'completed', output, usage, ...over },
  });
}

export function message(words: string): JsonObject {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  };
}

export function call(args: string, over: JsonObject = {}): JsonObject {
  return { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: args, ...over };
}

export function added(item: JsonObject, output_index = 0): string {
  return event('response.output_item.added', { output_index, item });
}

export function done(item: JsonObject, output_index = 0): string {
  return event('response.output_item.done', { output_index, item });
}

export function textDelta(delta: string, over: JsonObject = {}): string {
  return event('response.output_text.delta', {
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta,
    ...over,
  });
}

export function framesOf(stream: string): Frame[] {
  const splitter = createSplitter({ maxFrame: 1 << 20 });
  return [...splitter.push(Buffer.from(stream)), ...splitter.finish()];
}

export function decoded(stream: string, clean = true): StreamEvent[] {
  const ids = { random: (length: number) => 'x'.repeat(length) };
  const decoder = responses.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
  return [...framesOf(stream).flatMap((frame) => decoder.push(frame)), ...decoder.finish(clean)];
}
