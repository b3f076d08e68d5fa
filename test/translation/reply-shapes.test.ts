// The whole shape of what clients get: the members that the real services send, with a null where those send one, and without
// what those leave out, as validators of readers refuse a null there. `satisfies` holds the names to the SDKs.
import type { Message, RawMessageDeltaEvent } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { chunks, completion, crossed, crossedStream, events, message } from './answers.ts';
import { context, ids } from './pipeline.ts';

const ID = ids.random(24);

/** What a server says of itself, and no client of the other protocol is to see. */
const VENDOR: JsonObject = {
  ...{ system_fingerprint: 'fp_1', provider: 'x', x_groq: { id: 'x' }, timings: { prompt_ms: 1 } },
};

const PROMPT = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const SAID = {
  content: 'hi',
  reasoning_content: 'hm',
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } },
  ],
};

describe('a messages client', () => {
  const usage = {
    ...{ input_tokens: 5, output_tokens: 2 },
    ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  } satisfies Partial<Message['usage']>;
  const whole = {
    ...{ id: `msg_${ID}`, type: 'message', role: 'assistant', model: 'm' },
    content: [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'hi' },
      { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } },
      { type: 'tool_use', id: 'call_2', name: 'g', input: {}, caller: { type: 'direct' } },
    ],
    ...{ stop_reason: 'tool_use', stop_sequence: null, stop_details: null },
    usage,
  } satisfies Partial<{ [name in keyof Message]: unknown }>;

  it('has the members that the service writes into a whole message', () => {
    const value = completion(SAID, 'tool_calls', { ...VENDOR, usage: PROMPT });
    expect(crossed('messages', 'chat', value)).toEqual(whole);
  });

  it('has those that it writes into each event of a stream', () => {
    const said = { ...SAID, tool_calls: SAID.tool_calls.slice(0, 1) };
    const frames = crossedStream(
      'messages',
      'chat',
      chunks(said, 'tool_calls', { ...VENDOR, usage: PROMPT }),
    );
    const [thinking, text, call] = whole.content;
    const delta = {
      ...{ stop_reason: 'tool_use', stop_sequence: null, stop_details: null },
    } satisfies Partial<RawMessageDeltaEvent.Delta>;
    expect(frames).toEqual([
      {
        type: 'message_start',
        message: {
          ...{ ...whole, content: [], stop_reason: null },
          usage: { ...usage, input_tokens: 7, output_tokens: 1 },
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { ...thinking, thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: '' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { ...text, text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'hi' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { ...call, input: {} } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
      { type: 'content_block_stop', index: 2 },
      { type: 'message_delta', delta, usage },
      { type: 'message_stop' },
    ]);
  });

  it('of a legal empty answer has a message without content', () => {
    expect(crossed('messages', 'chat', completion({ content: '' }, 'stop'))).toMatchObject({
      content: [],
      stop_reason: 'end_turn',
    });
    const types = crossedStream('messages', 'chat', chunks({ content: '' }, 'stop')).map(({ type }) => type);
    expect(types).toEqual(['message_start', 'ping', 'message_delta', 'message_stop']);
  });
});

const BLOCKS: JsonObject[] = [
  { type: 'thinking', thinking: 'hm', signature: 's' },
  { type: 'text', text: 'hi' },
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } },
  { type: 'tool_use', id: 'toolu_2', name: 'g', input: {}, caller: { type: 'direct' } },
];

const DETAIL = {
  ...{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 },
};

interface Extensions {
  reasoning_content?: string;
  reasoning_details?: object[];
  thinking_blocks?: object[];
}

describe('a chat client', () => {
  const usage: NonNullable<ChatCompletion['usage']> = {
    ...PROMPT,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const tools = [
    { id: 'toolu_1', type: 'function' as const, function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'toolu_2', type: 'function' as const, function: { name: 'g', arguments: '{}' } },
  ];
  const body = (choice: ChatCompletion.Choice): ChatCompletion => ({
    ...{ id: `chatcmpl-${ID}`, object: 'chat.completion', created: context('chat').created, model: 'm' },
    choices: [choice],
    usage,
  });

  it('has every member of a whole completion', () => {
    const value = message(BLOCKS, 'tool_use', { container: { id: 'c' }, diagnostics: null });
    const choice: ChatCompletion.Choice = {
      index: 0,
      message: {
        ...{ role: 'assistant', content: 'hi', refusal: null, tool_calls: tools },
        ...{ reasoning_content: 'hm', reasoning_details: [DETAIL], thinking_blocks: [BLOCKS[0]] },
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    };
    expect(crossed('chat', 'messages', value)).toEqual(body(choice));
  });

  it('has a null for content where there are calls alone, and text where there is nothing', () => {
    const only = (blocks: JsonObject[], stop: string) =>
      (crossed('chat', 'messages', message(blocks, stop)).choices as JsonObject[])[0]?.message;
    expect(only(BLOCKS.slice(2), 'tool_use')).toEqual({
      ...{ role: 'assistant', content: null, refusal: null, tool_calls: tools },
    });
    expect(only([], 'end_turn')).toEqual({ role: 'assistant', content: '', refusal: null });
  });

  it('has every member in each chunk of a stream, and the same id, time and model', () => {
    const stream = events(BLOCKS, 'tool_use');
    const choice = (
      delta: ChatCompletionChunk.Choice.Delta & Extensions,
      finish_reason: ChatCompletionChunk.Choice['finish_reason'] = null,
    ): ChatCompletionChunk.Choice => ({ index: 0, delta, logprobs: null, finish_reason });
    const head = {
      ...{ id: `chatcmpl-${ID}`, object: 'chat.completion.chunk' as const },
      ...{ created: context('chat').created, model: 'm' },
    };
    const call = (index: number, id: string, name: string) => ({
      tool_calls: [{ index, id, type: 'function' as const, function: { name, arguments: '' } }],
    });
    const args = (index: number, text: string) => ({
      tool_calls: [{ index, function: { arguments: text } }],
    });
    const choices = [
      choice({ role: 'assistant', content: '', refusal: null }),
      choice({ reasoning_content: 'hm' }),
      choice({ reasoning_details: [DETAIL] }),
      choice({ content: 'hi' }),
      choice(call(0, 'toolu_1', 'f')),
      choice(args(0, '{"a":1}')),
      choice(call(1, 'toolu_2', 'g')),
      choice(args(1, '{}')),
      choice({ thinking_blocks: BLOCKS.slice(0, 1) }),
      choice({}, 'tool_calls'),
    ];
    const expected: ChatCompletionChunk[] = choices.map((item) => ({ ...head, choices: [item] }));
    expect(crossedStream('chat', 'messages', stream, { includeUsage: false })).toEqual(expected);
    expect(crossedStream('chat', 'messages', stream)).toEqual([
      ...expected.map((item) => ({ ...item, usage: null })),
      { ...head, choices: [], usage },
    ]);
  });
});

describe('what a provider says of an answer', () => {
  it('stays where the client speaks the same protocol: its id, its time, its model', () => {
    const value = completion({ content: 'hi' }, 'stop');
    expect(crossed('chat', 'chat', value)).toMatchObject({ id: 'chatcmpl-1', created: 5, model: 'm' });
    const [first] = crossedStream('chat', 'chat', chunks({ content: 'hi' }, 'stop'));
    expect(first).toMatchObject({ id: 'chatcmpl-1', created: 5, model: 'm' });
    const hi = [{ type: 'text', text: 'hi' }];
    expect(crossed('messages', 'messages', message(hi, 'end_turn'))).toMatchObject({ id: 'msg_1' });
    const [start] = crossedStream('messages', 'messages', events(hi, 'end_turn'));
    expect(start).toHaveProperty('message.id', 'msg_1');
  });

  it('is read of the first choice alone, wherever it stands', () => {
    const choice = (index: number | undefined, content: string): JsonObject => ({
      ...(index !== undefined && { index }),
      message: { role: 'assistant', content },
      finish_reason: index === 1 ? 'length' : 'stop',
    });
    for (const choices of [
      [choice(1, 'second'), choice(0, 'first')],
      [choice(0, 'first'), choice(1, 'second')],
      [choice(undefined, 'first')],
    ]) {
      expect(crossed('messages', 'chat', completion({}, '', { choices }))).toMatchObject({
        content: [{ text: 'first' }],
        stop_reason: 'end_turn',
      });
    }
  });

  it('in the legacy form is one call, and none beside calls of today', () => {
    const legacy = { function_call: { name: 'f', arguments: '{"a":1}' } };
    const names = (said: JsonObject) =>
      (crossed('messages', 'chat', completion(said, 'function_call')).content as JsonObject[]).map(
        ({ name }) => name,
      );
    expect(names(legacy)).toEqual(['f']);
    const { tool_calls } = { tool_calls: [{ id: 'a', function: { name: 'g', arguments: '{}' } }] };
    expect(names({ ...legacy, tool_calls })).toEqual(['g']);
  });
});
