// Frames and streams for the tests of this folder, written as a provider would.
import type { StreamEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import type { GenerationRequest } from '../../../src/canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import { chat } from '../../../src/protocols/chat/index.ts';
import type { ReplyContext } from '../../../src/protocols/interface/answer.ts';
import { BytesFrame, makeFrame, type Frame } from '../../../src/protocols/sse/frame.ts';

export function frame(data: unknown, event = ''): Frame {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return makeFrame(event, text);
}

const COMMENT = Buffer.from(': waiting\n\n');
export const comment: Frame = new BytesFrame(COMMENT, undefined, 0, COMMENT.length, false);

export const DONE = '[DONE]';

/** A chunk with one choice. */
export function chunk(delta: JsonObject, rest: JsonObject = {}): JsonObject {
  const { finish_reason = null, ...top } = rest;
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'm-1',
    choices: [{ index: 0, delta, finish_reason }],
    ...top,
  };
}

export function finish(reason: string, rest: JsonObject = {}): JsonObject {
  return chunk({}, { finish_reason: reason, ...rest });
}

/** Ids that count, so that tests can predict them. */
export function countingIds() {
  let count = 0;
  return { random: (length: number) => String(++count).padStart(length, '0') };
}

export function decode(input: readonly unknown[], clean = true): StreamEvent[] {
  const decoder = chat.provider.createStreamDecoder({ ids: countingIds(), traits: DEFAULT_TRAITS });
  const events = input.flatMap((data) => decoder.push(frame(data)));
  events.push(...decoder.finish(clean));
  return events;
}

export function context(over: Partial<GenerationRequest> = {}): ReplyContext {
  const request: GenerationRequest = {
    protocol: 'chat',
    model: 'asked',
    stream: true,
    includeUsage: false,
    messages: [],
    native: [],
    ...over,
  };
  return {
    ids: countingIds(),
    created: 1_700_000_001,
    now: () => 0,
    request,
    elapsed: () => 0,
    estimateInput: () => 7,
  };
}

export function encode(events: readonly StreamEvent[], over: Partial<GenerationRequest> = {}): string {
  const encoder = chat.client.createStreamEncoder(context(over));
  return events.map((event) => encoder.push(event)).join('');
}

/** The data of each frame of a written stream. */
export function datas(stream: string): (JsonObject | string)[] {
  return stream
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      const data = part.slice('data: '.length);
      return data === DONE ? data : (JSON.parse(data) as JsonObject);
    });
}
