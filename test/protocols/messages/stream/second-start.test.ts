// A second message_start: the same message told again, or another one spliced into its stream, which is no answer at all.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/canonical/json.ts';
import { mover, send } from '../../../translation/pipeline.ts';
import { decodeAll } from '../support.ts';

const start = (id: string | undefined): JsonObject => ({
  type: 'message_start',
  message: { ...(id !== undefined && { id }), content: [], usage: { input_tokens: 5, output_tokens: 1 } },
});
const block = (index: number): JsonObject[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'hi' } },
];
const END: JsonObject[] = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];

function write(values: readonly JsonObject[], named: boolean): Buffer {
  const lines = values.map((value) => {
    const event = named && typeof value.type === 'string' ? `event: ${value.type}\n` : '';
    return `${event}data: ${JSON.stringify(value)}\n\n`;
  });
  return Buffer.from(lines.join(''));
}

/** Whether the stream is a success, translated and relayed. */
function succeeds(values: readonly JsonObject[]): boolean[] {
  const relayed = [true, false].map(
    (named) => send([write(values, named)], mover('messages', 'messages')).complete,
  );
  return [decodeAll(values).at(-1)?.type === 'end', ...relayed];
}

describe('a second start', () => {
  it.each([
    ['with another id', 'msg_1', 'msg_2', false],
    ['with the same id', 'msg_1', 'msg_1', true],
    ['without an id', 'msg_1', undefined, true],
    ['with the first id', undefined, 'msg_1', true],
  ])('%s', (_, first, second, fine) => {
    const before = [start(first), start(second), ...block(0), ...END];
    const within = [start(first), ...block(0), start(second), ...block(1), ...END];
    for (const values of [before, within]) expect(succeeds(values)).toEqual(Array(3).fill(fine));
  });

  it('is a broken stream: malformed, with what came before it', () => {
    const events = decodeAll([start('msg_1'), ...block(0), start('msg_2'), ...block(0), ...END]);
    expect(events).toContainEqual({ type: 'text_delta', index: 0, text: 'hi' });
    expect(events.at(-1)).toMatchObject({ type: 'error', failure: { reason: 'malformed' } });
  });

  it('is not forwarded either if it has no count', () => {
    const bare = { type: 'message_start', message: { id: 'msg_2' } };
    expect(succeeds([start('msg_1'), ...block(0), bare, ...END])).toEqual([false, false, false]);
  });
});
