// Small builders for the tests of this folder.
import type { StreamEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { GenerationRequest } from '../../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../src/canonical/traits.ts';
import type { Ids } from '../../../src/ids.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import type { ReplyContext } from '../../../src/protocols/interface/answer.ts';
import { makeFrame, type Frame } from '../../../src/protocols/sse/frame.ts';

export const ids: Ids = { random: (length) => 'x'.repeat(length) };

export function frameOf(event: string, data: string): Frame {
  return makeFrame(event, data);
}

/** A frame as providers write it: the event's name is its type. */
export function frame(value: JsonObject): Frame {
  return frameOf(typeof value.type === 'string' ? value.type : '', JSON.stringify(value));
}

/** The frames of a text that an encoder wrote. */
export function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split('\n');
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '';
      return frameOf(field('event'), field('data'));
    });
}

export function dataOf(text: string): JsonObject[] {
  return framesOf(text).map((item) => JSON.parse(item.data) as JsonObject);
}

export function decodeAll(values: readonly JsonObject[], clean = true): StreamEvent[] {
  const decoder = messages.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
  return [...values.flatMap((value) => decoder.push(frame(value))), ...decoder.finish(clean)];
}

export function chatRequest(request: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    protocol: 'chat',
    model: 'm',
    stream: false,
    includeUsage: false,
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
    maxOutputTokens: 1000,
    native: [],
    ...request,
  };
}

export function context(request: Partial<GenerationRequest> = {}): ReplyContext {
  return {
    ids,
    created: 1,
    now: () => 1_700_000_000_000,
    request: chatRequest(request),
    elapsed: () => 0,
    estimateInput: () => 7,
  };
}

export function encodeAll(events: readonly StreamEvent[], request: Partial<GenerationRequest> = {}): string {
  const encoder = messages.client.createStreamEncoder(context(request));
  return events.map((event) => encoder.push(event)).join('');
}

export function encode(request: Partial<GenerationRequest> = {}, traits: Partial<Traits> = {}) {
  return messages.provider.encodeRequest(chatRequest(request), 'target', { ...DEFAULT_TRAITS, ...traits });
}

/** Warnings as `effect field`, for tables. */
export function warningsOf(encoded: ReturnType<typeof encode>): string[] {
  return encoded.warnings.map(
    ({ effect, field }) => `${effect} ${typeof field === 'string' ? field : field.path}`,
  );
}
