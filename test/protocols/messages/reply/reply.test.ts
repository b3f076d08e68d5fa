// Whole answers both ways, and the law that a stream collects to the same.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { Reply } from '../../../../src/canonical/reply.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { FailureError } from '../../../../src/errors.ts';
import { context } from '../support.ts';

const WIRE: JsonObject = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'zzz' },
    { type: 'text', text: 'hi' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { z: 1, a: [] }, caller: { type: 'direct' } },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { q: 1 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 3,
    cache_creation_input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation: { ephemeral_5m_input_tokens: 6, ephemeral_1h_input_tokens: 4 },
    output_tokens: 8,
    output_tokens_details: { thinking_tokens: 2 },
    service_tier: 'standard',
  },
};

function failureOf(value: unknown): unknown {
  try {
    messages.provider.decodeReply(value);
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
  return undefined;
}

describe('a whole answer', () => {
  it('is the same after it was read and written again', () => {
    expect(messages.client.encodeReply(messages.provider.decodeReply(WIRE), context())).toEqual(WIRE);
  });

  it('is inspected without being decoded', () => {
    const { usage } = messages.provider.decodeReply(WIRE);
    expect(usage).toEqual({
      input: 3,
      cacheRead: 20,
      cacheWrite: 10,
      cacheWrite1h: 4,
      output: 8,
      reasoning: 2,
    });
    expect(messages.relay.inspectReply(WIRE)).toEqual({ usage });
    expect(messages.relay.inspectReply({ ...WIRE, usage: undefined })).toEqual({});
  });

  it('keeps the order of arguments', () => {
    expect(messages.provider.decodeReply(WIRE).parts[3]).toMatchObject({ arguments: '{"z":1,"a":[]}' });
  });

  it.each<[string, unknown, object]>([
    ['null', null, { kind: 'failed', reason: 'empty' }],
    ['an array', [], { kind: 'failed', reason: 'malformed' }],
    ['another protocol', { choices: [] }, { kind: 'failed', reason: 'malformed' }],
    ['no stop reason', { ...WIRE, stop_reason: null }, { kind: 'failed', reason: 'truncated' }],
    [
      'an error',
      { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      { kind: 'overloaded', message: 'busy' },
    ],
    ['an error of another form', { error: 'the prompt is too long' }, { kind: 'context_overflow' }],
  ])('is a failure where it is %s', (_, value, failure) => {
    expect(failureOf(value)).toMatchObject(failure);
    expect(() => messages.relay.inspectReply(value)).toThrow(FailureError);
  });

  it('may be empty', () => {
    expect(messages.provider.decodeReply({ ...WIRE, content: [], stop_reason: 'end_turn' })).toMatchObject({
      parts: [],
      stop: { reason: 'end' },
    });
  });

  const reply: Reply = { id: 'chatcmpl-1', model: 'gpt', parts: [], stop: { reason: 'end' } };
  it.each<[string, Partial<Reply>, JsonObject]>([
    ['a foreign id', {}, { id: `msg_${'x'.repeat(24)}` }],
    [
      'no usage',
      { parts: [{ type: 'text', text: '12345' }] },
      { usage: { input_tokens: 7, output_tokens: 2 } },
    ],
    [
      'arguments that are no JSON',
      { parts: [{ type: 'tool_call', id: 'a', name: 'f', arguments: '{"x' }] },
      { content: [{ input: { _raw: '{"x' } }] },
    ],
    [
      'no arguments',
      { parts: [{ type: 'tool_call', id: 'a', name: 'f', arguments: '' }] },
      { content: [{ input: {} }] },
    ],
    [
      'an id that is not taken here',
      { parts: [{ type: 'tool_call', id: 'a.b', name: 'f', arguments: '' }] },
      { content: [{ id: expect.stringMatching(/^call_[a-zA-Z0-9]{22}$/) as string }] },
    ],
    [
      'calls after which it "stopped"',
      { parts: [{ type: 'tool_call', id: 'a', name: 'f', arguments: '' }] },
      { stop_reason: 'tool_use' },
    ],
    [
      'calls that were announced and never came',
      { stop: { reason: 'tool_calls' } },
      { stop_reason: 'end_turn' },
    ],
    [
      'a cut-off call',
      { parts: [{ type: 'tool_call', id: 'a', name: 'f', arguments: '' }], stop: { reason: 'length' } },
      { stop_reason: 'max_tokens' },
    ],
    [
      'a stop sequence',
      { stop: { reason: 'stop_sequence', sequence: 'END' } },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [
      'a refusal',
      { stop: { reason: 'refusal', explanation: 'no' } },
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: 'no' } },
    ],
    ['a reason that nobody knows', { stop: { reason: 'other', raw: 'eos' } }, { stop_reason: 'end_turn' }],
    [
      'a full window',
      { stop: { reason: 'context_window' } },
      { stop_reason: 'model_context_window_exceeded' },
    ],
    [
      'unsigned thinking',
      { parts: [{ type: 'reasoning', text: 'hm' }] },
      { content: [{ type: 'thinking', thinking: 'hm', signature: '' }] },
    ],
    ['empty text', { parts: [{ type: 'text', text: '' }] }, { content: [] }],
    ['the tier', { serviceTier: 'default' }, { usage: { service_tier: 'standard' } }],
  ])('is written with %s', (_, part, expected) => {
    expect(messages.client.encodeReply({ ...reply, ...part }, context())).toMatchObject(expected);
  });

  it('hides thinking from a client that asked for it, but not its signature', () => {
    const wire = messages.client.encodeReply(
      messages.provider.decodeReply(WIRE),
      context({ reasoning: { hidden: true } }),
    );
    expect((wire.content as JsonObject[])[0]).toEqual({ type: 'thinking', thinking: '', signature: 's' });
  });
});
