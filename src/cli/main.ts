// The process around the commands: streams, signals, exit code.
import { isatty } from 'node:tty';
import { systemClock } from '../clock.ts';
import { createIds } from '../ids.ts';
import type { Context } from './context.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** By default SIGUSR1 opens Node's debugger to every local user, and SIGUSR2 ends the process. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;
/** At the end, the process waits this long for a slow reader of the log. */
const LOG_END_MS = 250;

function createContext(): Context {
  // `process.stdin` would open a stream, which most commands do not read.
  const fromTerminal = isatty(0);
  return {
    stdout: Object.assign(process.stdout, { stream: process.stdout }),
    stdin: () => process.stdin,
    stderr: process.stderr,
    env: process.env,
    // Fails where the folder was deleted: then a command says so.
    get cwd() {
      return process.cwd();
    },
    clock: systemClock,
    ids: createIds(),
    ask: fromTerminal && process.stderr.isTTY ? ask : undefined,
    async readInput() {
      const { text } = await import('node:stream/consumers');
      return text(process.stdin);
    },
    onKey: fromTerminal ? onKey : undefined,
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
    report: process.send === undefined ? undefined : report,
    die(signal) {
      for (const name of SIGNALS) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    },
  };
}

/** The terminal itself edits the line, and Ctrl-C ends the process. */
async function ask(question: string): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(question);
  try {
    return await new Promise<string | undefined>((resolve) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(undefined));
    });
  } finally {
    lines.close();
  }
}

/** The channel is closed after it, so that neither process waits for the other. */
function report(message: object): Promise<boolean> {
  return new Promise((resolve) => {
    if (!process.connected) {
      resolve(false);
      return;
    }
    process.send?.(message, undefined, undefined, (error) => {
      if (process.connected) process.disconnect();
      resolve(error === null);
    });
  });
}

/** In raw mode Ctrl-C is a key, too. */
function onKey(listener: (key: string) => void): () => void {
  const { stdin } = process;
  const onData = (bytes: Buffer): void => listener(bytes.toString());
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.resume();
  return () => {
    stdin.off('data', onData);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

/** Records a failed write to stdout, such as a full disk. A reader that closes the pipe (`gateway usage | head`) is not a failure. */
function watchOutput(): { failure: NodeJS.ErrnoException | undefined } {
  const output: { failure: NodeJS.ErrnoException | undefined } = { failure: undefined };
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') output.failure = error;
  });
  return output;
}

/**
 * Node writes to a terminal synchronously, so that a stopped terminal (Ctrl-S, a hanging connection) would block the process.
 * libuv has reopened the terminal for this process, so that the change does not affect the shell's descriptor.
 */
function unblock(terminal: NodeJS.WriteStream): void {
  const { _handle: handle } = terminal as { _handle?: { setBlocking?(blocking: boolean): number } };
  handle?.setBlocking?.(false);
  process.once('exit', () => handle?.setBlocking?.(true));
}

/** Ends the process although the log's reader is slow. It still waits until stdout, the result, is written. */
function endWithoutLog(): void {
  const end = (): void => {
    if (process.stdout.writableLength === 0) process.exit();
    else setTimeout(end, LOG_END_MS).unref();
  };
  if (process.stderr.writableLength > 0) setTimeout(end, LOG_END_MS).unref();
}

/** Node ends a process for which nothing is left to wait, with 0, also in the middle of a command: then the command failed. */
function watchUnfinished(): () => void {
  const unfinished = (): void => {
    process.stderr.write(
      'gateway: the command ended before it was done; this is a fault of the gateway: please report it\n',
    );
    process.exitCode = 1;
  };
  process.once('beforeExit', unfinished);
  return () => void process.off('beforeExit', unfinished);
}

export async function run(argv: readonly string[]): Promise<void> {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined);
  const output = watchOutput();
  const { execute } = await import('./program.ts');
  const finished = watchUnfinished();
  const exitCode = await execute(argv, createContext());
  finished();
  process.exitCode = exitCode;
  // A stream reports its errors after the write.
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (output.failure !== undefined && exitCode === 0) {
    process.stderr.write(`gateway: the output could not be written: ${output.failure.message}\n`);
    process.exitCode = 1;
  }
  endWithoutLog();
}
