// Reports changes of the configuration file's content. It polls the file, because editors replace files by renaming, tools
// swap symbolic links, and some file systems send no events. A watch of the folder would slow every request down: the
// database is often in the same folder, and each of its writes is an event.
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Config } from './config.ts';

interface WatchOptions {
  file: string;
  /** A second file, which may be missing: a change of it counts as one of the first. */
  beside?: string | undefined;
  /** Called once per change, and not again before it has finished. It reports its own errors; those that it throws are ignored. */
  reload: () => Promise<void> | void;
  /** Called once when the file disappears. */
  gone?: () => void;
  clock: Clock;
}

interface ConfigWatch {
  /** Stops watching: no callback starts after this. */
  close(): void;
}

/** Time to wait after a change, because programs often write a file in several steps. */
const SETTLE_MS = 100;
const POLL_MS = 500;

/** For a running gateway: the file of its configuration, with what it is trusted by; undefined: there is no file. */
export function watchConfigFile(
  { file, consent }: Config,
  reload: () => Promise<unknown>,
  { clock, log }: { clock: Clock; log: Logger },
): ConfigWatch | undefined {
  if (file === null) return undefined;
  const gone = (): void =>
    log.warn('the configuration file was deleted: its last settings stay in effect until the gateway ends', {
      file,
    });
  return watchConfig({ file, beside: consent, reload: async () => void (await reload()), gone, clock });
}

/** Logs why a changed configuration is not used, and returns the reasons. */
export function reportFaults(error: unknown, log: Logger): readonly string[] {
  const faults = (error as { faults?: string[] }).faults ?? [String(error)];
  for (const fault of faults) log.error(`the changed configuration is not used: ${fault}`);
  return faults;
}

export function watchConfig({ file, beside, reload, gone, clock }: WatchOptions): ConfigWatch {
  const contentBeside = (): string => (beside === undefined ? '' : (contentOf(beside) ?? ''));
  const stamps = (): string => stampOf(file) + (beside === undefined ? '' : ` ${stampOf(beside)}`);
  let known = contentOf(file);
  let knownBeside = contentBeside();
  let stamp = stamps();
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
    const now = stamps();
    if (now !== stamp) settle();
    stamp = now;
    cancelPoll = clock.after(POLL_MS, poll);
  }

  async function check(): Promise<void> {
    if (closed || running) return;
    const content = contentOf(file);
    if (content === undefined && !missing) gone?.();
    missing = content === undefined;
    // A missing file changes nothing: an editor may be about to write it again.
    const second = contentBeside();
    if (content === undefined || (content === known && second === knownBeside)) return;
    known = content;
    knownBeside = second;
    running = true;
    try {
      await reload();
    } catch {
      // `reload` has reported the error; watching continues.
    }
    running = false;
    // The file may have changed during the reload.
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
