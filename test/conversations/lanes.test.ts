// The last requests of conversations: which line a request belongs to, and what is kept of ten thousand of them.
import { describe, expect, it } from 'vitest';
import type { PromptPrint } from '../../src/canonical/prompt-print.ts';
import { createLanes, laneOf, type LastRequest } from '../../src/conversations/misses/lanes.ts';
import { identity } from '../helpers/identity.ts';

const part = (...hashes: number[]): PromptPrint['tools'] => ({
  run: { bytes: hashes.length, hash: 1, cuts: [] },
  hashes: Uint32Array.from(hashes),
  life: 0,
});

function request(change: Partial<PromptPrint> = {}, more: Partial<LastRequest> = {}): LastRequest {
  const print: PromptPrint = {
    model: 'm',
    cacheKey: 0,
    parameters: {},
    tools: part(1, 11, 2, 22),
    system: part(5),
    messages: part(7, 8, 9),
    leading: 0,
    chained: false,
    life: 300_000,
    ...change,
  };
  return { print, target: 'p/m', credential: 0, askedAt: 0, answeredAt: 1, had: 5000, ...more };
}

const main = laneOf(identity());

describe('without a word of the client, a line is told by what two requests share', () => {
  it.each<[name: string, change: Partial<PromptPrint>]>([
    ['more messages', { messages: part(7, 8, 9, 10) }],
    ['another model', { model: 'other' }],
    ['a further tool', { tools: part(1, 11, 2, 22, 3, 33) }],
    ['other tools', { tools: part(3, 33) }],
    ['other system text', { system: part(6) }],
    ['rewritten messages', { messages: part(10) }],
  ])('the same: %s', (_, change) => {
    const lanes = createLanes();
    const last = request();
    lanes.keep(main, last);
    expect(lanes.find(main, request(change).print)).toBe(last);
  });

  it.each<[name: string, change: Partial<PromptPrint>]>([
    ['a title', { tools: part(), system: part(6), messages: part(12) }],
    ['a title of the same question', { tools: part(), system: part(6), messages: part(7) }],
    ['another agent', { tools: part(3, 33), system: part(6), messages: part(12) }],
  ])('another: %s', (_, change) => {
    const lanes = createLanes();
    const last = request();
    lanes.keep(main, last);
    expect(lanes.find(main, request(change).print)).toBeUndefined();
    lanes.keep(main, request(change));
    expect(lanes.find(main, request().print)).toBe(last);
  });

  it('a conversation has no more than four of them', () => {
    const lanes = createLanes();
    for (let at = 0; at < 10; at += 1) {
      lanes.keep(main, request({ tools: part(), system: part(100 + at), messages: part(200 + at) }));
    }
    expect(lanes.lastOf(main)).toHaveLength(4);
  });
});

it.each([
  ['main and compaction', { class: 'main' }, { class: 'compaction' }],
  ['two sub-agents', { agent: 'a1' }, { agent: 'a2' }],
])('what the client tells apart has lines of its own: %s', (_, one, other) => {
  const lanes = createLanes();
  const kept = request({ messages: part(1) });
  lanes.keep(laneOf(identity('c', one)), kept);
  expect(lanes.find(laneOf(identity('c', other)), kept.print)).toBeUndefined();
  const unlike = request({ tools: part(), system: part(), messages: part(99) });
  expect(lanes.find(laneOf(identity('c', one)), unlike.print)).toBe(kept);
});

it('the misses of a lane are counted by cause, with those of other workers', () => {
  const lanes = createLanes();
  expect(lanes.keep(main, request(), 'tools')).toBe(1);
  expect(lanes.keep(main, request(), 'system')).toBe(1);
  lanes.adopt({ lane: main, request: request({}, { answeredAt: 5 }), missed: 'tools' });
  expect(lanes.keep(main, request(), 'tools')).toBe(3);
  expect(lanes.keep(main, request())).toBe(0);
});

it('an older request of another worker does not take the place of a newer one', () => {
  const lanes = createLanes();
  const newer = request({}, { answeredAt: 10 });
  lanes.keep(main, newer);
  lanes.adopt({ lane: main, request: request({}, { answeredAt: 5 }) });
  expect(lanes.lastOf(main)).toEqual([newer]);
});

describe('memory is bounded', () => {
  const long = part(...Array.from({ length: 2048 }, (_, at) => at));

  it('with ten thousand conversations of a hundred messages, and more', () => {
    const lanes = createLanes();
    const usual = part(...Array.from({ length: 100 }, (_, at) => at));
    for (let at = 0; at < 25_000; at += 1)
      lanes.keep(laneOf(identity(`c${at}`)), request({ messages: usual }));
    expect(lanes.size.lanes).toBeLessThanOrEqual(10_000);
    expect(lanes.size.bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(lanes.lastOf(laneOf(identity('c24999')))).toHaveLength(1);
    expect(lanes.lastOf(laneOf(identity('c0')))).toEqual([]);
  });

  it('with the longest ones, of which fewer are kept', () => {
    const lanes = createLanes();
    for (let at = 0; at < 10_000; at += 1)
      lanes.keep(laneOf(identity(`c${at}`)), request({ messages: long }));
    expect(lanes.size.bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(lanes.size.lanes).toBeGreaterThan(1000);
  });
});
