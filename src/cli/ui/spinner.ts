// Movement on stderr while a command waits, for people alone: not in a pipe, not in CI, not under NO_COLOR or --json.
import type { Context } from '../context.ts';
import { clean, isInteractive } from './style.ts';
import { truncate } from './table.ts';

/** A row for each name, in the order in which they were given, each with its own spinner. */
interface Spinners {
  /** The row stops and shows how it ended. */
  done(name: string, ok: boolean): void;
  /** Takes the row away and writes what comes in its place, above the rows that are left. */
  print(name: string, write: () => void): void;
  stop(): void;
}

const still: Spinners = {
  done: () => undefined,
  print: (_name, write) => write(),
  stop: () => undefined,
};

/** Columns beside a row's text: its spinner and a space, and what ora adds at the end of its last line. */
const BESIDE = 4;
const INTERVAL_MS = 80;

export async function createSpinners(
  { stderr, env }: Pick<Context, 'stderr' | 'env'>,
  names: readonly string[],
  json: boolean,
): Promise<Spinners> {
  const { columns } = stderr;
  // ora spins at full CPU on a terminal of no columns, and needs one whose cursor it can move.
  if (json || !isInteractive(stderr, env) || !columns || !('cursorTo' in stderr)) return still;
  const { default: ora } = await import('ora');
  const stream = stderr as NodeJS.WriteStream;
  const room = Math.max(1, columns - BESIDE);
  const rows = new Map(names.map((name) => [name, ora({ stream, text: truncate(clean(name), room) })]));
  // ora moves one spinner a terminal: this one has no symbol, and its text is the frames of all others.
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
