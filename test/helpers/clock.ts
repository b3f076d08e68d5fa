// A clock that tests move by hand.
import type { Clock } from '../../src/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time and runs what is due, in order. */
  advance(ms: number): void;
  /** How many tasks wait. */
  readonly waiting: number;
}

export function manualClock(start = Date.parse('2026-03-01T10:17:00Z')): ManualClock {
  let now = start;
  let tasks: { at: number; task: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, task) {
      const entry = { at: now + ms, task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((other) => other !== entry);
      };
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [next] = tasks.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        now = Math.max(now, next.at);
        tasks = tasks.filter((other) => other !== next);
        next.task();
      }
      now = end;
    },
    get waiting() {
      return tasks.length;
    },
  };
}
