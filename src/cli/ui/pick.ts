// A list on the terminal; a person picks with the arrow keys.
import type { Context } from '../context.ts';
import { clean, createStyle, isInteractive, type Style } from './style.ts';
import { displayWidth, truncate } from '../../display-width.ts';

export interface Choice {
  label: string;
  /** Beside it, dimmed. */
  about: string;
}

const MOST_ROWS = 12;
const CURSOR = { hide: '\u001b[?25l', show: '\u001b[?25h' };
const BELOW = '\u001b[J';
/** What a terminal sends for one key. */
// eslint-disable-next-line no-control-regex -- keys are control sequences
const KEYS = /\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Z]|[^]/gu;
const UP = new Set(['\u001b[A', '\u001bOA', 'k', '\u0010']);
const DOWN = new Set(['\u001b[B', '\u001bOB', 'j', '\u000e', '\t']);
const ENTER = new Set(['\r', '\n']);
const LEAVE = new Set(['\u0003', '\u0004', '\u001b', 'q']);

/** Whether a person can be asked: keys come from a terminal, and the question is seen. */
export function canPick({ onKey, stderr, env }: Context): boolean {
  return onKey !== undefined && isInteractive(stderr, env) && env['TERM'] !== 'dumb';
}

/** The index of the choice, with the cursor first at `at`; undefined if the person leaves. */
export async function pick(
  title: string,
  choices: readonly Choice[],
  at: number,
  context: Context,
): Promise<number | undefined> {
  const { stderr, onKey } = context;
  const style = await createStyle(stderr, context.env);
  let cursor = at;
  let drawn = 0;
  const draw = (): void => {
    const lines = linesOf(title, choices, cursor, { style, width: stderr.columns ?? 80 });
    stderr.write(`${goUp(drawn)}${BELOW}${lines.join('\n')}\n`);
    drawn = lines.length;
  };
  stderr.write(CURSOR.hide);
  const forgets: (() => void)[] = [];
  try {
    return await new Promise<number | undefined>((resolve) => {
      const press = (key: string): void => {
        if (UP.has(key)) cursor = (cursor + choices.length - 1) % choices.length;
        else if (DOWN.has(key)) cursor = (cursor + 1) % choices.length;
        else if (ENTER.has(key)) resolve(cursor);
        else if (LEAVE.has(key)) resolve(undefined);
        draw();
      };
      const forget = onKey?.((keys) => {
        for (const [key] of keys.matchAll(KEYS)) press(key);
      });
      forgets.push(context.onSignal(() => resolve(undefined)));
      if (forget !== undefined) forgets.push(forget);
      draw();
    });
  } finally {
    for (const forget of forgets) forget();
    stderr.write(`${goUp(drawn)}${BELOW}${CURSOR.show}`);
  }
}

function goUp(lines: number): string {
  return lines === 0 ? '' : `\u001b[${lines}A\r`;
}

function linesOf(
  title: string,
  choices: readonly Choice[],
  cursor: number,
  { style, width }: { style: Style; width: number },
): string[] {
  const first = Math.max(0, Math.min(cursor - Math.floor(MOST_ROWS / 2), choices.length - MOST_ROWS));
  const shown = choices.slice(first, first + MOST_ROWS);
  const column = Math.max(...shown.map(({ label }) => displayWidth(clean(label))));
  const rows = shown.map(({ label, about }, index) => {
    const isChosen = first + index === cursor;
    const name = truncate(clean(label), width - 4);
    const room = width - 6 - column;
    const space = ' '.repeat(Math.max(0, column - displayWidth(name)));
    const text = room < 8 || about === '' ? '' : `${space}  ${style.dim(truncate(clean(about), room))}`;
    return `${isChosen ? style.cyan('> ') : '  '}${isChosen ? style.bold(name) : name}${text}`;
  });
  const more = choices.length - shown.length;
  const hint = `arrow keys, Enter; Esc leaves${more > 0 ? `; ${more} more` : ''}`;
  return [style.bold(truncate(title, width - 1)), ...rows, style.dim(truncate(hint, width - 1))];
}
