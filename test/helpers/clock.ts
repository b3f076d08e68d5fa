// A clock that tests move by hand.
import type { Clock } from '../../src/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time and runs what is due, in order. */
  advance(ms: number): void;
  /** As on a machine that was suspended: what became due meanwhile runs once, late. */
  sleep(ms: number): void;
  /** How many tasks wait. */
  readonly waiting: number;
}

interface Task {
  at: number;
  task: () => void;
}

/** Of those of the same time the first that was added. An hour by a test has thousands of tasks: nothing is copied or sorted. */
function earliest(tasks: readonly Task[]): Task | undefined {
  let found: Task | undefined;
  for (const task of tasks) if (found === undefined || task.at < found.at) found = task;
  return found;
}

export function manualClock(start = Date.parse('2026-03-01T10:17:00Z')): ManualClock {
  let now = start;
  let tasks: Task[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, task) {
      const entry: Task = { at: now + ms, task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((other) => other !== entry);
      };
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const next = earliest(tasks);
        if (next === undefined || next.at > end) break;
        now = Math.max(now, next.at);
        tasks.splice(tasks.indexOf(next), 1);
        next.task();
      }
      now = end;
    },
    sleep(ms) {
      now += ms;
      const due = tasks.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      tasks = tasks.filter(({ at }) => at > now);
      for (const { task } of due) task();
    },
    get waiting() {
      return tasks.length;
    },
  };
}
