// Tells when the configuration file has really changed. Editors replace files by renaming, tools swap symbolic links, some
// file systems report nothing: folders are watched, the file is polled as well, and its content alone decides.
import type { FSWatcher } from 'node:fs';
import { readFileSync, realpathSync, statSync, watch } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../clock.ts';

export interface WatchOptions {
  file: string;
  /** Called once a change, never again before it has finished. What it throws is its own to report. */
  reload: () => Promise<void> | void;
  clock: Clock;
}

export interface ConfigWatch {
  /** No call begins after this. */
  close(): void;
}

/** Writers often write in several steps. */
const SETTLE_MS = 100;
const POLL_MS = 2000;

export function watchConfig({ file, reload, clock }: WatchOptions): ConfigWatch {
  let seen = contentOf(file);
  let stamp = stampOf(file);
  let closed = false;
  let running = false;
  let cancelSettle: (() => void) | undefined;
  let cancelPoll = clock.after(POLL_MS, poll);
  const watchers = foldersOf(file).flatMap(({ folder, name }) => watchFolder(folder, name, settle));

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
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Where a change of the file shows: its own folder, and that of the file behind a symbolic link. */
function foldersOf(file: string): { folder: string; name: string }[] {
  const folders = [{ folder: path.dirname(file), name: path.basename(file) }];
  try {
    const real = realpathSync(file);
    if (real !== path.resolve(file)) folders.push({ folder: path.dirname(real), name: path.basename(real) });
  } catch {
    // Not there now: its own folder will show it.
  }
  return folders;
}

function watchFolder(folder: string, name: string, changed: () => void): FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, entry) => {
      // The database often lies beside the file: its writes are none of ours. A system that swaps whole folders
      // names the link to them (`..data`).
      if (entry === null || entry === name || entry.startsWith('..')) changed();
    });
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    // Out of watches, or the folder is gone: polling remains.
    return [];
  }
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
