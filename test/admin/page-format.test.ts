// Durations on the page: no second and no minute has 60 parts of the next smaller unit; marks of an axis have one unit.
import { expect, it } from 'vitest';
import { ago, change, duration, durationMarks } from '../../src/admin/page/format.ts';

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

it.each([
  [
    [0, 2000, 4000],
    ['0', '2', '4'],
  ],
  [
    [0, 500, 1000],
    ['0.0', '0.5', '1.0'],
  ],
  [
    [0, 200, 400],
    ['0', '200', '400'],
  ],
  [
    [0, 60_000],
    ['0', '1'],
  ],
])('marks of an axis have one unit: %j', (marks, numbers) => {
  const texts = durationMarks(marks);
  expect(texts.map((text) => /[\d.,]+/.exec(text)?.[0].replace(',', '.'))).toEqual(numbers);
  expect(new Set(texts.map((text) => text.replace(/[\d.,]+| .*/g, ''))).size).toBe(1);
});

it.each([
  [136, 100, '36'],
  [1504, 100, '1404'],
  [100.4, 100, '0.4'],
])('%d after %d is a change that nobody has to count digits of', (now, before, digits) => {
  expect(
    change(now, before)
      ?.replace(/[^\d.,]/g, '')
      .replace(/,(?=\d{3})/, ''),
  ).toBe(digits);
});

it.each([
  [59.4, '59'],
  [59.6, '1'],
  [89, '1'],
  [59.4 * 60, '59'],
  [59.6 * 60, '1'],
  [23.4 * 3600, '23'],
  [23.6 * 3600, '1'],
])('%d seconds ago have no 60 parts either', (seconds, number) => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  const at = new Date(now - seconds * 1000).toISOString();
  // A day ago may be a word of the locale.
  expect(ago(at, now).match(/\d+/)?.[0] ?? '1').toBe(number);
});
