// What a running gateway says of itself: requests under way, those that ended or were refused. Slow and absent readers cost nothing.
import { expect, it, onTestFinished } from 'vitest';
import { createLive, type LiveFrame, type NewRequests } from '../../src/observe/live.ts';
import { createHealth } from '../../src/routing/state/health.ts';
import { Trace } from '../../src/gateway/trace.ts';
import type { Key } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { usageRow } from '../store/support.ts';
import { identity } from '../helpers/identity.ts';

const key = { id: 'key_one', account: 'alice', accountId: 1 } as Key;

function trace(requestId: string, startedAt = 0, conversation = requestId): Trace {
  const known = {
    modelAsked: 'auto',
    streamed: true,
    passedOver: [],
    rule: undefined,
    spans: undefined,
    held: false,
  };
  return new Trace({
    requestId,
    key,
    endpoint: 'chat',
    startedAt,
    identity: identity(conversation),
    ...known,
  });
}

function started() {
  const clock = manualClock();
  return { clock, live: createLive({ health: createHealth(clock), clock }) };
}

it('shows a request from its start to its end, with the tokens of its stream by estimate', () => {
  const { clock, live } = started();
  const frames: LiveFrame[] = [];
  const one = trace('req_1', clock.monotonic());
  live.started(one);
  const stop = live.watch((frame) => frames.push(frame));
  expect(one.progress.watched).toBe(true);
  expect(frames.at(-1)).toMatchObject({
    in_flight: 1,
    requests: [{ id: 'req_1', state: 'waiting', output_tokens: 0 }],
  });
  one.firstByteAt = clock.monotonic();
  one.progress.written = 1000;
  one.progress.pieces = 10;
  one.progress.pieceBytes = 500;
  clock.advance(500);
  expect(frames.at(-1)?.requests).toMatchObject([{ state: 'answering', age_ms: 500, output_tokens: 20 }]);
  live.finished(one);
  clock.advance(500);
  expect(frames.at(-1)).toMatchObject({ in_flight: 0, requests: [] });
  stop();
  const { length } = frames;
  clock.advance(5000);
  expect(frames).toHaveLength(length);
});

it('counts no pieces while nobody watches', () => {
  const { live } = started();
  const one = trace('req_1');
  live.started(one);
  expect(one.progress.watched).toBe(false);
  const [first, second] = [live.watch(() => undefined), live.watch(() => undefined)];
  first();
  expect(one.progress.watched).toBe(true);
  second();
  expect(one.progress.watched).toBe(false);
});

it('makes no JSON of requests that a follower does not want, and says how many they were', () => {
  const { clock, live } = started();
  const events: NewRequests[] = [];
  onTestFinished(live.follow((event) => events.push(event), 100));
  for (let at = 0; at < 250; at += 1) live.recorded(usageRow({ requestId: `req_${at}`, at }), trace('req'));
  clock.advance(500);
  expect(events).toMatchObject([{ missed: 150 }]);
  expect(events[0]?.requests.map(({ id }) => id)).toEqual(
    Array.from({ length: 100 }, (_, index) => `req_${150 + index}`),
  );
});

it('gives new requests together, each once, and says how many it has forgotten', () => {
  const { clock, live } = started();
  const events: NewRequests[] = [];
  const one = trace('req_1');
  live.recorded(usageRow({ requestId: 'req_before' }), one);
  const stop = live.follow((event) => events.push(event));
  clock.advance(2000);
  expect(events).toEqual([]);
  live.recorded(usageRow({ requestId: 'req_1', at: 5 }), one);
  live.wasRefused({
    at: 4,
    requestId: 'req_2',
    account: 'bob',
    path: '/v1/x',
    status: 404,
    kind: 'not_found',
    message: 'm',
  });
  clock.advance(500);
  expect(events).toMatchObject([
    {
      missed: 0,
      requests: [
        { id: 'req_2', refused: true, account: 'bob' },
        { id: 'req_1', account: 'alice' },
      ],
    },
  ]);
  for (let at = 0; at < 2500; at += 1) live.recorded(usageRow({ at }), one);
  clock.advance(500);
  expect(events[1]?.requests).toHaveLength(1000);
  expect(events[1]?.missed).toBe(1500);
  stop();
});

it('sums up conversations, the latest first', () => {
  const { live } = started();
  const row = usageRow({ input: 10, cacheRead: 5, cacheWrite: null, output: 2, costUsd: 0.5 });
  live.recorded({ ...row, conversation: 'conv_one' }, trace('a'));
  live.recorded({ ...row, conversation: 'b' }, trace('b'));
  live.recorded({ ...row, conversation: 'conv_one', costUsd: null }, trace('c'));
  let frame: LiveFrame | undefined;
  live.watch((next) => (frame = next))();
  expect(frame?.conversations).toMatchObject([
    { conversation: 'conv_one', requests: 2, input_tokens: 30, output_tokens: 4, cost_usd: 0.5 },
    { conversation: 'b', account: 'alice', model: 'echo', requests: 1, cost_usd: 0.5 },
  ]);
  expect(frame?.totals).toMatchObject({ requests: 3, errors: 0, output_tokens: 6, cost_usd: 1 });
});

it('sums up the last 1,000 requests alone', () => {
  const { live } = started();
  const row = usageRow({ input: 1, cacheRead: null, cacheWrite: null, output: 1, costUsd: null });
  for (let at = 0; at < 1500; at += 1)
    live.recorded({ ...row, conversation: at < 700 ? 'first' : 'second' }, trace('a'));
  let frame: LiveFrame | undefined;
  live.watch((next) => (frame = next))();
  expect(frame?.conversations).toMatchObject([
    { conversation: 'second', requests: 800 },
    { conversation: 'first', requests: 200 },
  ]);
});

it('lists requests by their age, in whatever order others end', () => {
  const { live } = started();
  const traces = [1, 2, 3, 4, 5].map((at) => trace(`req_${at}`, at));
  const [first, second, , fourth] = traces;
  for (const one of traces) live.started(one);
  for (const one of [first, fourth, second, second]) if (one !== undefined) live.finished(one);
  expect(live.recent().under_way).toEqual(['req_3', 'req_5']);
  live.started(trace('req_6', 6));
  expect(live.recent().under_way).toEqual(['req_3', 'req_5', 'req_6']);
});
