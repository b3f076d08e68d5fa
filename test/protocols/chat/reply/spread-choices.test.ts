import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { decodeReply } from '../../../../src/protocols/chat/reply/decode.ts';
import { decode, DONE } from '../frames.ts';

const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const TEXT = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Let me look.' } };

function partsOf(choices: object[]): unknown {
  return decodeReply({ id: 'c', model: 'm', choices });
}

describe('one answer over two choices', () => {
  test.each([1, 0, undefined])('is one, where the second is numbered %s', (index) => {
    const second = { index, finish_reason: 'tool_calls', message: { content: null, tool_calls: [CALL] } };
    expect(partsOf([TEXT, second])).toMatchObject({
      parts: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_call', id: 'call_1', name: 'look', arguments: '{}' },
      ],
      stop: { reason: 'tool_calls' },
    });
  });

  test('is two answers, where the second has text of its own', () => {
    const second = {
      index: 1,
      finish_reason: 'tool_calls',
      message: { content: 'Or so.', tool_calls: [CALL] },
    };
    expect(partsOf([TEXT, second])).toMatchObject({
      parts: [{ text: 'Let me look.' }],
      stop: { reason: 'end' },
    });
  });
});

test('a stream of one answer over two choices is one', () => {
  const at = (index: number, delta: JsonObject, finish: string | null = null) => ({
    id: 'c',
    model: 'm',
    choices: [{ index, delta, finish_reason: finish }],
  });
  const events = decode([
    at(0, { role: 'assistant', content: 'Let me look.' }),
    at(1, { tool_calls: [{ index: 0, ...CALL }] }),
    at(0, {}, 'stop'),
    at(1, {}, 'tool_calls'),
    DONE,
  ]);
  expect(events.find(({ type }) => type === 'tool_start')).toMatchObject({ id: 'call_1', name: 'look' });
  expect(events.at(-1)).toMatchObject({ type: 'end', stop: { reason: 'tool_calls' } });
});
