// What a command needs of the world, as one value: tests give their own, main.ts gives the process.
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';

/** A stream that people or programs read. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** Of a terminal; 0 where it does not say. */
  readonly columns?: number | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Context {
  stdout: Terminal;
  stderr: Terminal;
  env: Environment;
  cwd: string;
  clock: Clock;
  ids: Ids;
  /** Calls the listener at every SIGINT, SIGTERM and SIGHUP until the returned function is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** Calls the listener with what nothing else caught, instead of ending the process, until the returned function is called. */
  onFault(listener: (error: unknown) => void): () => void;
  /** Called once a log is written to stderr: from then on it never makes the process wait. */
  unblockLog?(): void;
  /** Ends the process now, as that signal would have. */
  die(signal: NodeJS.Signals): void;
}

/** A failure that the user can mend. The message is one line: what, where, how to mend it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** 1: it failed; 2: it was asked wrongly. */
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/** The options that every command takes. */
export interface GlobalOptions {
  config?: string;
  database?: string;
  debug?: boolean;
}
