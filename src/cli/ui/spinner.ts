// Movement on stderr while a command waits, for people alone: not in a pipe, not in CI, not under NO_COLOR or --json.
import type { Context } from '../context.ts';
import { isInteractive } from './style.ts';

export interface Spinner {
  text(text: string): void;
  /** Takes it away while something else is written, then brings it back. */
  around(write: () => void): void;
  stop(): void;
}

const still: Spinner = { text: () => undefined, around: (write) => write(), stop: () => undefined };

export async function createSpinner({ stderr, env }: Context, json: boolean): Promise<Spinner> {
  // ora spins at full CPU on a terminal of no columns, and needs one whose cursor it can move.
  if (json || !isInteractive(stderr, env) || !stderr.columns || !('cursorTo' in stderr)) return still;
  const { default: ora } = await import('ora');
  const spinner = ora({ stream: stderr as NodeJS.WriteStream, discardStdin: false }).start();
  return {
    text(text) {
      spinner.text = text;
    },
    around(write) {
      spinner.clear();
      write();
      spinner.render();
    },
    stop: () => void spinner.stop(),
  };
}
