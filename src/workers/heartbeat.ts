// Whether a worker still answers: one that is stopped or in an endless loop does not, and keeps its connections. Beats are counted, not
// time: while this process or the whole machine sleeps, none is missed.
import type { Clock } from '../clock.ts';

interface Watched {
  /** Resolves when the worker answers; rejects if it is gone. */
  beat(): Promise<unknown>;
  readonly exited: Promise<unknown>;
}

const EVERY_MS = 1000;
/** A long computation is no hang: so many beats may pass before the answer. */
const MOST_MISSED = 10;

/** For how long a worker that hangs has not answered. */
export const SILENT_MS = EVERY_MS * MOST_MISSED;

/** Calls `onHang` once, unless the worker ends before. */
export function watchHeartbeat(worker: Watched, clock: Clock, onHang: () => void): void {
  let isOver = false;
  let waits = false;
  let missed = 0;
  const answered = (): void => {
    waits = false;
    missed = 0;
  };
  const beat = (): void => {
    if (isOver) return;
    if (waits) missed += 1;
    else {
      waits = true;
      worker.beat().then(answered, () => undefined);
    }
    if (missed < MOST_MISSED) cancel = clock.after(EVERY_MS, beat);
    else onHang();
  };
  let cancel = clock.after(EVERY_MS, beat);
  void worker.exited.then(() => {
    isOver = true;
    cancel();
  });
}
