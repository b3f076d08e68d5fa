// Time is injected, so that tests own it.

export interface Clock {
  /** Milliseconds since the epoch (UTC). */
  now(): number;
  /** Milliseconds of a clock that never jumps, for durations. */
  monotonic(): number;
  /** Runs `task` after `ms`; the returned function cancels it. Never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export const HOUR_MS = 3_600_000;
