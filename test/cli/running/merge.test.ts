// Several workers as one gateway: metrics.
import { expect, test } from 'vitest';
import { mergeMetrics } from '../../../src/cli/commands/running/workers/merge.ts';

const page = (value: number): string =>
  `# HELP a Text with {braces}.\n# TYPE a counter\na{model="x{y} z"} ${value}\n# HELP b B.\n# TYPE b gauge\nb ${value}\n`;

test('the metrics of several workers have each family once, and a label for the worker', () => {
  const merged = mergeMetrics([
    { worker: 1, text: page(3) },
    { worker: 2, text: page(4) },
  ]);
  expect(merged.split('\n')).toEqual([
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
