// Sentences, and commands to be pasted, in lines that the terminal does not break.
import type { Terminal } from '../context.ts';
import { printLines, shellWord, widthOf } from './style.ts';
import { displayWidth, wrapText, wrapWords } from './table.ts';

const INDENT = '  ';
const CONTINUED = ' \\';

/** A command of which each line but the last ends with a backslash: a shell reads it as one. No word of it is broken. */
export function commandLines(words: readonly string[], width: number | undefined): string[] {
  const line = words.join(' ');
  if (width === undefined || displayWidth(line) <= width) return [line];
  const lines = wrapWords(words, ' ', width - INDENT.length - CONTINUED.length);
  return lines.map(
    (text, at) => (at === 0 ? '' : INDENT) + text + (at === lines.length - 1 ? '' : CONTINUED),
  );
}

/** A sentence that ends with a command, which is parted from it rather than broken. */
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

/** The command that changes an account's limit. */
export const assignTier = (account: string): string[] => [
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
