// Messages for people: sentences and commands in lines that fit the terminal, and errors as lines.
import { CliError } from '../../cli-error.ts';
import type { Terminal } from '../context.ts';
import { printLines, shellWord, widthOf, clean, shortened } from './style.ts';
import { displayWidth } from '../../display-width.ts';
import { wrapText, wrapWords } from './table.ts';
import { inspect } from 'node:util';
import { GatewayError } from '../../errors.ts';
import { StoreError } from '../../store/store.ts';
import { messageOf } from '../../errors.ts';

const INDENT = '  ';
const CONTINUATION = ' \\';

/** A command on several lines, joined by a backslash at their ends, so that it can be pasted into a shell. */
export function commandLines(words: readonly string[], width: number | undefined): string[] {
  const line = words.join(' ');
  if (width === undefined || displayWidth(line) <= width) return [line];
  const lines = wrapWords(words, ' ', width - INDENT.length - CONTINUATION.length);
  return lines.map(
    (text, at) => (at === 0 ? '' : INDENT) + text + (at === lines.length - 1 ? '' : CONTINUATION),
  );
}

/** A sentence that ends with a command. If the command does not fit on the line, it gets lines of its own. */
export function withCommand(
  sentence: string,
  command: readonly string[],
  width: number | undefined,
): string[] {
  const line = command.join(' ');
  if (width === undefined) return [`${sentence} ${line}`];
  if (displayWidth(line) <= width) return wrapWords([...sentence.split(' '), line], ' ', width);
  const lines = commandLines(command, width - INDENT.length);
  return [...wrapText(sentence, width), ...lines.map((text) => INDENT + text)];
}

/** The words of the command that changes an account's limit. */
export const assignTierCommand = (account: string): string[] => [
  'gateway',
  'tiers',
  'assign',
  shellWord(account),
  'TIER',
];

/** A note, a warning or an error: one line, wrapped at words where a person reads it. */
export function say(terminal: Terminal, line: string): void {
  printLines(terminal, wrapText(line, widthOf(terminal), INDENT));
}

/** The lines of an error with several faults (ConfigError, failed checks). Recognised by its shape, so that config/ is not loaded. */
export function faultsOf(error: unknown): string[] | undefined {
  if (!(error instanceof Error) || !('faults' in error) || !Array.isArray(error.faults)) return undefined;
  return error.faults.map(String);
}

/** What the system has not, and a person can give. */
const SYSTEM_CALLS: Readonly<Record<string, string>> = {
  uv_cwd: 'the current folder does not exist any more; go to one that does',
  uv_os_homedir: 'this user has no home folder: HOME is not set, and the user has no passwd entry; set HOME',
  uv_os_get_passwd: 'this user has no name: it has no passwd entry; run as a user that has one',
};

function systemMessage(error: unknown): string | undefined {
  const { syscall } = Object(error) as { syscall?: unknown };
  return typeof syscall === 'string' && Object.hasOwn(SYSTEM_CALLS, syscall)
    ? SYSTEM_CALLS[syscall]
    : undefined;
}

/** The lines of an expected error are its message. An unexpected one also names --debug. */
function messagesOf(error: unknown): string[] {
  const faults = faultsOf(error);
  if (faults !== undefined && faults.length > 0) return faults;
  if (error instanceof CliError || error instanceof StoreError || error instanceof GatewayError)
    return [error.message];
  const system = systemMessage(error);
  if (system !== undefined) return [system];
  const message = messageOf(error);
  return [`${message || 'failed without a message'} (--debug shows the stack)`];
}

/** An error as lines for the user, with its stack only under --debug, and the exit code. */
export function errorLines(
  error: unknown,
  debug: boolean,
): { lines: string[]; exitCode: CliError['exitCode'] } {
  const exitCode = error instanceof CliError ? error.exitCode : 1;
  const lines = messagesOf(error).map((line) => shortened(clean(line.replace(/\s*\n\s*/g, ' '))));
  return { lines: debug ? [...lines, inspect(error)] : lines, exitCode };
}
