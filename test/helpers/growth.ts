// How the work of a function grows with the text that it is given: processor time at 10,000 characters and at a million.

const SMALL = 10_000;
const STEPS = [100_000, 1_000_000];
/** A linear function takes ten times as long at each step, a quadratic one a hundred times. */
const MOST_PER_STEP = 10 * 4;
/** Milliseconds: shorter times are noise, on a machine that others load too. */
const NOISE = 10;
/** More are made only while the time is too long: other threads of the process can disturb several in a row. */
const TRIES = 8;

/** The least of several tries, in milliseconds of this process' own work. */
function timeOf(run: () => unknown, enough: number): number {
  let least = Infinity;
  for (let tries = 0; tries < TRIES && least > enough; tries++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/**
 * Undefined where the work grows as the text does; else what was measured. `prepare` makes the text, which is not measured, and
 * gives the work on it. Stops at the first step that grows too fast: the next one could take hours.
 */
export function fasterThanLinear(prepare: (characters: number) => () => unknown): string | undefined {
  let last = Math.max(NOISE, timeOf(prepare(SMALL), NOISE));
  for (const size of STEPS) {
    const most = MOST_PER_STEP * last;
    const time = timeOf(prepare(size), most);
    if (time > most)
      return `${size} characters: ${time.toFixed(1)} ms, a tenth of them: ${last.toFixed(1)} ms`;
    last = Math.max(NOISE, time);
  }
  return undefined;
}
