// One plural function for every counted noun that a person reads.
import { expect, it } from 'vitest';
import { plural } from '../src/plural.ts';

it.each([
  { count: 0, text: '0 keys' },
  { count: 1, text: '1 key' },
  { count: 2, text: '2 keys' },
  { count: 1_200_000, shown: '1.2M', text: '1.2M keys' },
])('writes $text', ({ count, shown, text }) => {
  expect(plural(count, 'key', shown)).toBe(text);
});
