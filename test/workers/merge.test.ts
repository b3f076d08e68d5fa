// Several workers as one gateway: their metrics, and what runs now.
import { expect, test } from 'vitest';
import { mergeFrames } from '../../src/workers/crowd.ts';
import { createMetrics } from '../../src/workers/metrics.ts';
import type { LiveFrame } from '../../src/observe/live.ts';

const page = (value: number): string =>
  `# HELP a Text with {braces}.\n# TYPE a counter\na{model="x{y} z"} ${value}\n# HELP b B.\n# TYPE b gauge\nb ${value}\n`;

test('the metrics of several workers have each family once, and a label for the worker', () => {
  const metrics = createMetrics();
  metrics.add(1, 100, page(3));
  metrics.add(2, 101, page(4));
  expect(metrics.read().split('\n')).toEqual([
    '# HELP a Text with {braces}.',
    '# TYPE a counter',
    'a{worker="1",model="x{y} z"} 3',
    'a{worker="2",model="x{y} z"} 4',
    '# HELP b B.',
    '# TYPE b gauge',
    'b{worker="1"} 3',
    'b{worker="2"} 4',
    '',
  ]);
});

test('counters of a worker never fall when it ends or is replaced, and each series stands once', () => {
  const metrics = createMetrics();
  const read = (): string[] =>
    metrics
      .read()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
  metrics.add(1, 100, page(3));
  // The new one answers beside the old one.
  metrics.add(1, 101, page(2));
  expect(read()).toEqual(['a{worker="1",model="x{y} z"} 5', 'b{worker="1"} 2']);
  metrics.ended(1, 100, page(4));
  expect(read()).toEqual(['a{worker="1",model="x{y} z"} 6', 'b{worker="1"} 2']);
  // Killed: its last page is what is known.
  metrics.ended(1, 101, '');
  expect(read()).toEqual(['a{worker="1",model="x{y} z"} 6']);
  metrics.add(1, 102, page(1));
  expect(read()).toEqual(['a{worker="1",model="x{y} z"} 7', 'b{worker="1"} 1']);
});

const frame = (changes: Partial<LiveFrame>): LiveFrame => ({
  at: '2026-01-01T00:00:00.000Z',
  totals: { requests: 1, errors: 1, refused: 0, output_tokens: 5, cost_usd: 0.5 },
  in_flight: 1,
  requests: [],
  targets: [],
  conversations: [],
  ...changes,
});

test('frames of several workers are one: sums, the oldest request first, each target once', () => {
  const request = (id: string, age: number): LiveFrame['requests'][number] => ({
    ...{
      id,
      account: 'a',
      model_asked: 'm',
      conversation: null,
      target: 'p/m',
      stream: true,
      state: 'answering' as const,
    },
    ...{ age_ms: age, attempts: 1, output_tokens: null, tokens_per_second: null },
  });
  const target = (changes: object): LiveFrame['targets'][number] => ({
    ...{ target: 'p/m', state: 'healthy' as const, wait_ms: 0, in_flight: 1, first_byte_ms: null },
    ...changes,
  });
  const merged = mergeFrames([
    frame({ requests: [request('young', 1)], targets: [target({})] }),
    frame({
      at: '2026-01-01T00:00:01.000Z',
      requests: [request('old', 9)],
      targets: [target({ state: 'cooling', wait_ms: 50, first_byte_ms: 7 })],
    }),
  ]);
  expect(merged).toMatchObject({
    at: '2026-01-01T00:00:01.000Z',
    totals: { requests: 2, errors: 2, refused: 0, output_tokens: 10, cost_usd: 1 },
    in_flight: 2,
    requests: [{ id: 'old' }, { id: 'young' }],
    targets: [{ target: 'p/m', state: 'cooling', wait_ms: 50, in_flight: 2, first_byte_ms: 7 }],
  });
  expect(mergeFrames([])).toBeUndefined();
});
