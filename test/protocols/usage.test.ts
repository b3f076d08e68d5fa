// Tokens, from every form in which providers tell them to the client's, whole and streamed (PROTOCOL 3.4).
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { chunks, completion, crossed, crossedStream, events, message } from './answers.ts';
import { BOTH } from './pipeline.ts';

const HI = [{ type: 'text', text: 'hi' }];

/** A provider's usage, and what a client of the other protocol reads in its own. */
const TO_MESSAGES: [form: string, told: JsonObject, read: JsonObject][] = [
  [
    'plain counts',
    { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
    { input_tokens: 10, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  ],
  [
    "OpenAI's cache, read and written, which the prompt includes",
    {
      ...{ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
    },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
  ],
  [
    "compatible servers' names of it",
    {
      ...{ prompt_tokens: 10, completion_tokens: 4 },
      ...{ cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
    },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
  ],
  [
    "DeepSeek's name of it",
    {
      ...{ prompt_tokens: 10, completion_tokens: 4 },
      ...{ prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 },
    },
    { input_tokens: 4, output_tokens: 4, cache_read_input_tokens: 6 },
  ],
  [
    'the details before the other names',
    {
      ...{ prompt_tokens: 10, completion_tokens: 4 },
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 1 },
      ...{ cache_read_input_tokens: 7, cache_creation_input_tokens: 3, prompt_cache_hit_tokens: 8 },
    },
    { input_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 1 },
  ],
  [
    'a cache that the prompt does not include',
    { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
    { input_tokens: 0, output_tokens: 4, cache_read_input_tokens: 5 },
  ],
  [
    'reasoning within the output',
    { prompt_tokens: 10, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 3 } },
    { output_tokens: 4, output_tokens_details: { thinking_tokens: 3 } },
  ],
  [
    'reasoning beside the output, which the total alone shows',
    { prompt_tokens: 10, completion_tokens: 4, total_tokens: 20 },
    { input_tokens: 10, output_tokens: 10 },
  ],
  ['a total in place of the output', { prompt_tokens: 10, total_tokens: 14 }, { output_tokens: 4 }],
];

const TO_CHAT: [form: string, told: JsonObject, read: JsonObject][] = [
  [
    'plain counts',
    { input_tokens: 10, output_tokens: 4 },
    {
      ...{ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  ],
  [
    'what was read from the cache and written to it, as part of the prompt',
    {
      ...{ input_tokens: 3, output_tokens: 4 },
      ...{ cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
      output_tokens_details: { thinking_tokens: 3 },
    },
    {
      ...{ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  ],
];

describe('a messages client reads', () => {
  it.each(TO_MESSAGES)('%s', (_, usage, read) => {
    expect(crossed('messages', 'chat', completion({ content: 'hi' }, 'stop', { usage })).usage).toMatchObject(
      read,
    );
    const last = crossedStream('messages', 'chat', chunks({ content: 'hi' }, 'stop', { usage })).at(-2);
    expect(last?.usage).toMatchObject(read);
  });

  it('an estimate where nothing was told: zeros make agents show an empty context', () => {
    const call = {
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'name', arguments: '{"abcd":12345}' } }],
    };
    for (const usage of [undefined, null, { prompt_tokens: 0, completion_tokens: 0 }]) {
      const over: JsonObject = usage === undefined ? {} : { usage };
      expect(crossed('messages', 'chat', completion(call, 'stop', over)).usage).toMatchObject({
        input_tokens: 7,
        output_tokens: 5,
      });
      const streamed = crossedStream('messages', 'chat', chunks(call, 'stop', over));
      expect(streamed[0]).toMatchObject({ message: { usage: { input_tokens: 7, output_tokens: 1 } } });
      expect(streamed.at(-2)?.usage).toMatchObject({ input_tokens: 7, output_tokens: 5 });
    }
  });
});

describe('a chat client reads', () => {
  it.each(TO_CHAT)('%s', (_, usage, read) => {
    expect(crossed('chat', 'messages', message(HI, 'end_turn', { usage })).usage).toEqual(read);
    const last = crossedStream('chat', 'messages', events(HI, 'end_turn', { usage })).at(-1);
    expect(last).toMatchObject({ choices: [], usage: read });
  });

  it('nothing where nothing was told', () => {
    expect(crossed('chat', 'messages', message(HI, 'end_turn', { usage: {} }))).not.toHaveProperty('usage');
    const streamed = crossedStream('chat', 'messages', events(HI, 'end_turn', { usage: {} }));
    expect(streamed.filter(({ usage }) => usage !== null)).toEqual([]);
  });
});

describe('what was written to the cache for five minutes and for an hour', () => {
  const told = (split: JsonObject | null): JsonObject => ({
    ...{ input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 10 },
    cache_creation: split,
  });

  it('is told apart where the provider does', () => {
    const split = { ephemeral_5m_input_tokens: 6, ephemeral_1h_input_tokens: 4 };
    const usage = told(split);
    expect(crossed('messages', 'messages', message(HI, 'end_turn', { usage })).usage).toMatchObject(usage);
    const [start] = crossedStream('messages', 'messages', events(HI, 'end_turn', { usage }));
    expect(start).toMatchObject({ message: { usage: { ...usage, output_tokens: 1 } } });
  });

  it('is not made up where it does not', () => {
    for (const usage of [told(null), { input_tokens: 3, output_tokens: 4 }]) {
      const whole = crossed('messages', 'messages', message(HI, 'end_turn', { usage }));
      expect(whole.usage).not.toHaveProperty('cache_creation');
      const [start] = crossedStream('messages', 'messages', events(HI, 'end_turn', { usage }));
      expect(start).not.toHaveProperty('message.usage.cache_creation');
    }
  });
});

it('later counts of a messages stream take the place of earlier ones, and a null of none', () => {
  const frames = events(HI, 'end_turn', {
    usage: {
      ...{ input_tokens: 3, output_tokens: 4 },
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 2,
    },
  }).replace(
    /("type":"message_delta".*"usage":)\{[^}]*\}/,
    '$1{"input_tokens":null,"output_tokens":9,"cache_read_input_tokens":null,"cache_creation_input_tokens":null}',
  );
  expect(crossedStream('chat', 'messages', frames).at(-1)?.usage).toMatchObject({
    ...{ prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 },
    prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
  });
});

describe('the tier that served', () => {
  /** The provider's word, and a client's of the other protocol. */
  const TIERS: ['chat' | 'messages', string, string | undefined][] = [
    ['chat', 'standard', 'default'],
    ['chat', 'priority', 'priority'],
    ['chat', 'batch', undefined],
    ['chat', 'some_new_word', undefined],
    ['messages', 'default', 'standard'],
    ['messages', 'priority', 'priority'],
    ['messages', 'flex', undefined],
    ['messages', 'scale', undefined],
    ['messages', 'some_new_word', undefined],
  ];

  it.each(TIERS)('for a %s client, %s, is %s', (client, told, read) => {
    if (client === 'messages') {
      const over = { service_tier: told };
      const { usage } = crossed('messages', 'chat', completion({ content: 'hi' }, 'stop', over));
      expect((usage as JsonObject).service_tier).toBe(read);
      const [start] = crossedStream('messages', 'chat', chunks({ content: 'hi' }, 'stop', over));
      expect(((start?.message as JsonObject).usage as JsonObject).service_tier).toBe(read);
      return;
    }
    const usage = { input_tokens: 3, output_tokens: 4, service_tier: told };
    expect(crossed('chat', 'messages', message(HI, 'end_turn', { usage })).service_tier).toBe(read);
    const [first] = crossedStream('chat', 'messages', events(HI, 'end_turn', { usage }));
    expect(first?.service_tier).toBe(read);
  });
});

it.each(['auto', 'default', 'flex', 'scale', 'priority'])('the tier %s of chat stays one of chat', (tier) => {
  const over = { service_tier: tier };
  expect(crossed('chat', 'chat', completion({ content: 'hi' }, 'stop', over)).service_tier).toBe(tier);
});

describe.each(BOTH)('the usage of a %s provider is read without decoding the reply', (provider) => {
  const [form] = provider === 'chat' ? TO_MESSAGES : TO_CHAT;
  it(String(form?.[0]), () => {
    const usage = form?.[1] ?? {};
    const body =
      provider === 'chat'
        ? completion({ content: 'hi' }, 'stop', { usage })
        : message(HI, 'end_turn', { usage });
    expect(protocols[provider].inspectReply(body)).toEqual({
      usage: expect.objectContaining({ input: 10, output: 4 }) as unknown,
    });
  });
});
