// Tokens, from every form in which providers tell them to the client's, whole and streamed.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { chunks, completion, crossed, crossedStream, events, message } from './answers.ts';
import { BOTH, mover, send } from './pipeline.ts';

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
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
    },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
  ],
  [
    "compatible servers' names of it",
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 2,
    },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
  ],
  [
    "DeepSeek's name of it",
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_cache_hit_tokens: 6,
      prompt_cache_miss_tokens: 4,
    },
    { input_tokens: 4, output_tokens: 4, cache_read_input_tokens: 6 },
  ],
  [
    'the details before the other names',
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 1 },
      cache_read_input_tokens: 7,
      cache_creation_input_tokens: 3,
      prompt_cache_hit_tokens: 8,
    },
    { input_tokens: 4, cache_read_input_tokens: 5, cache_creation_input_tokens: 1 },
  ],
  [
    'a cache that the prompt does not include',
    { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
    { input_tokens: 0, output_tokens: 4, cache_read_input_tokens: 5 },
  ],
  [
    'what was written to the cache and read from it at once, counted once',
    {
      prompt_tokens: 2168,
      completion_tokens: 100,
      total_tokens: 2268,
      prompt_tokens_details: { cached_tokens: 2161, cache_write_tokens: 2161 },
    },
    { input_tokens: 7, cache_read_input_tokens: 2161, cache_creation_input_tokens: 0, output_tokens: 100 },
  ],
  [
    'a part of the cache that was written and read at once',
    {
      prompt_tokens: 100,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 40 },
    },
    { input_tokens: 10, cache_read_input_tokens: 90, cache_creation_input_tokens: 0 },
  ],
  [
    "Moonshot's name of the cache",
    { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24, cached_tokens: 10 },
    { input_tokens: 10, output_tokens: 4, cache_read_input_tokens: 10 },
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

/** A call beside the answer itself, which the counts above it leave out. */
const beside = (type: string, input: number, output: number): JsonObject => ({
  type,
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: 1,
  cache_creation_input_tokens: 0,
});

const TO_CHAT: [form: string, told: JsonObject, read: JsonObject][] = [
  [
    'plain counts',
    { input_tokens: 10, output_tokens: 4 },
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  ],
  [
    'what was read from the cache and written to it, as part of the prompt',
    {
      input_tokens: 3,
      output_tokens: 4,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 2,
      output_tokens_details: { thinking_tokens: 3 },
    },
    {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  ],
  ...(['compaction', 'advisor_message'] as const).map((type): (typeof TO_CHAT)[number] => [
    `a call of type ${type} as part of what was paid for`,
    {
      input_tokens: 682,
      output_tokens: 1320,
      cache_read_input_tokens: 2,
      iterations: [
        beside('message', 600, 1300),
        beside(type, 60_385, 592),
        beside('message', 82, 20),
        beside('fallback_message', 5, 5),
        null,
      ],
    },
    {
      prompt_tokens: 61_070,
      completion_tokens: 1912,
      total_tokens: 62_982,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  ]),
];

describe('a messages client reads', () => {
  it.each(TO_MESSAGES)('%s', (_, usage, read) => {
    expect(crossed('messages', 'chat', completion({ content: 'hi' }, 'stop', { usage })).usage).toMatchObject(
      read,
    );
    const last = crossedStream('messages', 'chat', chunks({ content: 'hi' }, 'stop', { usage })).at(-2);
    expect(last?.usage).toMatchObject(read);
  });

  it('an estimate where the provider sends none: zeros make agents show an empty context', () => {
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

  it('nothing where the provider sends none', () => {
    expect(crossed('chat', 'messages', message(HI, 'end_turn', { usage: {} }))).not.toHaveProperty('usage');
    const streamed = crossedStream('chat', 'messages', events(HI, 'end_turn', { usage: {} }));
    expect(streamed.filter(({ usage }) => usage !== null)).toEqual([]);
  });
});

describe('a responses client reads', () => {
  const whole = (usage: JsonObject) => message(HI, 'end_turn', { usage });
  const last = (stream: JsonObject[]) => (stream.at(-1)?.response as JsonObject).usage;

  it.each(TO_CHAT)('of a messages provider %s', (_, usage, read) => {
    const { prompt_tokens_details: prompt, completion_tokens_details: completion } = read;
    const expected = {
      input_tokens: read.prompt_tokens,
      input_tokens_details: { cached_tokens: (prompt as JsonObject).cached_tokens },
      output_tokens: read.completion_tokens,
      output_tokens_details: completion,
      total_tokens: read.total_tokens,
    };
    expect(crossed('responses', 'messages', whole(usage)).usage).toMatchObject(expected);
    expect(last(crossedStream('responses', 'messages', events(HI, 'end_turn', { usage })))).toMatchObject(
      expected,
    );
  });

  it.each(TO_MESSAGES)('of a chat provider %s', (_, usage) => {
    const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = crossed(
      'messages',
      'chat',
      completion({ content: 'hi' }, 'stop', { usage }),
    ).usage as Record<string, number>;
    const input = (input_tokens ?? 0) + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0);
    const expected = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cache_read_input_tokens },
      output_tokens,
      total_tokens: input + (output_tokens ?? 0),
    };
    const answer = completion({ content: 'hi' }, 'stop', { usage });
    expect(crossed('responses', 'chat', answer).usage).toMatchObject(expected);
    const streamed = crossedStream('responses', 'chat', chunks({ content: 'hi' }, 'stop', { usage }));
    expect(last(streamed)).toMatchObject(expected);
  });
});

describe('what was written to the cache for five minutes and for an hour', () => {
  const told = (split: JsonObject | null): JsonObject => ({
    input_tokens: 3,
    output_tokens: 4,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 10,
    cache_creation: split,
  });

  it('is counted separately where the provider does so', () => {
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
      input_tokens: 3,
      output_tokens: 4,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 2,
    },
  }).replace(
    /("type":"message_delta".*"usage":)\{[^}]*\}/,
    '$1{"input_tokens":null,"output_tokens":9,"cache_read_input_tokens":null,"cache_creation_input_tokens":null}',
  );
  expect(crossedStream('chat', 'messages', frames).at(-1)?.usage).toMatchObject({
    prompt_tokens: 10,
    completion_tokens: 9,
    total_tokens: 19,
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

describe('calls beside the answer', () => {
  const told = (output: number) => ({
    input_tokens: 10,
    output_tokens: output,
    iterations: [beside('compaction', 1000, 50)],
  });

  it('are counted once, however often a stream tells them', () => {
    const [start, last] = [told(1), told(4)];
    const frames = events(HI, 'end_turn', { usage: last }).replace(
      /("type":"message_start".*"usage":)\{.*?\]\}/,
      `$1${JSON.stringify(start)}`,
    );
    expect(crossedStream('chat', 'messages', frames).at(-1)?.usage).toMatchObject({
      prompt_tokens: 1011,
      completion_tokens: 54,
    });
  });

  it('are recorded of a relayed answer', () => {
    const usage = { input: 1010, cacheRead: 1, cacheWrite: 0, output: 54 };
    expect(protocols.messages.relay.inspectReply(message(HI, 'end_turn', { usage: told(4) }))).toEqual({
      usage,
    });
    const to = mover('messages', 'messages');
    expect(send([Buffer.from(events(HI, 'end_turn', { usage: told(4) }))], to).complete).toBe(true);
    expect(to.usage()).toEqual(usage);
  });

  it('of a paused turn are added up as well', () => {
    const first = message(HI, 'pause_turn', { usage: told(4) });
    const joined = protocols.messages.provider.pausing?.join(
      first,
      message(HI, 'end_turn', { usage: told(6) }),
    );
    expect(joined && protocols.messages.provider.decodeReply(joined).usage).toMatchObject({
      input: 2020,
      output: 110,
    });
  });
});

describe("usage that stands in a choice, where Moonshot's streams have it", () => {
  const usage = { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24, cached_tokens: 10 };
  const read = { input: 10, cacheRead: 10, output: 4 };
  const stream = chunks({ content: 'hi' }, 'stop').replace(
    '"finish_reason":"stop"',
    `"finish_reason":"stop","usage":${JSON.stringify(usage)}`,
  );

  it('is translated', () => {
    const last = crossedStream('messages', 'chat', stream).at(-2);
    expect(last?.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 10, output_tokens: 4 });
    const choice = { index: 0, message: { content: 'hi' }, finish_reason: 'stop', usage };
    const whole = completion({}, '', { choices: [choice] });
    expect(protocols.chat.provider.decodeReply(whole).usage).toEqual(read);
    expect(protocols.chat.relay.inspectReply(whole)).toEqual({ usage: read });
  });

  it('is recorded of a relayed stream', () => {
    const to = mover('chat', 'chat');
    expect(send([Buffer.from(stream)], to)).toEqual({ text: stream, complete: true });
    expect(to.usage()).toEqual(read);
  });

  it('is not taken before the usage of the answer', () => {
    const both = { ...usage, prompt_tokens: 30 };
    const whole = completion({}, '', {
      choices: [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop', usage }],
      usage: both,
    });
    expect(protocols.chat.provider.decodeReply(whole).usage?.input).toBe(20);
  });
});

describe.each(BOTH)('the usage of a %s provider is read without decoding the reply', (provider) => {
  const [form] = provider === 'chat' ? TO_MESSAGES : TO_CHAT;
  it(String(form?.[0]), () => {
    const usage = form?.[1] ?? {};
    const body =
      provider === 'chat'
        ? completion({ content: 'hi' }, 'stop', { usage })
        : message(HI, 'end_turn', { usage });
    expect(protocols[provider].relay.inspectReply(body)).toEqual({
      usage: expect.objectContaining({ input: 10, output: 4 }) as unknown,
    });
  });
});
