// A replayed answer comes in its pieces, at the times at which they came; a reader may pause, and a client may leave.
import { expect, it } from 'vitest';
import { CancellationSource } from '../../src/cancellation.ts';
import { playedReply } from '../../src/tapes/replay/answer.ts';
import { manualClock } from '../helpers/clock.ts';

function played(end: 'whole' | 'broken' = 'whole') {
  const clock = manualClock();
  const cancellation = new CancellationSource();
  const pieces = [10, 20, 500].map((ms) => ({ ms, bytes: Buffer.from(`at ${ms}`) }));
  const { body } = playedReply({ status: 200, headers: new Map(), pieces, end }, clock, cancellation);
  const seen: string[] = [];
  body.start({
    chunk: (bytes) => seen.push(bytes.toString()),
    end: (clean) => seen.push(`end ${clean}`),
    fail: ({ reason }) => seen.push(`failed: ${reason}`),
  });
  return { clock, cancellation, body, seen };
}

it('gives each piece when it came', () => {
  const { clock, seen } = played();
  expect(seen).toEqual([]);
  clock.advance(20);
  expect(seen).toEqual(['at 10', 'at 20']);
  clock.advance(479);
  expect(seen).toHaveLength(2);
  clock.advance(1);
  expect(seen).toEqual(['at 10', 'at 20', 'at 500', 'end true']);
});

it('waits for a reader that pauses, and gives what was due meanwhile', () => {
  const { clock, body, seen } = played();
  clock.advance(10);
  body.pause();
  clock.advance(1000);
  expect(seen).toEqual(['at 10']);
  body.resume();
  expect(seen).toEqual(['at 10', 'at 20', 'at 500', 'end true']);
});

it('breaks off where the recorded answer did, and ends with a client that leaves', () => {
  const broken = played('broken');
  broken.clock.advance(500);
  expect(broken.seen.at(-1)).toBe('failed: truncated');
  const left = played();
  left.clock.advance(10);
  left.cancellation.cancel(new Error('left'));
  left.clock.advance(1000);
  expect(left.seen).toEqual(['at 10', 'failed: aborted']);
});
