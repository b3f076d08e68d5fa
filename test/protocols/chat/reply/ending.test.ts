// Why an answer ended, in every word that servers use: the same whole and streamed.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import type { StopReason } from '../../../../src/canonical/reply.ts';
import { FailureError } from '../../../../src/errors.ts';
import { chat } from '../../../../src/protocols/chat/index.ts';
import { messages } from '../../../../src/protocols/messages/index.ts';
import { chunk, context, decode, DONE, encode } from '../frames.ts';

const CALL = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
const TEXT = { content: 'hello' };
const CALLS = { content: null, tool_calls: [CALL] };
const REFUSED = { content: null, refusal: 'no' };

/** Of one message, whole and in one chunk. */
function stopsOf(message: JsonObject, finish: string, more: JsonObject = {}): StopReason[] {
  const choice = { index: 0, finish_reason: finish, ...more };
  const whole = chat.provider.decodeReply({ choices: [{ ...choice, message }] });
  const last = decode([{ choices: [{ ...choice, delta: message }] }, DONE]).at(-1);
  return [whole.stop, ...(last?.type === 'end' ? [last.stop] : [])];
}

test.each<[name: string, finish: string, message: JsonObject, reason: StopReason['reason']]>([
  ['stop after text', 'stop', TEXT, 'end'],
  ['eos after text', 'eos', TEXT, 'end'],
  ['end_turn after text', 'end_turn', TEXT, 'end'],
  ['completed after text', 'completed', TEXT, 'end'],
  ['eos after empty text', 'eos', { content: '' }, 'end'],
  ['end_turn after empty text', 'end_turn', { content: '' }, 'end'],
  ['completed after empty text', 'completed', { content: '' }, 'end'],
  ['length after text', 'length', TEXT, 'length'],
  ['model_length after text', 'model_length', TEXT, 'length'],
  ['max_tokens after text', 'max_tokens', TEXT, 'length'],
  ['max_output_tokens after text', 'max_output_tokens', TEXT, 'length'],
  ['length after calls', 'length', CALLS, 'length'],
  ['length after a refusal', 'length', REFUSED, 'length'],
  ['tool_calls after calls', 'tool_calls', CALLS, 'tool_calls'],
  ['function_call after calls', 'function_call', CALLS, 'tool_calls'],
  ['stop after calls', 'stop', CALLS, 'tool_calls'],
  ['end_turn after calls', 'end_turn', CALLS, 'tool_calls'],
  ['tool_calls after text', 'tool_calls', TEXT, 'end'],
  ['function_call after text', 'function_call', TEXT, 'end'],
  ['content_filter after text', 'content_filter', TEXT, 'refusal'],
  ['content_filter after calls', 'content_filter', CALLS, 'refusal'],
  ['content_filter after empty text', 'content_filter', { content: '' }, 'refusal'],
  ['stop after a refusal', 'stop', REFUSED, 'refusal'],
])('%s', (_, finish, message, reason) => {
  const stops = stopsOf(message, finish);
  expect(stops.map((stop) => stop.reason)).toEqual([reason, reason]);
  expect(stops.map(({ raw }) => raw)).toEqual([finish, finish]);
});

test('a filter beside calls stays a filter for either client: none of the calls is to be run', () => {
  const reply = chat.provider.decodeReply({ choices: [{ message: CALLS, finish_reason: 'content_filter' }] });
  expect(chat.client.encodeReply(reply, context())).toHaveProperty(
    'choices.0.finish_reason',
    'content_filter',
  );
  expect(messages.client.encodeReply(reply, context())).toMatchObject({
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: null, explanation: null },
  });
});

test('a refusal is explained to clients of messages in its own words', () => {
  const [whole, streamed] = stopsOf(REFUSED, 'stop');
  expect(whole).toEqual({ reason: 'refusal', raw: 'stop', explanation: 'no' });
  expect(streamed).toEqual(whole);
  const pieces = [chunk({ refusal: 'no' }), chunk({ refusal: ' way' }, { finish_reason: 'stop' }), DONE];
  expect(decode(pieces).at(-1)).toMatchObject({ stop: { explanation: 'no way' } });
  const reply = chat.provider.decodeReply({ choices: [{ message: REFUSED, finish_reason: 'stop' }] });
  expect(messages.client.encodeReply(reply, context())).toMatchObject({
    content: [{ type: 'text', text: 'no' }],
    stop_details: { explanation: 'no' },
  });
});

test('the stop sequence that a server names is in the reply, whole and streamed', () => {
  const stop = { reason: 'stop_sequence', raw: 'stop', sequence: '###' };
  expect(stopsOf(TEXT, 'stop', { stop_reason: '###' })).toEqual([stop, stop]);
  expect(stopsOf(TEXT, 'stop', { stop_reason: 128001 }).map(({ reason }) => reason)).toEqual(['end', 'end']);
});

test.each([
  ['error', 'failed'],
  ['insufficient_system_resource', 'overloaded'],
])('%s is no stop but a failure of kind %s', (finish, kind) => {
  expect(decode([chunk({ content: 'a' }, { finish_reason: finish }), DONE]).at(-1)).toMatchObject({
    type: 'error',
    failure: { kind },
  });
  const whole = () => chat.provider.decodeReply({ choices: [{ message: TEXT, finish_reason: finish }] });
  expect(whole).toThrow(FailureError);
});

describe('towards chat', () => {
  test.each<[StopReason['reason'], string]>([
    ['end', 'stop'],
    ['stop_sequence', 'stop'],
    ['length', 'length'],
    ['refusal', 'content_filter'],
    ['pause', 'stop'],
    ['context_window', 'length'],
    ['other', 'stop'],
    ['tool_calls', 'stop'],
  ])('%s without calls is %s, whole and streamed', (reason, finish) => {
    const stop = { reason };
    const body = chat.client.encodeReply({ id: '', model: 'm', parts: [], stop }, context());
    expect(body).toHaveProperty('choices.0.finish_reason', finish);
    expect(
      encode([
        { type: 'start', id: '', model: 'm' },
        { type: 'end', stop },
      ]),
    ).toContain(`"finish_reason":"${finish}"`);
  });
  test('a stop sequence is written beside the finish', () => {
    const stop: StopReason = { reason: 'stop_sequence', sequence: '###' };
    expect(
      encode([
        { type: 'start', id: '', model: 'm' },
        { type: 'end', stop },
      ]),
    ).toContain('"finish_reason":"stop","stop_reason":"###"');
    const body = chat.client.encodeReply({ id: '', model: 'm', parts: [], stop }, context());
    expect(body).toHaveProperty('choices.0.stop_reason', '###');
  });
});

test('an error without a type is one: whole, in a stream, and for a relay', () => {
  const error = { error: { message: 'busy' } };
  expect(decode([error])).toEqual([{ type: 'error', failure: { kind: 'failed', message: 'busy' } }]);
  expect(() => chat.provider.decodeReply(error)).toThrow('busy');
  expect(() => chat.relay.inspectReply({ choices: [], ...error })).toThrow('busy');
});
