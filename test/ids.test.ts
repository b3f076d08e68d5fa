// Ids and secrets: as long as asked for, of every character alike, never the same.
import { expect, it } from 'vitest';
import { createIds } from '../src/ids.ts';

it('gives as many characters of base62 as asked for, beyond what is made at a time too', () => {
  const ids = createIds();
  for (const length of [0, 1, 24, 43, 4000, 5, 20_000]) {
    expect(ids.random(length)).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`));
  }
});

it('gives none twice', () => {
  const ids = createIds();
  const made = Array.from({ length: 5000 }, () => ids.random(12));
  expect(new Set(made).size).toBe(made.length);
});

it('uses every character about as often as the others', () => {
  const counts = new Map<string, number>();
  for (const char of createIds().random(62 * 2000)) counts.set(char, (counts.get(char) ?? 0) + 1);
  expect(counts.size).toBe(62);
  // Twelve standard deviations: never by chance, and far less than a bias of one in 256 bytes would show over time.
  for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(540);
});
