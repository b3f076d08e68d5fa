// What refusals taught of targets: traits beside those of the configuration, for a protocol. Bounded, forgotten after a day and when the
// configuration changes; workers share it.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Clock } from '../../clock.ts';
import { teach } from '../../protocols/refusals/teach.ts';
import type { Refusal } from '../../protocols/refusals/refusal.ts';
import { snakeCase } from '../../snake-case.ts';
import type { Target } from '../targets.ts';

/** A target's traits that its refusals taught, and the words. */
export interface Lesson {
  /** `provider/model`. */
  target: string;
  protocol: ProtocolName;
  traits: Partial<Traits>;
  /** The provider's words, without secrets; the newest. */
  words: string;
  /** When it was learnt, in milliseconds since the epoch. */
  learntAt: number;
}

export interface Lessons {
  /** The target's traits with what was learnt for this protocol; the same object where that is nothing. */
  traitsFor(target: Target, protocol: ProtocolName): Traits;
  /** What refusals add to what is known, or to `before`; undefined: nothing, so that asking again would end as it did. */
  draft(target: Target, protocol: ProtocolName, said: Said): Lesson | undefined;
  /** The traits of targets with a lesson that is not kept yet. */
  with(lesson: Lesson): Pick<Lessons, 'traitsFor'>;
  /** From now on the lesson holds, for other workers too. */
  keep(lesson: Lesson): void;
  list(): readonly Lesson[];
  /** A lesson of another process. */
  adopt(lesson: Lesson): void;
  /** Those of targets that pass `test`. */
  forget(test: (target: string) => boolean): void;
}

const MOST_LESSONS = 500;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Members of a list in a lesson: a server that refuses more than these is not understood. */
const MOST_MEMBERS = 40;

interface Said {
  refusals: readonly Refusal[];
  words: string;
  before?: Lesson | undefined;
}

export type LessonListener = (key: string, lesson: Lesson) => void;

interface Options {
  clock: Clock;
  /** Called when this process learns. */
  onLesson?: LessonListener | undefined;
}

export function createLessons({ clock, onLesson }: Options): Lessons {
  const known = new Map<string, Lesson>();

  function find(target: string, protocol: ProtocolName): Lesson | undefined {
    if (known.size === 0) return undefined;
    const key = keyOf(target, protocol);
    const lesson = known.get(key);
    if (lesson === undefined || clock.now() - lesson.learntAt < DAY_MS) return lesson;
    known.delete(key);
    return undefined;
  }

  function put(lesson: Lesson): void {
    const key = keyOf(lesson.target, lesson.protocol);
    known.delete(key);
    known.set(key, lesson);
    if (known.size <= MOST_LESSONS) return;
    for (const oldest of known.keys()) {
      known.delete(oldest);
      return;
    }
  }

  function traitsFor(target: Target, protocol: ProtocolName): Traits {
    const lesson = find(target.key, protocol);
    return lesson === undefined ? target.traits : { ...target.traits, ...lesson.traits };
  }

  return {
    traitsFor,
    draft(target, protocol, { refusals, words, before = find(target.key, protocol) }) {
      const taught = teach(refusals, { ...target.traits, ...before?.traits }, protocol);
      if (taught === undefined || (taught.rejectFields?.length ?? 0) > MOST_MEMBERS) return undefined;
      const traits = { ...before?.traits, ...taught };
      return { target: target.key, protocol, traits, words, learntAt: clock.now() };
    },
    with: (lesson) => ({
      traitsFor: (target, protocol) =>
        target.key === lesson.target && protocol === lesson.protocol
          ? { ...target.traits, ...lesson.traits }
          : traitsFor(target, protocol),
    }),
    keep(lesson) {
      put(lesson);
      onLesson?.(keyOf(lesson.target, lesson.protocol), lesson);
    },
    list: () => [...known.values()].filter(({ learntAt }) => clock.now() - learntAt < DAY_MS),
    adopt: put,
    forget(test) {
      for (const [key, { target }] of known) if (test(target)) known.delete(key);
    },
  };
}

/** `reject_fields store`, `efforts low high`: what a lesson changes, for people. */
export function lessonChanges({ traits }: Pick<Lesson, 'traits'>): string[] {
  return Object.entries(traits).map(([name, value]) => `${snakeCase(name)} ${valueText(value)}`);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(' ');
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function keyOf(target: string, protocol: ProtocolName): string {
  return `${protocol} ${target}`;
}
