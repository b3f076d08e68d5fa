// Every way in which servers are known to speak this protocol's stream, and what is made of it.
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { DEFAULT_TRAITS } from '../../../../src/canonical/traits.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { decodeAll, frameOf, ids } from '../support.ts';

const START: JsonObject = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'claude',
    usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 },
  },
};
const DELTA: JsonObject = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  usage: { output_tokens: 9, input_tokens: null },
};
const STOP: JsonObject = { type: 'message_stop' };
const STARTED: StreamEvent = {
  type: 'start',
  id: 'msg_1',
  model: 'claude',
  usage: { input: 5, cacheRead: 3, output: 1 },
};
const ENDED: StreamEvent = {
  type: 'end',
  stop: { reason: 'end', raw: 'end_turn' },
  usage: { input: 5, cacheRead: 3, output: 9 },
};

function begin(index: number, block: JsonObject): JsonObject {
  return { type: 'content_block_start', index, content_block: block };
}
function delta(index: number, value: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta: value };
}
function end(index: number): JsonObject {
  return { type: 'content_block_stop', index };
}
const text = (value: string) => ({ type: 'text_delta', text: value });
const json = (value: string) => ({ type: 'input_json_delta', partial_json: value });

/** The blocks between a start and an end. */
function blocks(...values: JsonObject[]): StreamEvent[] {
  const events = decodeAll([START, ...values, DELTA, STOP]);
  expect(events[0]).toEqual(STARTED);
  expect(events.at(-1)).toEqual(ENDED);
  return events.slice(1, -1);
}

describe('blocks of a stream', () => {
  it.each<[string, JsonObject[], StreamEvent[]]>([
    [
      'the start of an open call once more',
      [
        begin(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
        delta(0, json('{"x":')),
        begin(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
        delta(0, json('1}')),
        end(0),
      ],
      [
        { type: 'tool_start', index: 0, id: 'a', name: 'f' },
        { type: 'tool_delta', index: 0, text: '{"x":' },
        { type: 'tool_delta', index: 0, text: '1}' },
        { type: 'tool_end', index: 0 },
      ],
    ],
    [
      'the start of an open text once more',
      [
        begin(0, { type: 'text', text: '' }),
        delta(0, text('a')),
        begin(0, { type: 'text', text: '' }),
        delta(0, text('b')),
        end(0),
      ],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_delta', index: 0, text: 'b' },
        { type: 'text_end', index: 0 },
      ],
    ],
    [
      'text',
      [begin(0, { type: 'text', text: '' }), delta(0, text('a')), delta(0, text('b')), end(0)],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_delta', index: 0, text: 'b' },
        { type: 'text_end', index: 0 },
      ],
    ],
    ['empty text', [begin(0, { type: 'text', text: '' }), delta(0, text('')), end(0)], []],
    [
      'text in the start frame',
      [begin(0, { type: 'text', text: 'a' }), end(0)],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_end', index: 0 },
      ],
    ],
    [
      'cited text',
      [
        begin(0, { type: 'text', text: 'a' }),
        delta(0, {
          type: 'citations_delta',
          citation: { type: 'web_search_result_location', url: 'u', title: 't' },
        }),
        end(0),
      ],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        {
          type: 'citation',
          index: 0,
          citation: {
            protocol: 'messages',
            raw: { type: 'web_search_result_location', url: 'u', title: 't' },
            url: 'u',
            title: 't',
          },
        },
        { type: 'text_end', index: 0 },
      ],
    ],
    [
      'thinking, whose last signature counts',
      [
        begin(0, { type: 'thinking', thinking: '', signature: '' }),
        delta(0, { type: 'thinking_delta', thinking: 'hm' }),
        delta(0, { type: 'signature_delta', signature: 'no' }),
        delta(0, { type: 'signature_delta', signature: 'sig' }),
        end(0),
      ],
      [
        { type: 'reasoning_start', index: 0 },
        { type: 'reasoning_delta', index: 0, text: 'hm' },
        { type: 'reasoning_end', index: 0, signature: 'sig' },
      ],
    ],
    [
      'thinking without any signature',
      [begin(0, { type: 'thinking', thinking: 'hm' }), end(0)],
      [
        { type: 'reasoning_start', index: 0 },
        { type: 'reasoning_delta', index: 0, text: 'hm' },
        { type: 'reasoning_end', index: 0 },
      ],
    ],
    [
      'a signature in the start frame',
      [begin(0, { type: 'thinking', thinking: 'hm', signature: 'sig' }), end(0)],
      [
        { type: 'reasoning_start', index: 0 },
        { type: 'reasoning_delta', index: 0, text: 'hm' },
        { type: 'reasoning_end', index: 0, signature: 'sig' },
      ],
    ],
    [
      'citations in the start frame',
      [begin(0, { type: 'text', text: 'a', citations: [{ type: 'page_location', x: 1 }] }), end(0)],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        {
          type: 'citation',
          index: 0,
          citation: { protocol: 'messages', raw: { type: 'page_location', x: 1 } },
        },
        { type: 'text_end', index: 0 },
      ],
    ],
    [
      'a call that another caller made',
      [begin(0, { type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'code' } }), end(0)],
      [
        { type: 'tool_start', index: 0, id: 'a', name: 'f', extra: { caller: { type: 'code' } } },
        { type: 'tool_delta', index: 0, text: '{}' },
        { type: 'tool_end', index: 0 },
      ],
    ],
    [
      'a block that grows by deltas which only this protocol knows',
      [begin(0, { type: 'compaction' }), delta(0, { type: 'compaction_delta', content: 'x' }), end(0)],
      [
        {
          type: 'native',
          index: 0,
          part: {
            type: 'native',
            protocol: 'messages',
            kind: 'compaction',
            value: { type: 'compaction', content: 'x' },
          },
        },
      ],
    ],
    [
      'redacted thinking',
      [begin(0, { type: 'redacted_thinking', data: 'zzz' }), end(0)],
      [{ type: 'redacted', index: 0, data: 'zzz' }],
    ],
    [
      'a call',
      [
        begin(0, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }),
        delta(0, json('{"a"')),
        delta(0, json(':1}')),
        end(0),
      ],
      [
        { type: 'tool_start', index: 0, id: 'toolu_1', name: 'f' },
        { type: 'tool_delta', index: 0, text: '{"a"' },
        { type: 'tool_delta', index: 0, text: ':1}' },
        { type: 'tool_end', index: 0 },
      ],
    ],
    [
      'a call without arguments or id',
      [begin(0, { type: 'tool_use', name: 'f', input: {} }), delta(0, json('')), end(0)],
      [
        { type: 'tool_start', index: 0, id: `toolu_${'x'.repeat(24)}`, name: 'f' },
        { type: 'tool_delta', index: 0, text: '{}' },
        { type: 'tool_end', index: 0 },
      ],
    ],
    [
      'a call with all arguments in the start frame',
      [begin(0, { type: 'tool_use', id: 'a', name: 'f', input: { b: 1, a: 2 } }), end(0)],
      [
        { type: 'tool_start', index: 0, id: 'a', name: 'f' },
        { type: 'tool_delta', index: 0, text: '{"b":1,"a":2}' },
        { type: 'tool_end', index: 0 },
      ],
    ],
    [
      'a server tool, whose input comes in pieces',
      [
        begin(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        delta(0, json('{"q":')),
        delta(0, json('1}')),
        end(0),
      ],
      [
        {
          type: 'native',
          index: 0,
          part: {
            type: 'native',
            protocol: 'messages',
            kind: 'server_tool_use',
            value: { type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 1 } },
          },
        },
      ],
    ],
    [
      'no stops',
      [begin(0, { type: 'text', text: 'a' }), begin(1, { type: 'text', text: 'b' })],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_end', index: 0 },
        { type: 'text_start', index: 1 },
        { type: 'text_delta', index: 1, text: 'b' },
        { type: 'text_end', index: 1 },
      ],
    ],
    [
      'a doubled start',
      [
        begin(0, { type: 'text', text: '' }),
        begin(0, { type: 'text', text: '' }),
        delta(0, text('a')),
        end(0),
      ],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_end', index: 0 },
      ],
    ],
    [
      'calls side by side',
      [
        begin(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
        begin(1, { type: 'tool_use', id: 'b', name: 'g', input: {} }),
        delta(0, json('{"a":1}')),
        delta(1, json('{"b":1}')),
      ],
      [
        { type: 'tool_start', index: 0, id: 'a', name: 'f' },
        { type: 'tool_start', index: 1, id: 'b', name: 'g' },
        { type: 'tool_delta', index: 0, text: '{"a":1}' },
        { type: 'tool_delta', index: 1, text: '{"b":1}' },
        { type: 'tool_end', index: 0 },
        { type: 'tool_end', index: 1 },
      ],
    ],
    [
      'a deltas without an index',
      [begin(0, { type: 'text', text: 'a' }), { type: 'content_block_delta', delta: text('b') }, end(0)],
      [
        { type: 'text_start', index: 0 },
        { type: 'text_delta', index: 0, text: 'a' },
        { type: 'text_delta', index: 0, text: 'b' },
        { type: 'text_end', index: 0 },
      ],
    ],
  ])('%s', (_, values, expected) => {
    expect(blocks(...values)).toEqual(expected);
  });

  it('have canonical indexes without gaps, whatever the wire says', () => {
    const events = blocks(
      begin(3, { type: 'text', text: '' }),
      end(3),
      begin(7, { type: 'thinking', thinking: 'x' }),
      end(7),
    );
    expect(events.map((event) => 'index' in event && event.index)).toEqual([0, 0, 0]);
  });
});

describe('the end of a stream', () => {
  function last(values: JsonObject[], clean = true): StreamEvent | undefined {
    const events = decodeAll(values, clean);
    expect(events.filter((event) => event.type === 'end' || event.type === 'error')).toHaveLength(1);
    return events.at(-1);
  }
  const failedWith = (kind: string) => ({ type: 'error', failure: { kind } });
  const failed = (reason: string) => ({ type: 'error', failure: { kind: 'failed', reason } });

  it('is an empty answer where a stop reason came without content', () => {
    expect(decodeAll([START, DELTA, STOP])).toEqual([STARTED, ENDED]);
  });
  it('is complete without message_stop where the body ended properly', () => {
    expect(last([START, DELTA])).toEqual(ENDED);
  });
  it.each<[string, string, JsonObject[], boolean]>([
    ['truncated', 'the connection broke after the stop reason', [START, DELTA], false],
    ['truncated', 'no stop reason came', [START], true],
    ['truncated', 'message_stop came without a stop reason', [START, STOP], true],
    ['empty', 'nothing came', [], true],
    ['empty', 'only a ping came', [{ type: 'ping' }], true],
    ['malformed', 'a delta names a block that was never opened', [START, delta(4, text('a'))], true],
    [
      'malformed',
      'a delta is not of its block',
      [START, begin(0, { type: 'thinking', thinking: '' }), delta(0, text('a'))],
      true,
    ],
  ])('is a failure (%s) where %s', (reason, _, values, clean) => {
    expect(last(values, clean)).toMatchObject(failed(reason));
  });
  it.each([
    ['overloaded_error', 'overloaded'],
    ['rate_limit_error', 'rate_limited'],
    ['invalid_request_error', 'invalid_request'],
    ['authentication_error', 'provider_key'],
    ['api_error', 'failed'],
    ['constructor', 'failed'],
  ])('is a failure where an error event came: %s', (type, kind) => {
    expect(last([START, { type: 'error', error: { type, message: 'why' } }])).toEqual({
      type: 'error',
      failure: { kind, message: 'why' },
    });
  });
  it('is a failure where a frame is not JSON', () => {
    const decoder = messages.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    expect(decoder.push(frameOf('message_start', '{"type":'))).toMatchObject([failed('malformed')]);
    expect(decoder.push(frameOf('ping', '{"type":"ping"}'))).toEqual([]);
    expect(decoder.finish(true)).toEqual([]);
  });
  it('comes after content that came before any start', () => {
    const events = decodeAll([begin(0, { type: 'text', text: 'a' }), DELTA, STOP]);
    expect(events[0]).toEqual({ type: 'start', id: `msg_${'x'.repeat(24)}`, model: '' });
    // Nobody told the input: half a count is none.
    expect(events.at(-1)).toEqual({ type: 'end', stop: { reason: 'end', raw: 'end_turn' } });
  });
  it('comes after a message_delta that came before any start', () => {
    const events = decodeAll([DELTA, START, STOP]);
    expect(events.map(({ type }) => type)).toEqual(['start', 'end']);
    expect(events.at(-1)).toMatchObject({ stop: { reason: 'end' }, usage: { input: 5, output: 1 } });
  });
  it('passes over the same start again, but for its usage', () => {
    const again: JsonObject = {
      type: 'message_start',
      message: { id: 'msg_1', usage: { input_tokens: 50 } },
    };
    const events = decodeAll([START, begin(0, { type: 'text', text: 'a' }), again, DELTA, STOP]);
    expect(events.filter(({ type }) => type === 'start')).toEqual([STARTED]);
    expect(events.at(-1)).toMatchObject({ usage: { input: 50, output: 9 } });
  });
  it('closes what is open with the stop reason, not with message_stop', () => {
    const decoder = messages.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    const push = (value: JsonObject) => decoder.push(frameOf('', JSON.stringify(value)));
    push(START);
    push(begin(0, { type: 'text', text: 'a' }));
    expect(push(DELTA)).toEqual([{ type: 'text_end', index: 0 }]);
  });
  it('keeps the stop reason over a later message_delta that has none', () => {
    const usage: JsonObject = {
      type: 'message_delta',
      delta: { stop_reason: null },
      usage: { output_tokens: 11 },
    };
    expect(last([START, DELTA, usage, STOP])).toEqual({
      ...ENDED,
      usage: { input: 5, cacheRead: 3, output: 11 },
    });
  });
  it('tells the tier that served, with the start and with the end', () => {
    const usage = { input_tokens: 5, output_tokens: 1, service_tier: 'priority' };
    const events = decodeAll([{ type: 'message_start', message: { usage } }, DELTA, STOP]);
    expect(events).toMatchObject([{ serviceTier: 'priority' }, { type: 'end', serviceTier: 'priority' }]);
  });
  it('is a failure where an error has no type, or no words', () => {
    for (const error of [{ message: 'why' }, 'why']) {
      const seen = last([START, { type: 'error', error }]);
      expect(seen).toEqual({ type: 'error', failure: { kind: 'failed', message: 'why' } });
    }
    expect(last([START, { type: 'error' }])).toMatchObject(failedWith('failed'));
  });
  it('knows frames without an event name, and passes over [DONE], comments and unknown events', () => {
    const decoder = messages.provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    const push = (event: string, data: string) => decoder.push(frameOf(event, data)).map((item) => item.type);
    expect(push('', JSON.stringify(START))).toEqual(['start']);
    expect(push('', '[DONE]')).toEqual([]);
    expect(push('', '')).toEqual([]);
    expect(push('vendor', '{"type":"vendor"}')).toEqual([]);
    expect(push('', JSON.stringify(DELTA))).toEqual([]);
    expect(push('', JSON.stringify(STOP))).toEqual(['end']);
  });
  it('overwrites usage, never adds it up', () => {
    const more: JsonObject = { ...DELTA, usage: { output_tokens: 20, cache_creation_input_tokens: 4 } };
    expect(last([START, DELTA, more, STOP])).toMatchObject({
      usage: { input: 5, cacheRead: 3, cacheWrite: 4, output: 20 },
    });
  });
  it.each([
    ['refusal', { reason: 'refusal', explanation: 'no', category: 'bio' }],
    ['model_context_window_exceeded', { reason: 'context_window' }],
    ['pause_turn', { reason: 'pause' }],
    ['max_tokens', { reason: 'length' }],
    ['something_new', { reason: 'other', raw: 'something_new' }],
  ])('keeps the reason %s', (reason, stop) => {
    const stopDetails = reason === 'refusal' ? { type: 'refusal', category: 'bio', explanation: 'no' } : null;
    const value: JsonObject = {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_details: stopDetails },
      usage: {},
    };
    const said = [begin(0, { type: 'text', text: 'a' }), end(0)];
    expect(last([START, ...said, value, STOP])).toMatchObject({ stop });
  });
});
