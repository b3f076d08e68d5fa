// What a worker that starts later is told: bounded by topic, so that many conversations cost no target its health.
import { expect, it } from 'vitest';
import { createBoard } from '../../src/workers/board.ts';
import { manualClock } from '../helpers/clock.ts';

it('keeps the last values of each topic, whatever others hold', () => {
  const board = createBoard(manualClock());
  const health = { openMs: 0, coolMs: 0 };
  board.set({ topic: 'health', key: 'p/m', value: health });
  for (let number = 0; number < 10_000; number += 1) {
    board.set({ topic: 'affinity', key: `conv_${number}`, value: number });
    board.set({ topic: 'beginnings', key: `begun_${number}`, value: number });
  }
  const values = board.values();
  const of = (topic: string) => values.filter((shared) => shared.topic === topic);
  expect(of('health')).toMatchObject([{ key: 'p/m' }]);
  expect(of('affinity')).toHaveLength(4096);
  expect(of('affinity').at(-1)).toMatchObject({ key: 'conv_9999' });
  board.remove('affinity');
  expect(board.values()).toHaveLength(4097);
});
