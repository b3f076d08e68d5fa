// What refusals taught of targets: traits beside those of the configuration, for a protocol. Bounded, forgotten after a day and when the
// configuration changes; workers share it.
import type { ProtocolName } from '../canonical/request.ts';
import type { Traits } from '../canonical/traits.ts';
import type { Clock } from '../clock.ts';
import { teach } from '../protocols/refusals/teach.ts';
import type { Refusal } from '../protocols/refusals/refusal.ts';
import type { Target } from './targets.ts';

/** A target's traits that its refusals taught, and the words. */
export interface Lesson {
  /** `provider/model`. */
  target: string;
  protocol: ProtocolName;
  traits: Partial<Traits>;
  /** The provider's words, without secrets; the newest. */
  words: string;
  /** Milliseconds of the epoch at which it was learnt. */
  learntAt: number;
}

export interface Lessons {
  /** The target's traits with what was learnt for this protocol; the same object where that is nothing. */
  traitsFor(target: Target, protocol: ProtocolName): Traits;
  /** Undefined if the refusals say nothing new: asking again would end as before. */
  learn(
    target: Target,
    protocol: ProtocolName,
    refusals: readonly Refusal[],
    words: string,
  ): Lesson | undefined;
  /** Back to what was known before: the request failed in spite of it. */
  unlearn(lesson: Lesson): void;
  list(): readonly Lesson[];
  /** A lesson of another process. */
  adopt(lesson: Lesson): void;
  /** Another worker has taken a lesson back. */
  forget(key: string): void;
  forgetAll(): void;
}

const MOST_LESSONS = 500;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Members of a list in a lesson: a server that refuses more than these is not understood. */
const MOST_MEMBERS = 40;

/** `lesson` undefined: forgotten. */
export type LessonListener = (key: string, lesson: Lesson | undefined) => void;

interface Options {
  clock: Clock;
  /** Called when this process learns or unlearns. */
  onLesson?: LessonListener | undefined;
}

export function createLessons({ clock, onLesson }: Options): Lessons {
  const known = new Map<string, Lesson>();
  /** What stood in place of a lesson before it. */
  const before = new WeakMap<Lesson, Lesson | undefined>();

  function find(target: string, protocol: ProtocolName): Lesson | undefined {
    if (known.size === 0) return undefined;
    const key = keyOf(target, protocol);
    const lesson = known.get(key);
    if (lesson === undefined || clock.now() - lesson.learntAt < DAY_MS) return lesson;
    known.delete(key);
    return undefined;
  }

  function put(key: string, lesson: Lesson | undefined): void {
    known.delete(key);
    if (lesson === undefined) return;
    known.set(key, lesson);
    if (known.size <= MOST_LESSONS) return;
    for (const oldest of known.keys()) {
      known.delete(oldest);
      return;
    }
  }

  return {
    traitsFor(target, protocol) {
      const lesson = find(target.key, protocol);
      return lesson === undefined ? target.traits : { ...target.traits, ...lesson.traits };
    },
    learn(target, protocol, refusals, words) {
      const earlier = find(target.key, protocol);
      const traits = { ...target.traits, ...earlier?.traits };
      const taught = teach(refusals, traits, protocol);
      if (taught === undefined || (taught.rejectFields?.length ?? 0) > MOST_MEMBERS) return undefined;
      const lesson: Lesson = {
        target: target.key,
        protocol,
        traits: { ...earlier?.traits, ...taught },
        words,
        learntAt: clock.now(),
      };
      before.set(lesson, earlier);
      const key = keyOf(target.key, protocol);
      put(key, lesson);
      onLesson?.(key, lesson);
      return lesson;
    },
    unlearn(lesson) {
      const key = keyOf(lesson.target, lesson.protocol);
      if (known.get(key) !== lesson) return;
      put(key, before.get(lesson));
      onLesson?.(key, before.get(lesson));
    },
    list: () => [...known.values()].filter(({ learntAt }) => clock.now() - learntAt < DAY_MS),
    adopt: (lesson) => put(keyOf(lesson.target, lesson.protocol), lesson),
    forget: (key) => put(key, undefined),
    forgetAll: () => known.clear(),
  };
}

function keyOf(target: string, protocol: ProtocolName): string {
  return `${protocol} ${target}`;
}
