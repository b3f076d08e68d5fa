// Everything that a command needs from outside: streams, environment, clock, signals. main.ts passes those of the process,
// tests pass their own.
import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Environment } from '../environment.ts';
import type { Ids } from '../ids.ts';

/** An output stream: a terminal, a pipe or a file. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** The width of a terminal; 0 if it is unknown. */
  readonly columns?: number | undefined;
  /** Its lines. */
  readonly rows?: number | undefined;
  /** Emits `drain` after `write` returned false. */
  readonly stream?: EventEmitter | undefined;
}

export interface Context {
  stdout: Terminal;
  stderr: Terminal;
  /** undefined: there is no standard input. */
  stdin?: (() => NodeJS.ReadableStream) | undefined;
  env: Environment;
  /** `--utc`: people, too, read times in UTC. */
  utc?: boolean;
  cwd: string;
  clock: Clock;
  ids: Ids;
  /** Shows a question on the terminal; resolves to the line that the user answers, or to undefined at the end of the input.
   *  undefined: there is no terminal to ask on. */
  ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** Reads standard input to its end. */
  readInput?: (() => Promise<string>) | undefined;
  /** Calls the listener with every key that is pressed, without a line's end, until the returned function is called. undefined: there
   *  is no terminal. */
  onKey?: ((listener: (key: string) => void) => () => void) | undefined;
  /** Calls the listener at every SIGINT, SIGTERM and SIGHUP until the returned function is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** Calls the listener with uncaught errors, instead of ending the process, until the returned function is called. */
  onFault(listener: (error: unknown) => void): () => void;
  /** Makes writes to stderr non-blocking. Called before the log is written there. */
  unblockLog?(): void;
  /** Sends a message to the process that started this one in the background; resolves to false if that one is gone. */
  report?: ((message: object) => Promise<boolean>) | undefined;
  /** Ends the process now, with the exit status of that signal. */
  die(signal: NodeJS.Signals): void;
}

/** The account of this machine's own keys. */
export const LOCAL_ACCOUNT = 'local';

/** Its tier if it is new, whichever command creates it: an agent makes hundreds of requests an hour. */
export const LOCAL_TIER = 'unlimited';

/** The tier of an account that does not exist yet. */
export const tierOfNew = (account: string, { defaultTier }: Config): string =>
  account === LOCAL_ACCOUNT ? LOCAL_TIER : defaultTier;

/** Not a failure: the command ends with the exit code of the program that it ran. */
export class ProgramEnd extends Error {
  override readonly name = 'ProgramEnd';
  readonly code: number;
  constructor(code: number) {
    super(`the program ended with ${code}`);
    this.code = code;
  }
}

/** The options that every command takes. */
export interface GlobalOptions {
  config?: string;
  database?: string;
  utc?: boolean;
  debug?: boolean;
  /** Of `serve` alone: the file of --config needs consent, as if it had been found in the current folder. */
  asTrusted?: boolean;
}

/** The version of package.json, which has the same path relative to src/cli and to dist/cli. */
export function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { version: string }).version;
}
