// Ids and secrets: as long as asked for, of every character alike, never the same.
import { describe, expect, it } from 'vitest';
import { createIds, createRequestIds, readRequestId } from '../src/ids.ts';

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

describe('the id of a request', () => {
  const NOW = Date.parse('2026-11-22T13:40:00.123Z');

  it('tells the time at which the request arrived, and sorts by it', () => {
    const clock = { now: NOW };
    const next = createRequestIds(createIds(), () => clock.now);
    const made = [next(), next()];
    clock.now += 1;
    made.push(next());
    for (const id of made) expect(id).toMatch(/^req_[0-9A-Za-z]{24}$/);
    expect(new Set(made).size).toBe(3);
    const [first = '', , last = ''] = made;
    expect(first < last).toBe(true);
    expect(readRequestId(first)).toEqual({ prefix: first, isWhole: true, from: NOW, to: NOW });
    expect(readRequestId(last)).toEqual({ prefix: last, isWhole: true, from: NOW + 1, to: NOW + 1 });
  });

  it('is found by its beginning, with and without `req_`', () => {
    const id = createRequestIds(createIds(), () => NOW)();
    for (const length of [5, 8, 10, 11, 12, 20]) {
      const prefix = id.slice(0, length);
      const { from = Infinity, to = 0 } = readRequestId(prefix) ?? {};
      expect(from).toBeLessThanOrEqual(NOW);
      expect(to).toBeGreaterThanOrEqual(NOW);
      expect(readRequestId(prefix.slice('req_'.length))).toMatchObject({ prefix, from, to });
    }
  });

  it.each(['', 'req_', 'req_a b', 'msg_01abc', 'x'.repeat(25), 'req_é'])('does not begin with %j', (text) => {
    expect(readRequestId(text)).toBeUndefined();
  });
});
