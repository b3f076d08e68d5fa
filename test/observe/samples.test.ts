// What the gateway keeps of the last seconds: bounded, without a watcher, together over workers.
import { expect, it } from 'vitest';
import { Trace } from '../../src/gateway/trace.ts';
import { createSamples, mergeSamples } from '../../src/observe/samples.ts';
import type { Key } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { identity } from '../helpers/identity.ts';

function stream(written: number, output?: number): Trace {
  const trace = new Trace({
    requestId: 'req_1',
    key: { id: 'key_one', account: 'alice', accountId: 1 } as Key,
    endpoint: 'chat',
    modelAsked: 'auto',
    streamed: true,
    startedAt: 0,
    passedOver: [],
    rule: undefined,
    identity: identity(),
    spans: undefined,
    held: false,
  });
  trace.progress.written = written;
  if (output !== undefined) trace.outcome = { status: 200, error: null, usage: { input: 1, output } };
  return trace;
}

function started() {
  const clock = manualClock();
  const samples = createSamples(clock);
  const take = (underWay: Trace[]) => {
    clock.advance(1000);
    samples.take(underWay);
    return samples.list().at(-1);
  };
  return { samples, take };
}

it('estimates tokens from bytes as the streams that ended had them, and says nothing before one has', () => {
  const { samples, take } = started();
  const slow = stream(1000);
  expect(take([slow])).toMatchObject({ in_flight: 1, tokens_per_second: null });
  samples.ended(stream(2000, 20));
  expect(take([slow])).toMatchObject({ in_flight: 1, tokens_per_second: 20 });
  slow.progress.written += 500;
  expect(take([slow])).toMatchObject({ tokens_per_second: 5 });
  expect(take([slow])).toMatchObject({ tokens_per_second: 0 });
  // Of a stream that ends, what was not counted yet.
  slow.progress.written += 500;
  slow.outcome = { status: 200, error: null, usage: { input: 1, output: 20 } };
  samples.ended(slow);
  expect(take([])).toMatchObject({ in_flight: 0, tokens_per_second: 5 });
});

it('takes pieces where somebody watches', () => {
  const { take } = started();
  const watched = stream(1000);
  Object.assign(watched.progress, { watched: true, pieces: 10, pieceBytes: 500 });
  expect(take([watched])).toMatchObject({ tokens_per_second: 20 });
});

it('keeps two minutes, each second once', () => {
  const { samples, take } = started();
  for (let second = 0; second < 500; second += 1) take([]);
  const times = samples.list().map(({ at }) => at);
  expect(times).toHaveLength(120);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe(119);
});

it('is one list for several workers, also where one of them knows no tokens', () => {
  const at = (second: number, inFlight: number, tokens: number | null) => ({
    at: second,
    in_flight: inFlight,
    tokens_per_second: tokens,
  });
  expect(
    mergeSamples([
      [at(2, 1, 10), at(3, 2, null)],
      [at(1, 1, 5), at(2, 3, 0.1), at(3, 1, 7)],
    ]),
  ).toEqual([at(1, 1, 5), at(2, 4, 10.1), at(3, 3, 7)]);
});
