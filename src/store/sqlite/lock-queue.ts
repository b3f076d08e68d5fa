// Tasks that met a lock of another process. They are tried again by a timer, in their order: a wait inside the engine would
// hold up everything else that this process does.
import type { Clock } from '../../clock.ts';
import { isBusy } from './errors.ts';

/** Most locks last for microseconds, so the first tries come quickly. */
const AGAIN_MS = [1, 1, 2, 5, 10];
const LATER_MS = 20;
/** A task is given up after so long. */
const PATIENCE_MS = 2000;

interface Waiting {
  /** Throws where it fails; a lock is one failure of several. */
  attempt: () => void;
  reject: (error: unknown) => void;
  giveUpAt: number;
}

/** The returned function settles as `task` does, with the error of the lock after two seconds of it. */
export function createLockQueue(clock: Clock): <Result>(task: () => Result) => Promise<Result> {
  const waiting: Waiting[] = [];
  let tries = 0;

  // A timer that keeps the process alive: a command has nothing else to wait for.
  function schedule(): void {
    setTimeout(tryAll, AGAIN_MS[tries] ?? LATER_MS);
    tries += 1;
  }

  function tryAll(): void {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      try {
        first.attempt();
      } catch (error) {
        if (isBusy(error) && clock.monotonic() < first.giveUpAt) {
          schedule();
          return;
        }
        first.reject(error);
      }
      waiting.shift();
    }
    tries = 0;
  }

  return (task) =>
    new Promise((resolve, reject) => {
      const giveUpAt = clock.monotonic() + PATIENCE_MS;
      if (waiting.push({ attempt: () => resolve(task()), reject, giveUpAt }) === 1) schedule();
    });
}
