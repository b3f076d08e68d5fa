// Time is injected, so that tests control it.

export interface Clock {
  /** Milliseconds since the epoch (UTC). */
  now(): number;
  /** Milliseconds of a clock that never jumps, for durations. */
  monotonic(): number;
  /**
   * Runs `task` after `ms`, and after the bytes that wait in sockets by then are read: a process that was stopped or busy must not
   * take its own pause for a peer's silence. The returned function cancels it. Never keeps the process alive.
   */
  after(ms: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic() {
    // `performance` would load Node's module of measurements, which most commands do without.
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  after(ms, task) {
    let immediate: NodeJS.Immediate | undefined;
    // Due timers run before sockets are read, immediates after.
    const timer = setTimeout(() => {
      immediate = setImmediate(task);
    }, ms);
    timer.unref();
    return () => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
  },
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The start of the hour (UTC) that requests are counted in. */
export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

/** ISO 8601 in UTC, or null. */
export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
