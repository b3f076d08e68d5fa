import { describe, expect, test } from 'vitest';
import { createCollector } from '../../../../src/canonical/collect.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { Reply } from '../../../../src/canonical/reply.ts';
import { responses } from '../../../../src/protocols/responses/index.ts';
import {
  added,
  bare,
  call,
  completed,
  CREATED,
  decoded,
  done,
  event,
  message,
  textDelta,
} from '../frames.ts';

const DONE = 'data: [DONE]\n\n';
const AT = { item_id: 'fc_1', output_index: 0 };

function replyOf(stream: string): Reply {
  const collector = createCollector();
  for (const one of decoded(stream)) collector.push(one);
  const result = collector.result();
  if ('failure' in result) throw new Error(JSON.stringify(result.failure));
  return result.reply;
}

const TEXT = { type: 'text', text: 'hello' };
const CALL = { type: 'tool_call', id: 'call_1', name: 'f', arguments: '{"a":1}' };
const open = { ...message(''), content: [] };

/** What servers leave out or write otherwise, and what is read all the same. */
const STREAMS: Record<string, [stream: string, parts: object[]]> = {
  'deltas alone': [CREATED + textDelta('hel') + textDelta('lo') + completed(), [TEXT]],
  'no event names, no numbers, no [DONE]': [
    bare('response.created', { response: { id: 'resp_1' } }) +
      bare('response.output_text.delta', { delta: 'hello', item_id: 'a', output_index: 0 }) +
      bare('response.completed', { response: { status: 'completed' } }),
    [TEXT],
  ],
  'text in its .done alone': [
    CREATED +
      added(open) +
      event('response.output_text.done', { ...AT, content_index: 0, text: 'hello' }) +
      completed(),
    [TEXT],
  ],
  'text in content_part.done alone': [
    CREATED +
      event('response.content_part.done', {
        ...AT,
        content_index: 0,
        part: { type: 'output_text', text: 'hello' },
      }) +
      completed(),
    [TEXT],
  ],
  'text in output_item.done alone': [CREATED + done(message('hello')) + completed(), [TEXT]],
  'all of it in the last event alone': [CREATED + completed([message('hello')]) + DONE, [TEXT]],
  'everything said four times': [
    CREATED +
      added(open) +
      textDelta('hel') +
      textDelta('lo') +
      event('response.output_text.done', {
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        text: 'hello',
      }) +
      done(message('hello')) +
      completed([message('hello')]),
    [TEXT],
  ],
  'arguments in their .done alone': [
    CREATED +
      added(call('')) +
      event('response.function_call_arguments.done', { ...AT, arguments: '{"a":1}' }) +
      completed(),
    [CALL],
  ],
  'arguments in output_item.done alone, as an object': [
    CREATED + added(call('')) + done(call('', { arguments: { a: 1 } })) + completed(),
    [CALL],
  ],
  'a name that comes with output_item.done': [
    CREATED + added(call('', { name: '' })) + done(call('{"a":1}')) + completed(),
    [CALL],
  ],
  'no arguments': [CREATED + added(call('')) + completed(), [{ ...CALL, arguments: '{}' }]],
  'calls side by side': [
    CREATED +
      added(call(''), 0) +
      added(call('', { id: 'fc_2', call_id: 'call_2', name: 'g' }), 1) +
      event('response.function_call_arguments.delta', { ...AT, delta: '{"a"' }) +
      event('response.function_call_arguments.delta', { item_id: 'fc_2', output_index: 1, delta: '{}' }) +
      event('response.function_call_arguments.delta', { ...AT, delta: ':1}' }) +
      completed(),
    [CALL, { ...CALL, id: 'call_2', name: 'g', arguments: '{}' }],
  ],
  'a custom call': [
    CREATED +
      added({ id: 'c', type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '' }) +
      event('response.custom_tool_call_input.delta', { item_id: 'c', output_index: 0, delta: '***' }) +
      completed(),
    [{ type: 'tool_call', id: 'call_1', name: 'patch', arguments: '***', custom: true }],
  ],
  'a summary of two paragraphs': [
    CREATED +
      added({ id: 'rs_1', type: 'reasoning', summary: [] }) +
      event('response.reasoning_summary_text.delta', {
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'a',
      }) +
      event('response.reasoning_summary_text.delta', {
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 1,
        delta: 'b',
      }) +
      completed(),
    [{ type: 'reasoning', text: 'a\n\nb' }],
  ],
  'raw thoughts, whose summary says nothing new': [
    CREATED +
      event('response.reasoning_text.delta', {
        item_id: 'rs_1',
        output_index: 0,
        content_index: 0,
        delta: 'hm',
      }) +
      done({
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'short' }],
        content: [{ type: 'reasoning_text', text: 'hmm' }],
      }) +
      completed(),
    [{ type: 'reasoning', text: 'hmm' }],
  ],
  'sealed reasoning without a word': [
    CREATED + done({ id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'blob' }) + completed(),
    [{ type: 'reasoning', text: '', signature: 'cmVzcG9uc2Vzrs_1.blob' }],
  ],
  sources: [
    CREATED +
      textDelta('hello') +
      event('response.output_text.annotation.added', {
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: {
          type: 'url_citation',
          url: 'https://a.example',
          title: 'A',
          start_index: 0,
          end_index: 5,
        },
      }) +
      completed(),
    [{ ...TEXT, citations: [expect.objectContaining({ url: 'https://a.example', start: 0, end: 5 })] }],
  ],
  'an item of a tool that the provider ran': [
    CREATED + done({ id: 'ws_1', type: 'web_search_call', status: 'completed' }) + completed(),
    [expect.objectContaining({ type: 'native', kind: 'web_search_call' })],
  ],
};

describe('a stream is read', () => {
  test.each(Object.entries(STREAMS))('with %s', (_, [stream, parts]) => {
    expect(replyOf(stream).parts).toEqual(parts);
  });

  test.each([
    ['completed', completed([message('a')]), { reason: 'end', raw: 'completed' }],
    ['completed with a call', completed([call('{}')]), { reason: 'tool_calls', raw: 'completed' }],
    [
      'incomplete',
      event('response.incomplete', {
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
      }),
      { reason: 'length', raw: 'max_output_tokens' },
    ],
    [
      'filtered',
      event('response.incomplete', {
        response: { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] },
      }),
      { reason: 'refusal', raw: 'content_filter' },
    ],
    [
      'refused',
      completed([{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }]),
      { reason: 'refusal', raw: 'completed', explanation: 'No.' },
    ],
  ])('that is %s', (_, end, stop) => {
    expect(replyOf(CREATED + end).stop).toEqual(stop);
  });
});

const failedWith = (error: JsonObject): string =>
  event('response.failed', { response: { id: 'resp_1', status: 'failed', error, output: [] } });

describe('a failure is read', () => {
  test.each<[string, string, object]>([
    [
      'of an error event',
      event('error', { code: 'server_error', message: 'no' }),
      { kind: 'failed', message: 'no' },
    ],
    ['of a nested error event', event('error', { error: { message: 'no' } }), { message: 'no' }],
    ['of an error without an event', 'data: {"error":{"message":"no"}}\n\n', { message: 'no' }],
    ['beside the data', '{"error":{"message":"no"}}\n\n', { message: 'no' }],
    [
      'of a rate limit inside a 200',
      failedWith({ code: 'rate_limit_exceeded', message: 'Please try again in 3.5s.' }),
      { kind: 'rate_limited', retryAfterMs: 3500 },
    ],
    ['of an overload', failedWith({ code: 'server_is_overloaded', message: 'busy' }), { kind: 'overloaded' }],
    [
      'of an overflow',
      failedWith({ code: 'context_length_exceeded', message: 'x' }),
      { kind: 'context_overflow' },
    ],
    ['of a quota', failedWith({ code: 'insufficient_quota', message: 'x' }), { kind: 'billing' }],
    ['of a failure without a word', failedWith({}), { kind: 'failed' }],
    ['of a cancelled Response', event('response.cancelled', {}), { kind: 'failed' }],
    ['of [DONE] without an end', CREATED + textDelta('a') + DONE, { reason: 'truncated' }],
    ['of [DONE] alone', DONE, { reason: 'empty' }],
    ['of nothing', '', { reason: 'empty' }],
    ['of what is not JSON', 'event: response.created\ndata: {"a\n\n', { reason: 'malformed' }],
    ['of a call without a name', CREATED + done(call('{}', { name: '' })), { reason: 'malformed' }],
  ])('%s', (_, stream, failure) => {
    expect(decoded(stream).at(-1)).toMatchObject({ type: 'error', failure });
  });

  test('and never a success, wherever a stream is cut', () => {
    const stream = CREATED + added(open) + textDelta('hello') + done(message('hello')) + completed();
    for (let length = 0; length < stream.length - 2; length++) {
      for (const clean of [true, false])
        expect(decoded(stream.slice(0, length), clean).at(-1)?.type, `cut at ${length}`).toBe('error');
    }
    expect(decoded(stream).at(-1)?.type).toBe('end');
  });
});

describe('a whole Response', () => {
  const reply = (over: JsonObject = {}): JsonObject => ({
    id: 'resp_1',
    status: 'completed',
    output: [],
    ...over,
  });

  test.each<[string, unknown, object]>([
    ['nothing', undefined, { reason: 'empty' }],
    ['a text', 'no', { reason: 'malformed' }],
    ['no output', { id: 'resp_1', status: 'completed' }, { reason: 'malformed' }],
    ['neither output nor a status', { output: [] }, { reason: 'empty' }],
    ['an error', { error: { message: 'no' } }, { message: 'no' }],
    [
      'a failed one',
      reply({ status: 'failed', error: { code: 'rate_limit_exceeded' } }),
      { kind: 'rate_limited' },
    ],
    ['one that runs still', reply({ status: 'in_progress' }), { reason: 'truncated' }],
    ['one in the background', reply({ status: 'queued' }), { reason: 'truncated' }],
  ])('that is %s is a failure', (_, value, failure) => {
    const failed = expect.objectContaining({ failure: expect.objectContaining(failure) as object }) as Error;
    expect(() => responses.provider.decodeReply(value)).toThrow(failed);
    expect(() => responses.relay.inspectReply(value)).toThrow(failed);
  });

  test('without a status, as local servers write it, is read', () => {
    expect(responses.provider.decodeReply({ output: [message('a')] })).toMatchObject({
      parts: [{ text: 'a' }],
      stop: { reason: 'end' },
    });
  });

  test.each([
    ['usage', { input_tokens: 9, output_tokens: 2 }, { input: 9, output: 2 }],
    [
      'usage with what was cached and thought',
      {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 1 },
      },
      { input: 3, cacheRead: 4, cacheWrite: 2, output: 2, reasoning: 1 },
    ],
    ['no usage where all counts are zero', { input_tokens: 0, output_tokens: 0 }, undefined],
    ['no usage where the output is missing', { input_tokens: 9 }, undefined],
    ['no usage where it is null', null, undefined],
  ])('has %s', (_, usage, expected) => {
    expect(responses.relay.inspectReply(reply({ usage })).usage).toEqual(expected);
    expect(responses.provider.decodeReply(reply({ usage })).usage).toEqual(expected);
  });
});
