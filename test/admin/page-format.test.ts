// Durations on the page: no second and no minute has 60 parts of the next smaller unit.
import { expect, it } from 'vitest';
import { duration } from '../../src/admin/page/format.ts';

it.each([
  [0, ['0']],
  [999.4, ['999']],
  [999.6, ['1', '0']],
  [1240, ['1', '2']],
  [9960, ['10']],
  [59_400, ['59']],
  [59_600, ['1', '0']],
  [119_700, ['2', '0']],
  [3_599_700, ['1', '0']],
  [3_600_000 * 5 + 60_000 * 59, ['5', '59']],
])('%d ms', (ms, numbers) => {
  // Units and the decimal sign are those of the locale.
  expect(duration(ms).match(/\d+/g)).toEqual(numbers);
});
