import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { createLessons, type Lesson } from '../../src/routing/lessons.ts';
import type { Target } from '../../src/routing/targets.ts';
import { manualClock } from '../helpers/clock.ts';

const target = (key: string): Target => ({ key, traits: DEFAULT_TRAITS }) as Target;
const STORE = [{ kind: 'member', path: 'store' }] as const;
const SEED = [{ kind: 'member', path: 'seed' }] as const;

describe('lessons of refusals', () => {
  it('act for one target and one protocol', () => {
    const lessons = createLessons({ clock: manualClock() });
    lessons.learn(target('a/x'), 'chat', STORE, 'no store');
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store']);
    expect(lessons.traitsFor(target('a/x'), 'messages')).toBe(DEFAULT_TRAITS);
    expect(lessons.traitsFor(target('a/y'), 'chat')).toBe(DEFAULT_TRAITS);
    expect(lessons.learn(target('a/x'), 'chat', STORE, 'no store')).toBeUndefined();
  });

  it('add up, and one that did not help is taken back', () => {
    const lessons = createLessons({ clock: manualClock() });
    lessons.learn(target('a/x'), 'chat', STORE, 'no store');
    const second = lessons.learn(target('a/x'), 'chat', SEED, 'no seed');
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store', 'seed']);
    if (second) lessons.unlearn(second);
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store']);
  });

  it('are forgotten after a day, and all at once', () => {
    const clock = manualClock();
    const lessons = createLessons({ clock });
    lessons.learn(target('a/x'), 'chat', STORE, 'no store');
    clock.advance(24 * 60 * 60 * 1000);
    expect(lessons.traitsFor(target('a/x'), 'chat')).toBe(DEFAULT_TRAITS);
    expect(lessons.list()).toEqual([]);
    lessons.learn(target('a/x'), 'chat', STORE, 'no store');
    lessons.forgetAll();
    expect(lessons.list()).toEqual([]);
  });

  it('of another worker are adopted and forgotten', () => {
    const shared: [string, Lesson | undefined][] = [];
    const one = createLessons({
      clock: manualClock(),
      onLesson: (key, lesson) => shared.push([key, lesson]),
    });
    const other = createLessons({ clock: manualClock() });
    const lesson = one.learn(target('a/x'), 'chat', STORE, 'no store');
    for (const [, value] of shared.splice(0)) if (value) other.adopt(value);
    expect(other.list()).toEqual([lesson]);
    if (lesson) one.unlearn(lesson);
    for (const [key] of shared) other.forget(key);
    expect(other.list()).toEqual([]);
  });

  it('are few, whatever names clients send', () => {
    const lessons = createLessons({ clock: manualClock() });
    for (let at = 0; at < 2000; at++) lessons.learn(target(`a/${at}`), 'chat', STORE, 'no store');
    expect(lessons.list()).toHaveLength(500);
    expect(lessons.traitsFor(target('a/1999'), 'chat').rejectFields).toEqual(['store']);
  });
});
