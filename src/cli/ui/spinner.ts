// Spinners on stderr while a command waits, on a terminal only: not in a pipe, not in CI, not with NO_COLOR or --json.
import type { Context } from '../context.ts';
import { clean, isInteractive } from './style.ts';
import { truncate } from './table.ts';

/** One row with a spinner for each name, in the given order. */
interface Spinners {
  /** Stops the row's spinner and shows the result. */
  done(name: string, ok: boolean): void;
  /** Removes the row, and calls `write` to print its replacement above the remaining rows. */
  print(name: string, write: () => void): void;
  stop(): void;
}

const still: Spinners = {
  done: () => undefined,
  print: (_name, write) => write(),
  stop: () => undefined,
};

/** Columns that a row needs besides its text: the spinner, a space, and what ora adds to the last line. */
const MARGIN = 4;
const INTERVAL_MS = 80;

export async function createSpinners(
  { stderr, env }: Pick<Context, 'stderr' | 'env'>,
  names: readonly string[],
  json: boolean,
): Promise<Spinners> {
  const { columns } = stderr;
  // ora uses a full CPU on a terminal without columns, and must be able to move the cursor.
  if (json || !isInteractive(stderr, env) || !columns || !('cursorTo' in stderr)) return still;
  const { default: ora } = await import('ora');
  const stream = stderr as NodeJS.WriteStream;
  const room = Math.max(1, columns - MARGIN);
  const rows = new Map(names.map((name) => [name, ora({ stream, text: truncate(clean(name), room) })]));
  // ora animates one spinner per terminal: this one has no symbol, and its text is the frames of all rows.
  const screen = ora({
    stream,
    isEnabled: true,
    discardStdin: false,
    color: false,
    spinner: { frames: [''], interval: INTERVAL_MS },
    prefixText: () => [...rows.values()].map((row) => row.frame()).join('\n'),
  }).start();
  return {
    done(name, ok) {
      const row = rows.get(name);
      if (row === undefined) return;
      row.spinner = { frames: [ok ? '✓' : '✗'] };
      row.color = ok ? 'green' : 'red';
    },
    print(name, write) {
      screen.clear();
      rows.delete(name);
      write();
      screen.render();
    },
    stop: () => void screen.stop(),
  };
}
