import { describe, expect, test } from 'vitest';
import type { FailureError } from '../../../../src/errors.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { formatDuration } from '../../../../src/protocols/shared/limit-headers.ts';
import { chunk, comment, DONE, finish, frame } from '../frames.ts';

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
const onlyUsage = { id: 'x', choices: [], usage };
const saw = (data: unknown, usageAsked = true, event = '') =>
  chat.relay.createWatch({ usageAsked })(frame(data, event));

describe('what commits a stream', () => {
  test.each<[boolean, string, unknown]>([
    [false, 'a role alone', chunk({ role: 'assistant', content: '', refusal: null })],
    [false, 'a role with null content', chunk({ role: 'assistant', content: null, tool_calls: [] })],
    [false, 'an empty delta', chunk({})],
    [false, "Azure's first chunk", { choices: [], prompt_filter_results: [{}] }],
    [false, 'usage alone', onlyUsage],
    [false, '[DONE], which no answer preceded', DONE],
    [false, 'what is not JSON', '{"choices":['],
    [false, 'a role with an empty finish', chunk({ role: 'assistant' }, { finish_reason: '' })],
    [true, 'content', chunk({ content: 'a' })],
    [true, 'reasoning', chunk({ reasoning_content: 'a' })],
    [true, 'a tool call', chunk({ tool_calls: [{ index: 0, id: 'call_1' }] })],
    [true, 'a refusal', chunk({ refusal: 'no' })],
    [true, 'a finish', finish('stop')],
    [true, 'an error', { error: { message: 'no' } }],
  ])('%s: %s', (expected, _what, data) => {
    expect(chat.relay.commits(frame(data))).toBe(expected);
  });
  test('a comment does not', () => expect(chat.relay.commits(comment)).toBe(false));
});

describe('the watch', () => {
  test.each<[string, unknown]>([
    ['text', chunk({ content: 'hello' })],
    [
      'text that speaks of usage and errors',
      chunk({ content: '"usage":{"prompt_tokens":1} "error":{} "finish_reason":"stop"' }),
    ],
    ['null usage', chunk({ content: 'a' }, { usage: null })],
    ['null errors', chunk({ content: 'a' }, { error: null })],
    [
      'a tool called usage',
      chunk({ tool_calls: [{ index: 0, function: { name: 'usage', arguments: '' } }] }),
    ],
  ])('thinks nothing of %s', (_what, data) => {
    expect(saw(data)).toEqual({});
  });

  test('reads usage, also in a chunk with content', () => {
    expect(saw(chunk({ content: 'a' }, { usage }))).toEqual({ usage: { input: 10, output: 2 } });
  });
  test('reads usage with spaces in the JSON', () => {
    expect(saw(JSON.stringify({ choices: [], usage }, null, 1).replaceAll('\n', ' '))).toHaveProperty(
      'usage',
    );
  });
  test('finds the second usage where the first is null', () => {
    const data = { choices: [], usage: null, x_groq: { usage } };
    expect(saw(data).usage).toEqual({ input: 10, output: 2 });
  });
  test('keeps back only the frame that was asked for by the gateway', () => {
    expect(saw(onlyUsage, false).drop).toBe(true);
    expect(saw(onlyUsage, true).drop).toBeUndefined();
    expect(saw(finish('stop', { usage }), false).drop).toBeUndefined();
    expect(saw({ choices: [], usage: null }, false).drop).toBeUndefined();
  });
  test('sees the stop, also of a second choice in the frame', () => {
    const two = {
      choices: [
        { index: 0, finish_reason: null, delta: {} },
        { index: 1, finish_reason: 'stop', delta: {} },
      ],
    };
    expect(saw(finish('stop'))).toEqual({ stopped: true });
    expect(saw(two)).toEqual({ stopped: true });
  });
  test('sees the end', () => {
    expect(saw(DONE)).toEqual({ terminal: true });
    expect(saw('[DONE] ')).toEqual({ terminal: true });
  });
  test.each<[string, unknown, string]>([
    ['an error object', { error: { message: 'busy', code: 503 } }, ''],
    ['an error string', { error: 'busy' }, ''],
    ['an error event', { message: 'busy' }, 'error'],
    [
      'a finish that is an error',
      { choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { message: 'busy' } }] },
      '',
    ],
    ['an array around it', [{ error: { message: 'busy' } }], ''],
  ])('reads %s as a failure', (_what, data, event) => {
    expect(saw(data, true, event).failure?.message).toBe('busy');
  });
  test('a frame cut in its usage is malformed, not silent', () => {
    expect(saw('{"choices":[],"usage":{"prompt_to').failure?.reason).toBe('malformed');
  });
  test('a comment is nothing', () => {
    expect(chat.relay.createWatch({ usageAsked: true })(comment)).toEqual({});
  });
});

test.each([
  [0, '0s'],
  [-5, '0s'],
  [1, '1s'],
  [45_000, '45s'],
  [1_023_000, '17m3s'],
  [1_022_001, '17m3s'],
  [3_540_000, '59m0s'],
  [3_600_000, '1h0m0s'],
])('%d ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('limit headers tell what remains, never less than nothing', () => {
  const resetsAt = 1_000_000;
  expect(chat.client.limitHeaders({ limit: 10, used: 3, resetsAt }, resetsAt - 63_000)).toEqual([
    'x-ratelimit-limit-requests',
    '10',
    'x-ratelimit-remaining-requests',
    '7',
    'x-ratelimit-reset-requests',
    '1m3s',
  ]);
  expect(chat.client.limitHeaders({ limit: 10, used: 12, resetsAt }, resetsAt)).toContain('0');
});

describe('a whole reply that is relayed', () => {
  const reply = (over: JsonObject = {}) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
    ...over,
  });
  test('its usage is read', () => {
    expect(chat.relay.inspectReply(reply({ usage }))).toEqual({ usage: { input: 10, output: 2 } });
    expect(chat.relay.inspectReply(reply())).toEqual({});
  });
  test.each<[string, unknown, string | undefined]>([
    ['no choices', { choices: [] }, 'empty'],
    ['no message', { choices: [{ index: 0, finish_reason: 'stop' }] }, 'empty'],
    ['neither content nor a finish', { choices: [{ index: 0, message: {}, finish_reason: null }] }, 'empty'],
    ['text', 'hello', 'malformed'],
    ['an error', { error: { message: 'x' } }, undefined],
  ])('%s is a failure', (_what, value, reason) => {
    try {
      chat.relay.inspectReply(value);
      expect.unreachable();
    } catch (error) {
      expect((error as FailureError).failure.reason).toBe(reason);
    }
  });
});
