// Tells when the configuration file has really changed. Editors replace files by renaming, tools swap symbolic links, some
// file systems report nothing: so it is looked at, and its content alone decides. (To watch its folder costs 5 µs a request:
// the database often lies there too, and each of its writes is an event.)
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../clock.ts';

interface WatchOptions {
  file: string;
  /** Called once a change, never again before it has finished. What it throws is its own to report. */
  reload: () => Promise<void> | void;
  /** Called when the file is gone, once until it is back. */
  gone?: () => void;
  clock: Clock;
}

interface ConfigWatch {
  /** No call begins after this. */
  close(): void;
}

/** Writers often write in several steps. */
const SETTLE_MS = 100;
const POLL_MS = 500;

export function watchConfig({ file, reload, gone, clock }: WatchOptions): ConfigWatch {
  let seen = contentOf(file);
  let stamp = stampOf(file);
  let closed = false;
  let running = false;
  let missing = false;
  let cancelSettle: (() => void) | undefined;
  let cancelPoll = clock.after(POLL_MS, poll);

  function settle(): void {
    if (closed) return;
    cancelSettle?.();
    cancelSettle = clock.after(SETTLE_MS, () => void check());
  }

  function poll(): void {
    const now = stampOf(file);
    if (now !== stamp) settle();
    stamp = now;
    cancelPoll = clock.after(POLL_MS, poll);
  }

  async function check(): Promise<void> {
    if (closed || running) return;
    const content = contentOf(file);
    if (content === undefined && !missing) gone?.();
    missing = content === undefined;
    // A file that is gone is about to come back, or the old configuration stays.
    if (content === undefined || content === seen) return;
    seen = content;
    running = true;
    try {
      await reload();
    } catch {
      // Reported by who reloads; watching goes on.
    }
    running = false;
    // It may have changed meanwhile.
    settle();
  }

  return {
    close() {
      closed = true;
      cancelSettle?.();
      cancelPoll();
    },
  };
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}

function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return '';
  }
}
