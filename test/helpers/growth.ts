// How the work of a function grows with the text that it is given: processor time at 1,000 characters, and at up to a million.
import { runInThisContext } from 'node:vm';

const SIZES = [1000, 10_000, 100_000, 1_000_000];
/** A linear function takes ten times as long at each step, a quadratic one a hundred times. */
const MOST_PER_STEP = 10 * 4;
/** Milliseconds: shorter times are noise, on a machine that others load too. */
const NOISE = 10;
/** More are made only while the time is too long: other threads of the process can disturb several in a row. */
const TRIES = 8;
/** Beyond the bound by this factor, no other thread is the cause, and another try would only take as long. */
const HOPELESS = 2;
/** Milliseconds on the clock, not of the processor: what takes so long, such as exponential work, is ended. */
const PATIENCE = 60_000;

/** Calls the function; false: it was ended because it took too long. Nothing else can end a function that does not return. */
export function isDone(run: () => unknown, patience = PATIENCE): boolean {
  Reflect.set(globalThis, 'measured', run);
  try {
    runInThisContext('void globalThis.measured()', { timeout: patience });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  } finally {
    Reflect.deleteProperty(globalThis, 'measured');
  }
}

/** Milliseconds of this process' own work: those on the clock depend on what else the machine does. */
export function processorTime(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Infinity: it was ended. */
function timeWithin(run: () => unknown, patience: number): number {
  let done = false;
  const time = processorTime(() => {
    done = isDone(run, patience);
  });
  return done ? time : Infinity;
}

/** The least of several tries. */
function timeOf(run: () => unknown, enough: number, hopeless: number, patience: number): number {
  let least = Infinity;
  for (let tries = 0; tries < TRIES && least > enough; tries++) {
    least = Math.min(least, timeWithin(run, patience));
    if (least >= hopeless) break;
  }
  return least;
}

/**
 * Undefined where the work grows as the text does; else what was measured. `prepare` makes the text, which is not measured, and
 * gives the work on it. Stops at the first step that grows too fast: the next one could take hours. `sizes`: each ten times the one
 * before.
 */
export function fasterThanLinear(
  prepare: (characters: number) => () => unknown,
  patience = PATIENCE,
  sizes: readonly number[] = SIZES,
): string | undefined {
  const [first = 0, ...steps] = sizes;
  let last = Math.max(NOISE, timeOf(prepare(first), NOISE, 100 * NOISE, patience));
  if (last === Infinity) return `${first} characters: not done in ${patience} ms`;
  for (const size of steps) {
    const most = MOST_PER_STEP * last;
    const time = timeOf(prepare(size), most, HOPELESS * most, patience);
    if (time > most)
      return `${size} characters: ${shown(time, patience)}, a tenth of them: ${shown(last, patience)}`;
    last = Math.max(NOISE, time);
  }
  return undefined;
}

function shown(time: number, patience: number): string {
  return time === Infinity ? `not done in ${patience} ms` : `${time.toFixed(1)} ms`;
}
