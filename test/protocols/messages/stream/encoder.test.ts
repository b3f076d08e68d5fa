// What is written to messages clients, and what their official reader makes of it.
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCollector } from '../../../../src/canonical/collect.ts';
import type { StreamEvent } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { FailureKind } from '../../../../src/errors.ts';
import { DEFAULT_TRAITS } from '../../../../src/canonical/traits.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { context, dataOf, encodeAll, framesOf } from '../support.ts';

const START: StreamEvent = { type: 'start', id: 'chatcmpl-1', model: 'gpt', usage: { input: 11, output: 0 } };
const END: StreamEvent = {
  type: 'end',
  stop: { reason: 'end' },
  usage: { input: 11, cacheRead: 2, output: 4, reasoning: 1 },
};

/** The official reader on a stream that was written here. */
async function read(text: string): Promise<Anthropic.Message> {
  const client = new Anthropic({
    apiKey: 'k',
    baseURL: 'http://127.0.0.1:1',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  });
  const stream = client.messages.stream({
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'x' }],
  });
  return stream.finalMessage();
}

function types(text: string): string[] {
  return dataOf(text).map((value) => {
    const block = value.content_block as JsonObject | undefined;
    const delta = value.delta as JsonObject | undefined;
    const inner = block?.type ?? delta?.type;
    return typeof inner === 'string'
      ? `${value.type as string} ${value.index as number} ${inner}`
      : (value.type as string);
  });
}

function tool(index: number, id: string, name: string): StreamEvent {
  return { type: 'tool_start', index, id, name };
}

describe('a written stream', () => {
  it('starts with the whole message, its nulls and a ping, and holds back until content comes', () => {
    const encoder = messages.client.createStreamEncoder(context());
    expect(encoder.push(START)).toBe('');
    expect(encoder.push({ type: 'text_start', index: 0 })).toBe('');
    const [start, ping] = dataOf(encoder.push({ type: 'text_delta', index: 0, text: 'a' }));
    expect(start).toEqual({
      type: 'message_start',
      message: {
        id: `msg_${'x'.repeat(24)}`,
        type: 'message',
        role: 'assistant',
        model: 'gpt',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: {
          input_tokens: 11,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 1,
        },
      },
    });
    expect(ping).toEqual({ type: 'ping' });
  });

  it('names each event in its frame', () => {
    const text = encodeAll([
      START,
      { type: 'text_start', index: 0 },
      { type: 'text_delta', index: 0, text: 'a' },
      END,
    ]);
    for (const frame of framesOf(text)) expect(frame.event).toBe((JSON.parse(frame.data) as JsonObject).type);
  });

  it('ends with the cumulative usage, and with message_stop', () => {
    expect(dataOf(encodeAll([START, END])).slice(-2)).toEqual([
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
        usage: {
          input_tokens: 11,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 2,
          output_tokens: 4,
          output_tokens_details: { thinking_tokens: 1 },
        },
      },
      { type: 'message_stop' },
    ]);
    expect(types(encodeAll([START, END]))).toEqual([
      'message_start',
      'ping',
      'message_delta',
      'message_stop',
    ]);
  });

  it('estimates usage that the provider left out, instead of zeros', () => {
    const text = encodeAll([
      { type: 'start', id: 'a', model: 'b' },
      { type: 'text_start', index: 0 },
      { type: 'text_delta', index: 0, text: 'twelve chars' },
      { type: 'end', stop: { reason: 'end' } },
    ]);
    const values = dataOf(text);
    expect(values[0]).toMatchObject({ message: { usage: { input_tokens: 7, output_tokens: 1 } } });
    expect(values.at(-2)).toMatchObject({ usage: { input_tokens: 7, output_tokens: 3 } });
    const cut = dataOf(encodeAll([START, { type: 'end', stop: { reason: 'end' } }]));
    expect(cut.at(-2)).toMatchObject({ usage: { input_tokens: 11 } });
  });

  it('keeps only one block open: a second call waits and goes out in one piece', () => {
    const text = encodeAll([
      START,
      tool(0, 'a', 'f'),
      { type: 'tool_delta', index: 0, text: '{"x"' },
      tool(1, 'b', 'g'),
      { type: 'tool_delta', index: 1, text: '{"y"' },
      { type: 'tool_delta', index: 0, text: ':1}' },
      { type: 'tool_delta', index: 1, text: ':2}' },
      { type: 'tool_end', index: 1 },
      { type: 'tool_end', index: 0 },
      { ...END, stop: { reason: 'tool_calls' } },
    ]);
    expect(types(text).slice(2)).toEqual([
      'content_block_start 0 tool_use',
      'content_block_delta 0 input_json_delta',
      'content_block_delta 0 input_json_delta',
      'content_block_stop',
      'content_block_start 1 tool_use',
      'content_block_delta 1 input_json_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('keeps text that came between calls until they are out, and drops nothing but white space alone', async () => {
    const message = await read(
      encodeAll([
        START,
        tool(0, 'a', 'f'),
        { type: 'text_start', index: 1 },
        { type: 'text_delta', index: 1, text: '\n ' },
        { type: 'text_delta', index: 1, text: 'done' },
        { type: 'tool_delta', index: 0, text: '{"x":1}' },
        { type: 'text_end', index: 1 },
        { type: 'text_start', index: 2 },
        { type: 'text_delta', index: 2, text: '\n' },
        { type: 'text_end', index: 2 },
        { type: 'tool_end', index: 0 },
        END,
      ]),
    );
    expect(message.content).toMatchObject([
      { type: 'tool_use', input: { x: 1 } },
      { type: 'text', text: '\n done' },
    ]);
    expect(message.stop_reason).toBe('tool_use');
  });

  it('signs thinking, with an empty signature where there is none, and hides what the client asked to hide', () => {
    const events: StreamEvent[] = [
      START,
      { type: 'reasoning_start', index: 0 },
      { type: 'reasoning_delta', index: 0, text: 'hm' },
      { type: 'reasoning_end', index: 0 },
      END,
    ];
    const deltas = (text: string) =>
      dataOf(text)
        .filter((value) => value.type === 'content_block_delta')
        .map((value) => value.delta);
    expect(deltas(encodeAll(events))).toEqual([
      { type: 'thinking_delta', thinking: 'hm' },
      { type: 'signature_delta', signature: '' },
    ]);
    expect(deltas(encodeAll(events, { reasoning: { hidden: true } }))).toEqual([
      { type: 'signature_delta', signature: '' },
    ]);
  });

  it('writes no empty block, which would be refused when it comes back', () => {
    const text = encodeAll([
      START,
      { type: 'text_start', index: 0 },
      { type: 'text_end', index: 0 },
      { type: 'reasoning_start', index: 1 },
      { type: 'reasoning_end', index: 1 },
      END,
    ]);
    expect(types(text)).toEqual(['message_start', 'ping', 'message_delta', 'message_stop']);
  });

  it('keeps the signature of thinking without text, and of thinking that had to wait for a call', () => {
    const signed = { type: 'signature_delta', signature: 's' };
    const bare: StreamEvent[] = [
      { type: 'reasoning_start', index: 0 },
      { type: 'reasoning_end', index: 0, signature: 's' },
    ];
    const deltas = (events: StreamEvent[]) => dataOf(encodeAll(events)).flatMap(({ delta }) => delta ?? []);
    expect(deltas([START, ...bare])).toEqual([signed]);
    const waiting: StreamEvent[] = [
      tool(0, 'a', 'f'),
      { type: 'reasoning_start', index: 1 },
      { type: 'reasoning_delta', index: 1, text: 'hm' },
      { type: 'reasoning_end', index: 1, signature: 's' },
      { type: 'tool_delta', index: 0, text: '{}' },
      { type: 'tool_end', index: 0 },
    ];
    expect(deltas([START, ...waiting])).toEqual([
      { type: 'input_json_delta', partial_json: '{}' },
      { type: 'thinking_delta', thinking: 'hm' },
      signed,
    ]);
  });

  it('closes what is open at the end, and writes nothing after it', () => {
    const open: StreamEvent[] = [
      START,
      { type: 'text_start', index: 0 },
      { type: 'text_delta', index: 0, text: 'a' },
      tool(1, 'a', 'f'),
      END,
    ];
    const written = types(encodeAll(open));
    expect(written.slice(-5)).toEqual([
      'content_block_stop',
      'content_block_start 1 tool_use',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const more: StreamEvent[] = [
      tool(2, 'b', 'g'),
      { type: 'error', failure: { kind: 'failed', message: 'x' } },
      END,
    ];
    expect(types(encodeAll([...open, ...more]))).toEqual(written);
  });

  it('writes no end after an error, and nothing after the end', () => {
    const encoder = messages.client.createStreamEncoder(context());
    const frames = [
      START,
      { type: 'text_start', index: 0 } as const,
      { type: 'text_delta', index: 0, text: 'a' } as const,
      { type: 'error', failure: { kind: 'overloaded', message: 'busy' } } as const,
      END,
    ].map((event) => encoder.push(event));
    expect(types(frames.join('')).at(-1)).toBe('error');
    expect(dataOf(frames.join('')).at(-1)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'busy' },
    });
    expect(frames.at(-1)).toBe('');
  });

  it('writes redacted thinking and blocks of its own protocol whole', async () => {
    const value = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { q: 'x' } };
    const message = await read(
      encodeAll([
        START,
        { type: 'redacted', index: 0, data: 'zzz' },
        {
          type: 'native',
          index: 1,
          part: { type: 'native', protocol: 'messages', kind: 'server_tool_use', value },
        },
        { type: 'native', index: 2, part: { type: 'native', protocol: 'chat', kind: 'audio', value: {} } },
        END,
      ]),
    );
    expect(message.content).toMatchObject([{ type: 'redacted_thinking', data: 'zzz' }, value]);
  });

  it('gives ids that this protocol takes', () => {
    const [, , start] = dataOf(encodeAll([START, tool(0, 'functions.Read:0', 'f')]));
    expect((start?.content_block as JsonObject).id).toMatch(/^[a-zA-Z0-9_-]+$/);
  });

  it('is a failed stream for the official reader where an error ends it', async () => {
    const text = encodeAll([
      START,
      tool(0, 'a', 'f'),
      { type: 'error', failure: { kind: 'failed', message: 'broke off' } },
    ]);
    await expect(read(text)).rejects.toThrow('broke off');
  });
});

type Block =
  { kind: 'text' | 'thinking'; pieces: string[] } | { kind: 'tool'; pieces: string[]; value: unknown };

const piece = fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' });
/** A blank text is left out, which is tested elsewhere. */
const isVisible = ({ pieces }: { pieces: string[] }): boolean => pieces.join('').trim() !== '';
const block: fc.Arbitrary<Block> = fc.oneof(
  fc
    .record({
      kind: fc.constantFrom('text' as const, 'thinking' as const),
      pieces: fc.array(piece, { minLength: 1, maxLength: 4 }),
    })
    .filter(isVisible),
  fc
    .tuple(
      fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(fc.string(), fc.integer())),
      fc.integer({ min: 1, max: 5 }),
    )
    .map(([value, size]): Block => {
      const text = JSON.stringify(value);
      return { kind: 'tool', value, pieces: text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [] };
    }),
);

/** Events of blocks; calls that stand side by side are interleaved by turns. */
function eventsOf(blocks: readonly Block[], interleave: boolean): StreamEvent[] {
  const events: StreamEvent[] = [START];
  const open: { index: number; rest: string[] }[] = [];
  const drain = () => {
    for (let more = true; more;) {
      more = false;
      for (const call of open) {
        const next = call.rest.shift();
        if (next === undefined) continue;
        more = true;
        events.push({ type: 'tool_delta', index: call.index, text: next });
      }
    }
    for (const call of open.splice(0)) events.push({ type: 'tool_end', index: call.index });
  };
  blocks.forEach(({ kind, pieces }, index) => {
    if (kind === 'tool') {
      events.push(tool(index, `call_${index}`, `f${index}`));
      open.push({ index, rest: [...pieces] });
      if (!interleave) drain();
      return;
    }
    drain();
    if (kind === 'text') {
      events.push({ type: 'text_start', index });
      for (const text of pieces) events.push({ type: 'text_delta', index, text });
      events.push({ type: 'text_end', index });
    } else {
      events.push({ type: 'reasoning_start', index });
      for (const text of pieces) events.push({ type: 'reasoning_delta', index, text });
      events.push({ type: 'reasoning_end', index, signature: 's' });
    }
  });
  drain();
  events.push(END);
  return events;
}

describe('any answer', () => {
  it('reaches the official reader whole, however its calls interleave', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 6 }), fc.boolean(), async (blocks, interleave) => {
        const message = await read(encodeAll(eventsOf(blocks, interleave)));
        const expected = blocks.map((item) => {
          if (item.kind === 'tool') return { type: 'tool_use', input: item.value };
          const text = item.pieces.join('');
          return item.kind === 'text'
            ? { type: 'text', text }
            : { type: 'thinking', thinking: text, signature: 's' };
        });
        expect(message.content).toHaveLength(expected.length);
        message.content.forEach((part, index) => {
          expect(JSON.parse(JSON.stringify(part))).toMatchObject(
            JSON.parse(JSON.stringify(expected[index])) as object,
          );
        });
      }),
      { numRuns: 60 },
    );
  });

  it('is the same after it was written and read again', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
        const events = eventsOf(blocks, false);
        const decoder = messages.provider.createStreamDecoder({ ids: context().ids, traits: DEFAULT_TRAITS });
        const again = framesOf(encodeAll(events)).flatMap((frame) => decoder.push(frame));
        const content = (list: readonly StreamEvent[]) => list.slice(1, -1);
        expect(content(again)).toEqual(content(events));
      }),
      { numRuns: 60 },
    );
  });

  it('is the same answer whole and streamed', () => {
    const collect = (events: readonly StreamEvent[]) => {
      const collector = createCollector();
      for (const event of events) collector.push(event);
      const result = collector.result();
      if ('failure' in result) throw new Error(result.failure.message);
      return result.reply;
    };
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), (blocks) => {
        const events = eventsOf(blocks, true);
        const whole = messages.provider.decodeReply(messages.client.encodeReply(collect(events), context()));
        const decoder = messages.provider.createStreamDecoder({ ids: context().ids, traits: DEFAULT_TRAITS });
        const streamed = collect(framesOf(encodeAll(events)).flatMap((frame) => decoder.push(frame)));
        expect(streamed).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a failure inside a stream', () => {
  it.each<[FailureKind, string]>([
    ['invalid_request', 'invalid_request_error'],
    ['provider_key', 'api_error'],
    ['rate_limited', 'overloaded_error'],
    ['timeout', 'api_error'],
  ])('of kind %s is a %s', (kind, type) => {
    const text = encodeAll([START, { type: 'error', failure: { kind, message: 'why' } }]);
    expect(dataOf(text)).toEqual([{ type: 'error', error: { type, message: 'why' } }]);
  });

  it('is a context overflow with its numbers', () => {
    const failure = { kind: 'context_overflow', message: 'x', tokens: { sent: 9, limit: 8 } } as const;
    expect(encodeAll([START, { type: 'error', failure }])).toContain(
      'prompt is too long: 9 tokens > 8 maximum',
    );
  });
});
