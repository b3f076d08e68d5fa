// Rows of this protocol's tables that are easily lost: ends that stand alone, who called, what begins an answer and what does not.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { chat } from '../../../src/protocols/chat/index.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import { frame as chatFrame, chunk } from '../chat/frames.ts';
import { context, decodeAll, encodeAll, frame } from './support.ts';

const ended = (reason: string, more: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, ...more },
});
const STOP = { type: 'message_stop' };

it('a stop reason without any start is an answer all the same', () => {
  expect(decodeAll([ended('end_turn'), STOP]).map(({ type }) => type)).toEqual(['start', 'end']);
});

it('the sequence that matched is in the reply, whole and streamed', () => {
  const stop = { reason: 'stop_sequence', raw: 'stop_sequence', sequence: '###' };
  const sequence = { stop_sequence: '###' };
  expect(decodeAll([ended('stop_sequence', sequence), STOP]).at(-1)).toMatchObject({ stop });
  const whole = messages.provider.decodeReply({ content: [], stop_reason: 'stop_sequence', ...sequence });
  expect(whole.stop).toEqual(stop);
});

it('a compaction is an end that this protocol knows, and keeps its name', () => {
  const reply = messages.provider.decodeReply({ content: [], stop_reason: 'compaction' });
  expect(messages.client.encodeReply(reply, context()).stop_reason).toBe('compaction');
  expect(chat.client.encodeReply(reply, context())).toHaveProperty('choices.0.finish_reason', 'stop');
  expect(decodeAll([ended('compaction'), STOP]).at(-1)).toMatchObject({ type: 'end', stop: reply.stop });
});

it('who made a call is written, the model itself where nobody is named', () => {
  const call = (extra?: { caller: { type: string } }) =>
    encodeAll([
      { type: 'start', id: '', model: 'm' },
      { type: 'tool_start', index: 0, id: 'a', name: 'f', ...(extra && { extra }) },
    ]);
  expect(call({ caller: { type: 'code' } })).toContain('"caller":{"type":"code"}');
  expect(call()).toContain('"caller":{"type":"direct"}');
});

it('usage alone begins no answer', () => {
  const usage = { type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 1 } };
  const first = (value: JsonObject) =>
    messages.relay.createClassifier({ usageAsked: true }).classify(frame(value)).kind;
  expect(first(usage)).toBe('quiet');
  expect(first({ ...usage, delta: { stop_reason: 'end_turn' } })).toBe('finish');
});

it('an unknown word beside content is no silence', () => {
  const classifier = chat.relay.createClassifier({ usageAsked: true });
  const seen = (delta: JsonObject) =>
    classifier.classify(chatFrame(chunk(delta, { finish_reason: 'strange' })));
  expect(seen({ content: 'a' })).toEqual({ kind: 'finish' });
  expect(seen({})).toHaveProperty('silence');
});
