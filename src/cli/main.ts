// The process around the commands: streams, signals, exit code.
import { systemClock } from '../clock.ts';
import { createIds } from '../ids.ts';
import type { Context } from './context.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function createContext(onListening: () => void): Context {
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
    onListening,
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

/** `onListening`: told once a server listens. */
export async function run(argv: readonly string[], onListening: () => void = () => undefined): Promise<void> {
  const output = watchOutput();
  const { execute } = await import('./program.ts');
  const exitCode = await execute(argv, createContext(onListening));
  process.exitCode = exitCode;
  // Errors of a stream come after the write.
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (output.failure !== undefined && exitCode === 0) {
    process.stderr.write(`gateway: the output could not be written: ${output.failure.message}\n`);
    process.exitCode = 1;
  }
}
