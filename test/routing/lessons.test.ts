import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { createLessons, type Lesson, type Lessons } from '../../src/routing/state/lessons.ts';
import type { Refusal } from '../../src/protocols/refusals/refusal.ts';
import type { Target } from '../../src/routing/targets.ts';
import { manualClock } from '../helpers/clock.ts';

const target = (key: string): Target => ({ key, traits: DEFAULT_TRAITS }) as Target;
const STORE = [{ kind: 'member', path: 'store' }] as const;
const SEED = [{ kind: 'member', path: 'seed' }] as const;

function learn(lessons: Lessons, to: Target, refusals: readonly Refusal[]): Lesson | undefined {
  const lesson = lessons.draft(to, 'chat', { refusals, words: 'no' });
  if (lesson !== undefined) lessons.keep(lesson);
  return lesson;
}

describe('lessons of refusals', () => {
  it('act for one target and one protocol', () => {
    const lessons = createLessons({ clock: manualClock() });
    learn(lessons, target('a/x'), STORE);
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store']);
    expect(lessons.traitsFor(target('a/x'), 'messages')).toBe(DEFAULT_TRAITS);
    expect(lessons.traitsFor(target('a/y'), 'chat')).toBe(DEFAULT_TRAITS);
    expect(learn(lessons, target('a/x'), STORE)).toBeUndefined();
  });

  it('add up, and a draft acts nowhere but where it is asked for', () => {
    const lessons = createLessons({ clock: manualClock() });
    learn(lessons, target('a/x'), STORE);
    const draft = lessons.draft(target('a/x'), 'chat', { refusals: SEED, words: 'no' });
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store']);
    if (draft === undefined) throw new Error('it says something new');
    expect(lessons.with(draft).traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store', 'seed']);
    expect(lessons.with(draft).traitsFor(target('a/y'), 'chat')).toBe(DEFAULT_TRAITS);
    lessons.keep(draft);
    expect(lessons.traitsFor(target('a/x'), 'chat').rejectFields).toEqual(['store', 'seed']);
  });

  it('are forgotten after a day, and all at once', () => {
    const clock = manualClock();
    const lessons = createLessons({ clock });
    learn(lessons, target('a/x'), STORE);
    clock.advance(24 * 60 * 60 * 1000);
    expect(lessons.traitsFor(target('a/x'), 'chat')).toBe(DEFAULT_TRAITS);
    expect(lessons.list()).toEqual([]);
    learn(lessons, target('a/x'), STORE);
    lessons.forget(() => true);
    expect(lessons.list()).toEqual([]);
  });

  it('of another worker are adopted', () => {
    const other = createLessons({ clock: manualClock() });
    const one = createLessons({ clock: manualClock(), onLesson: (_, lesson) => other.adopt(lesson) });
    const lesson = learn(one, target('a/x'), STORE);
    expect(other.list()).toEqual([lesson]);
  });

  it('are few, whatever names clients send', () => {
    const lessons = createLessons({ clock: manualClock() });
    for (let at = 0; at < 2000; at++) learn(lessons, target(`a/${at}`), STORE);
    expect(lessons.list()).toHaveLength(500);
    expect(lessons.traitsFor(target('a/1999'), 'chat').rejectFields).toEqual(['store']);
  });
});
