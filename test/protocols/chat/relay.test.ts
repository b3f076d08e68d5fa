import { describe, expect, test } from 'vitest';
import type { FailureError } from '../../../src/errors.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { chat } from '../../../src/protocols/chat/index.ts';
import { formatDuration } from '../../../src/protocols/shared/client.ts';
import { chunk, comment, DONE, finish, frame } from './frames.ts';

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
const onlyUsage = { id: 'x', choices: [], usage };

/** What the first frame of a stream is. */
const first = (data: unknown, usageAsked = true, event = '') =>
  chat.relay.createClassifier({ usageAsked }).classify(frame(data, event));

/** The same behind content, where frames are parsed only if their text is suspicious. */
function later(data: unknown, usageAsked = true, event = '') {
  const classifier = chat.relay.createClassifier({ usageAsked });
  classifier.classify(frame(chunk({ content: 'a' })));
  return { seen: classifier.classify(frame(data, event)), usage: classifier.usage() };
}

const QUIET = { seen: { kind: 'quiet' }, usage: undefined };

describe('the first frame of a stream', () => {
  test.each<[string, string, unknown]>([
    ['quiet', 'a role alone', chunk({ role: 'assistant', content: '', refusal: null })],
    ['quiet', 'a role with null content', chunk({ role: 'assistant', content: null, tool_calls: [] })],
    ['quiet', 'an empty delta', chunk({})],
    ['quiet', "Azure's first chunk", { choices: [], prompt_filter_results: [{}] }],
    ['quiet', 'usage alone', onlyUsage],
    ['end', '[DONE], which no answer preceded', DONE],
    ['error', 'what is not JSON', '{"choices":['],
    ['error', 'what is not JSON and looks like a chunk', '{"choices":[{"delta":{"content":"a"}]}'],
    ['quiet', 'a role with an empty finish', chunk({ role: 'assistant' }, { finish_reason: '' })],
    ['content', 'content', chunk({ content: 'a' })],
    ['content', 'reasoning', chunk({ reasoning_content: 'a' })],
    ['content', 'a tool call', chunk({ tool_calls: [{ index: 0, id: 'call_1' }] })],
    ['content', 'a refusal', chunk({ refusal: 'no' })],
    ['finish', 'a finish', finish('stop')],
    ['error', 'an error', { error: { message: 'no' } }],
  ])('is %s: %s', (kind, _what, data) => {
    expect(first(data).kind).toBe(kind);
  });
  test('is quiet: a comment', () => {
    expect(chat.relay.createClassifier({ usageAsked: true }).classify(comment)).toEqual({ kind: 'quiet' });
  });
});

describe('a frame behind content', () => {
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
  ])('is quiet: %s', (_what, data) => {
    expect(later(data)).toEqual(QUIET);
  });

  test('may hold usage beside content', () => {
    expect(later(chunk({ content: 'a' }, { usage })).usage).toEqual({ input: 10, output: 2 });
  });
  test('may hold usage with spaces in the JSON', () => {
    const spaced = JSON.stringify({ choices: [], usage }, null, 1).replaceAll('\n', ' ');
    expect(later(spaced).usage).toBeDefined();
  });
  test('may hold a second usage where the first is null', () => {
    const data = { choices: [], usage: null, x_groq: { usage } };
    expect(later(data).usage).toEqual({ input: 10, output: 2 });
  });
  test('is dropped only if the gateway alone asked for it', () => {
    expect(later(onlyUsage, false).seen.kind).toBe('drop');
    expect(later(onlyUsage, true).seen.kind).toBe('quiet');
    expect(later(finish('stop', { usage }), false).seen.kind).toBe('finish');
    expect(later({ choices: [], usage: null }, false).seen.kind).toBe('quiet');
  });
  test('may be the finish, also of a second choice', () => {
    const two = {
      choices: [
        { index: 0, finish_reason: null, delta: {} },
        { index: 1, finish_reason: 'stop', delta: {} },
      ],
    };
    expect(later(finish('stop')).seen).toEqual({ kind: 'finish' });
    expect(later(two).seen).toEqual({ kind: 'finish' });
  });
  test('may be the end', () => {
    expect(later(DONE).seen).toEqual({ kind: 'end' });
    expect(later('[DONE] ').seen).toEqual({ kind: 'end' });
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
  ])('is an error: %s', (_what, data, event) => {
    const failure: unknown = expect.objectContaining({ message: 'busy' });
    expect(later(data, true, event).seen).toEqual({ kind: 'error', failure });
    expect(first(data, true, event)).toEqual({ kind: 'error', failure });
  });
  test('cut in its usage is malformed, not silent', () => {
    expect(later('{"choices":[],"usage":{"prompt_to').seen).toMatchObject({
      kind: 'error',
      failure: { reason: 'malformed' },
    });
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
