import { describe, expect, test } from 'vitest';
import type { FailureError } from '../../../../src/errors.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { Reply } from '../../../../src/canonical/reply.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { context } from '../frames.ts';

const completion = (message: JsonObject, finish: string | null = 'stop', over: JsonObject = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 5,
  model: 'm-1',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
  ...over,
});
const failure = (value: unknown) => {
  try {
    chat.provider.decodeReply(value);
  } catch (error) {
    return (error as FailureError).failure;
  }
  throw new Error('was taken for an answer');
};

describe('reading', () => {
  test('everything at once, in the order of a turn', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const message = {
      content: 'hi',
      reasoning_content: 'hm',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
    };
    expect(
      chat.provider.decodeReply(completion(message, 'tool_calls', { usage, service_tier: 'default' })),
    ).toEqual({
      id: 'chatcmpl-1',
      model: 'm-1',
      created: 5,
      parts: [
        { type: 'reasoning', text: 'hm', raw: true },
        { type: 'text', text: 'hi' },
        { type: 'tool_call', id: 'a', name: 'f', arguments: '{}' },
      ],
      stop: { reason: 'tool_calls', raw: 'tool_calls' },
      usage: { input: 3, output: 4 },
      serviceTier: 'default',
    });
  });
  test.each<[string, JsonObject, unknown[]]>([
    [
      'chunks of content',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      [
        { type: 'reasoning', text: 'hm', raw: true },
        { type: 'text', text: 'ab' },
      ],
    ],
    ['a refusal', { refusal: 'no' }, [{ type: 'text', text: 'no', refusal: true }]],
    [
      'a legacy call',
      { function_call: { name: 'f', arguments: '{"a":1}' } },
      [expect.objectContaining({ type: 'tool_call', name: 'f', arguments: '{"a":1}' })],
    ],
    [
      'a custom call',
      { tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } }] },
      [{ type: 'tool_call', id: 'a', name: 'f', arguments: 'x', custom: true }],
    ],
    [
      'arguments as an object',
      { tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] },
      [{ type: 'tool_call', id: 'a', name: 'f', arguments: '{"x":1}' }],
    ],
    [
      'signed details',
      { reasoning: 'other', reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's' }] },
      [{ type: 'reasoning', text: 'hm', signature: 's' }],
    ],
    [
      'encrypted details',
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }] },
      [{ type: 'reasoning', text: '', redacted: 'd' }],
    ],
    [
      'thinking blocks',
      { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] },
      [{ type: 'reasoning', text: 'hm', signature: 's' }],
    ],
    ['no content', { content: '' }, []],
  ])('%s', (_what, message, parts) => {
    expect(chat.provider.decodeReply(completion(message)).parts).toEqual(parts);
  });
  test('a call without an id gets one, the same each time', () => {
    const value = completion({
      tool_calls: [
        { function: { name: 'f', arguments: '{}' } },
        { function: { name: 'f', arguments: '{}' } },
      ],
    });
    const [first, second] = chat.provider.decodeReply(value).parts;
    expect(chat.provider.decodeReply(value).parts).toEqual([first, second]);
    expect(first).toHaveProperty('id', expect.stringMatching(/^call_[0-9a-f]{24}$/));
    expect(second).not.toEqual(first);
  });
  test.each<[string, unknown, object]>([
    [
      'an error in a 200',
      { error: { message: 'x', type: 'invalid_request_error' } },
      { kind: 'invalid_request' },
    ],
    [
      'an overflow in a 200',
      { error: 'Trying to keep more: reduce the length' },
      { kind: 'context_overflow' },
    ],
    ['an error in an array', [{ error: { code: 429, message: 'x' } }], { kind: 'rate_limited' }],
    ['an error by itself', { object: 'error', message: 'x', code: 503 }, { kind: 'overloaded' }],
    ['a detail by itself', { detail: 'x' }, { message: 'x' }],
    ['no choices', completion({}, 'stop', { choices: [] }), { reason: 'empty' }],
    ['no message', { choices: [{ index: 0, finish_reason: 'stop' }] }, { reason: 'empty' }],
    ['neither content nor a finish', completion({ content: '' }, null), { reason: 'empty' }],
    ['finish error', completion({ content: 'a' }, 'error'), { kind: 'failed' }],
    [
      'a call without a name',
      completion({ tool_calls: [{ id: 'a', function: { arguments: '{}' } }] }),
      { reason: 'malformed' },
    ],
    ['text', 'hello', { reason: 'malformed' }],
    ['null', null, { reason: 'malformed' }],
  ])('%s is no answer', (_what, value, expected) => {
    expect(failure(value)).toMatchObject(expected);
  });
  test.each([null, false, ''])('an error of %j counts as absent', (error) => {
    expect(chat.provider.decodeReply(completion({ content: 'a' }, 'stop', { error })).parts).toHaveLength(1);
  });
});

describe('writing', () => {
  const reply = (over: Partial<Reply> = {}): Reply => ({
    id: 'msg_1',
    model: 'm-1',
    parts: [{ type: 'text', text: 'hi' }],
    stop: { reason: 'end' },
    ...over,
  });
  const message = (over: Partial<Reply>, request = {}) => {
    const written = chat.client.encodeReply(reply(over), context(request)) as {
      choices: { message: JsonObject; finish_reason: string }[];
    };
    const [choice] = written.choices;
    return { ...choice?.message, finish: choice?.finish_reason } as JsonObject;
  };
  const call = (id: string) => ({ type: 'tool_call' as const, id, name: 'f', arguments: '' });

  test('the whole shape', () => {
    expect(
      chat.client.encodeReply(reply({ usage: { input: 1, output: 2 }, serviceTier: 'standard' }), context()),
    ).toEqual({
      id: `chatcmpl-${'1'.padStart(24, '0')}`,
      object: 'chat.completion',
      created: 1_700_000_001,
      model: 'm-1',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 1,
        completion_tokens: 2,
        total_tokens: 3,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      service_tier: 'default',
    });
  });
  test.each<[Reply['stop']['reason'], string]>([
    ['end', 'stop'],
    ['stop_sequence', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'stop'],
    ['refusal', 'content_filter'],
    ['pause', 'stop'],
    ['context_window', 'length'],
    ['other', 'stop'],
  ])('%s ends as %s', (reason, finish) => {
    expect(message({ stop: { reason } }).finish).toBe(finish);
  });
  test.each<[Reply['stop']['reason'], string]>([
    ['tool_calls', 'tool_calls'],
    ['end', 'tool_calls'],
    ['stop_sequence', 'tool_calls'],
    ['length', 'length'],
    ['refusal', 'content_filter'],
  ])('%s with a call ends as %s: agents run calls by that word', (reason, finish) => {
    expect(message({ stop: { reason }, parts: [call('a')] }).finish).toBe(finish);
  });
  test('content is null beside calls alone', () => {
    expect(message({ parts: [call('a')] })).toMatchObject({
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
  });
  test('fragments of text are joined without a seam', () => {
    expect(
      message({
        parts: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }).content,
    ).toBe('ab');
  });
  test('an empty answer is an empty text', () => expect(message({ parts: [] }).content).toBe(''));
  test("a refusal's explanation", () => {
    expect(message({ parts: [], stop: { reason: 'refusal', explanation: 'no' } })).toMatchObject({
      content: null,
      refusal: 'no',
    });
  });
  test('reasoning, unless it was asked to stay out', () => {
    const parts: Reply['parts'] = [
      { type: 'reasoning', text: 'hm', signature: 's' },
      { type: 'text', text: 'a' },
    ];
    expect(message({ parts })).toHaveProperty('reasoning_content', 'hm');
    expect(message({ parts }, { reasoning: { hidden: true } })).not.toHaveProperty('reasoning_content');
  });
  test('the legacy form', () => {
    const stop = { reason: 'tool_calls' } as const;
    const written = message({ parts: [call('a'), call('b')], stop }, { legacyFunctions: true });
    expect(written).toMatchObject({ function_call: { name: 'f', arguments: '{}' }, finish: 'function_call' });
    expect(written).not.toHaveProperty('tool_calls');
  });
  test('the stop sequence that matched is written if it is known', () => {
    const written = chat.client.encodeReply(
      reply({ stop: { reason: 'stop_sequence', sequence: '##' } }),
      context(),
    );
    expect(written).toHaveProperty('choices.0.stop_reason', '##');
  });
  test('a tier that chat does not know is left out', () => {
    expect(chat.client.encodeReply(reply({ serviceTier: 'batch' }), context())).not.toHaveProperty(
      'service_tier',
    );
  });
});
