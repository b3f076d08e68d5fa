// Why an answer ended, from every word that a provider uses to the client's, whole and streamed.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { chunks, completion, crossed, crossedStream, events, message } from './answers.ts';
import { eventsIn } from './pipeline.ts';

const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const USE = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } };
const TEXT = { type: 'text', text: 'hi' };
const NONE = { stop_sequence: null, stop_details: null };

/** A chat provider's word and message, and the stop of a messages client. */
const TO_MESSAGES: [name: string, finish: string, message: JsonObject, stop: JsonObject][] = [
  ...[
    'stop',
    'eos',
    'end_turn',
    'completed',
    'tool_calls',
    'function_call',
    'pause_turn',
    'some_new_word',
  ].flatMap((finish): typeof TO_MESSAGES => [
    [`${finish} after text`, finish, { content: 'hi' }, { stop_reason: 'end_turn', ...NONE }],
    [
      `${finish} after a call`,
      finish,
      { content: 'hi', tool_calls: [CALL] },
      { stop_reason: 'tool_use', ...NONE },
    ],
  ]),
  ...['length', 'max_tokens', 'model_length', 'max_output_tokens'].flatMap((finish): typeof TO_MESSAGES => [
    [`${finish} after text`, finish, { content: 'hi' }, { stop_reason: 'max_tokens', ...NONE }],
    [
      `${finish} after a call`,
      finish,
      { content: 'hi', tool_calls: [CALL] },
      { stop_reason: 'max_tokens', ...NONE },
    ],
    [`${finish} within a refusal`, finish, { refusal: 'I will' }, { stop_reason: 'max_tokens', ...NONE }],
  ]),
  ...['stop', 'content_filter'].map((finish): (typeof TO_MESSAGES)[number] => [
    `${finish} after a refusal`,
    finish,
    { refusal: 'I will not.' },
    {
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: { type: 'refusal', category: null, explanation: 'I will not.' },
    },
  ]),
  [
    'content_filter after text',
    'content_filter',
    { content: 'hi' },
    {
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: { type: 'refusal', category: null, explanation: null },
    },
  ],
];

/** A messages provider's stop and content, and the finish of a chat client. */
const TO_CHAT: [name: string, stop: string, content: JsonObject[], finish: string][] = [
  ['end_turn after text as stop', 'end_turn', [TEXT], 'stop'],
  ['end_turn after a call as tool_calls', 'end_turn', [TEXT, USE], 'tool_calls'],
  ['tool_use after a call as tool_calls', 'tool_use', [TEXT, USE], 'tool_calls'],
  ['tool_use after text as stop', 'tool_use', [TEXT], 'stop'],
  ['max_tokens after text as length', 'max_tokens', [TEXT], 'length'],
  ['max_tokens after a call as length', 'max_tokens', [TEXT, USE], 'length'],
  ['model_context_window_exceeded after text as length', 'model_context_window_exceeded', [TEXT], 'length'],
  ['pause_turn after text as stop', 'pause_turn', [TEXT], 'stop'],
  ['compaction after text as stop', 'compaction', [TEXT], 'stop'],
  ['refusal after text as content_filter', 'refusal', [TEXT], 'content_filter'],
  ['some_new_word after text as stop', 'some_new_word', [TEXT], 'stop'],
  ['some_new_word after a call as tool_calls', 'some_new_word', [TEXT, USE], 'tool_calls'],
];

describe('a messages client reads', () => {
  it.each(TO_MESSAGES)('%s', (_, finish, said, stop) => {
    expect(crossed('messages', 'chat', completion(said, finish))).toMatchObject(stop);
    const last = crossedStream('messages', 'chat', chunks(said, finish)).at(-2);
    expect(last?.delta).toEqual(stop);
  });

  it('the stop sequence that a server names, and no number of a token', () => {
    const choice = (stopReason: string | number): JsonObject[] => [
      { index: 0, message: { content: 'hi' }, finish_reason: 'stop', stop_reason: stopReason },
    ];
    const streamed = (stopReason: string | number) =>
      chunks({ content: 'hi' }, 'stop').replace(
        '"finish_reason":"stop"',
        `"finish_reason":"stop","stop_reason":${JSON.stringify(stopReason)}`,
      );
    const named = { stop_reason: 'stop_sequence', stop_sequence: '###' };
    expect(crossed('messages', 'chat', completion({}, '', { choices: choice('###') }))).toMatchObject(named);
    expect(crossedStream('messages', 'chat', streamed('###')).at(-2)?.delta).toMatchObject(named);
    const plain = { stop_reason: 'end_turn', stop_sequence: null };
    expect(crossed('messages', 'chat', completion({}, '', { choices: choice(128_001) }))).toMatchObject(
      plain,
    );
    expect(crossedStream('messages', 'chat', streamed(128_001)).at(-2)?.delta).toMatchObject(plain);
  });

  it('a stop that nobody explained as an end, and a refusal in its text', () => {
    const said = { refusal: 'I will not.' };
    expect(crossed('messages', 'chat', completion(said, 'content_filter')).content).toEqual([
      { type: 'text', text: 'I will not.' },
    ]);
    expect(JSON.stringify(crossedStream('messages', 'chat', chunks(said, 'content_filter')))).toContain(
      '"delta":{"type":"text_delta","text":"I will not."}',
    );
  });
});

describe('a chat client reads', () => {
  const finishes = (values: JsonObject[]) =>
    values.flatMap(({ choices }) => (choices as JsonObject[]).map((choice) => choice.finish_reason));

  it.each(TO_CHAT)('%s', (_, stop, content, finish) => {
    expect(crossed('chat', 'messages', message(content, stop))).toHaveProperty(
      'choices.0.finish_reason',
      finish,
    );
    const words = finishes(crossedStream('chat', 'messages', events(content, stop)));
    expect(words.filter((word) => word !== null)).toEqual([finish]);
  });

  it('tool calls of a legacy request as its one function call', () => {
    const over = { legacyFunctions: true } as const;
    expect(crossed('chat', 'messages', message([USE], 'tool_use'), over)).toHaveProperty(
      'choices.0.finish_reason',
      'function_call',
    );
    const streamed = crossedStream('chat', 'messages', events([USE], 'tool_use'), over);
    expect(finishes(streamed)).toContain('function_call');
  });

  it('a stop sequence as a stop, with its value beside it', () => {
    const over = { stop_sequence: '###' };
    const choice = { finish_reason: 'stop', stop_reason: '###' };
    expect(crossed('chat', 'messages', message([TEXT], 'stop_sequence', over)).choices).toMatchObject([
      choice,
    ]);
    const streamed = crossedStream('chat', 'messages', events([TEXT], 'stop_sequence', over));
    expect(streamed.at(-2)?.choices ?? streamed.at(-1)?.choices).toMatchObject([choice]);
  });

  it('a refusal that is explained in the same words, once', () => {
    const refusals = crossedStream('chat', 'chat', chunks({ refusal: 'No.' }, 'stop')).flatMap(
      ({ choices }) =>
        (choices as { delta: { refusal?: string | null } }[]).flatMap(({ delta }) => delta.refusal ?? []),
    );
    expect(refusals).toEqual(['No.']);
  });

  it('a refusal whose explanation is its text, once', () => {
    const over = { stop_details: { type: 'refusal', category: null, explanation: 'hi' } };
    expect(crossed('chat', 'messages', message([TEXT], 'refusal', over))).toMatchObject({
      choices: [{ message: { content: null, refusal: 'hi' } }],
    });
  });

  it('why a model refused, in its refusal', () => {
    const over = { stop_details: { type: 'refusal', category: 'bio', explanation: 'No.' } };
    expect(crossed('chat', 'messages', message([], 'refusal', over))).toMatchObject({
      choices: [{ message: { content: null, refusal: 'No.' }, finish_reason: 'content_filter' }],
    });
    const streamed = crossedStream('chat', 'messages', events([], 'refusal', over));
    expect(JSON.stringify(streamed)).toContain('"delta":{"refusal":"No."}');
    expect(finishes(streamed)).toContain('content_filter');
  });
});

describe('a finish of a chat provider', () => {
  it.each([
    ...['stop', 'eos', 'end_turn', 'completed', 'tool_calls', 'function_call'].map((word) => [word, 'end']),
    ['length', 'length'],
    ['some_new_word', 'other'],
  ])('%s is known as %s', (word, reason) => {
    expect(protocols.chat.provider.decodeReply(completion({ content: 'hi' }, word)).stop).toEqual({
      reason,
      raw: word,
    });
    expect(eventsIn('chat', chunks({ content: 'hi' }, word)).at(-1)).toMatchObject({
      stop: { reason, raw: word },
    });
  });

  it.each(['stop', 'tool_calls', 'function_call'])('%s goes by the calls', (word) => {
    const said = { tool_calls: [CALL] };
    expect(protocols.chat.provider.decodeReply(completion(said, word)).stop.reason).toBe('tool_calls');
    expect(eventsIn('chat', chunks(said, word)).at(-1)).toMatchObject({ stop: { reason: 'tool_calls' } });
  });

  it.each([
    ['error', 'failed'],
    ['insufficient_system_resource', 'overloaded'],
  ])('%s is an error: the provider %s', (word, kind) => {
    expect(() => protocols.chat.provider.decodeReply(completion({ content: 'hi' }, word))).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ kind }) as unknown }) as Error,
    );
    const failed = { type: 'error', failure: { kind } };
    expect(eventsIn('chat', chunks({ content: 'hi' }, word)).at(-1)).toMatchObject(failed);
  });
});

it.each([
  ['end_turn', 'end'],
  ['stop_sequence', 'stop_sequence'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool_calls'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context_window'],
  ['compaction', 'other'],
  ['some_new_word', 'other'],
])('the stop reason %s of a messages provider is known as %s', (word, reason) => {
  expect(protocols.messages.provider.decodeReply(message([TEXT], word)).stop).toEqual({ reason, raw: word });
  expect(eventsIn('messages', events([TEXT], word)).at(-1)).toMatchObject({ stop: { reason, raw: word } });
});

it('a compaction of a messages provider is one for a messages client', () => {
  expect(crossed('messages', 'messages', message([TEXT], 'compaction')).stop_reason).toBe('compaction');
});
