// The process around the commands: streams, signals, exit code.
import { systemClock } from '../clock.ts';
import { createIds } from '../ids.ts';
import type { Context } from './context.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The first would open Node's debugger to every local user, the second end the process. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;
/** For a log whose reader is slow; one that does not read gets no more of it. */
const LOG_END_MS = 250;

function createContext(): Context {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    ids: createIds(),
    onSignal(listener) {
      for (const signal of SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener);
      };
    },
    onFault(listener) {
      process.on('uncaughtException', listener);
      return () => process.off('uncaughtException', listener);
    },
    unblockLog() {
      if (process.stderr.isTTY) unblock(process.stderr);
    },
    die(signal) {
      for (const name of SIGNALS) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    },
  };
}

/** A reader that has seen enough (`gateway usage | head`) is no failure; a full disk is. */
function watchOutput(): { failure: NodeJS.ErrnoException | undefined } {
  const seen: { failure: NodeJS.ErrnoException | undefined } = { failure: undefined };
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') seen.failure = error;
  });
  return seen;
}

/**
 * Node writes to a terminal synchronously: one that nobody reads (Ctrl-S, a connection that hangs) would stop the process.
 * libuv has opened the terminal anew for this process, so that the shell's own descriptor stays as it is.
 */
function unblock(terminal: NodeJS.WriteStream): void {
  const { _handle: handle } = terminal as { _handle?: { setBlocking?(blocking: boolean): number } };
  handle?.setBlocking?.(false);
  process.once('exit', () => handle?.setBlocking?.(true));
}

/** The process would wait for the reader of its log. Its other output is what was asked for, and is waited for. */
function endWithoutLog(): void {
  const end = (): void => {
    if (process.stdout.writableLength === 0) process.exit();
    else setTimeout(end, LOG_END_MS).unref();
  };
  if (process.stderr.writableLength > 0) setTimeout(end, LOG_END_MS).unref();
}

export async function run(argv: readonly string[]): Promise<void> {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined);
  const output = watchOutput();
  const { execute } = await import('./program.ts');
  const exitCode = await execute(argv, createContext());
  process.exitCode = exitCode;
  // Errors of a stream come after the write.
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (output.failure !== undefined && exitCode === 0) {
    process.stderr.write(`gateway: the output could not be written: ${output.failure.message}\n`);
    process.exitCode = 1;
  }
  endWithoutLog();
}
