// `gateway check`: tests all providers at the same time and prints what works. Spinners run on stderr meanwhile, on a terminal
// only: not in a pipe, not in CI, not with NO_COLOR or --json.
import type { Command } from 'commander';
import type { ProviderReport, Step } from '../check/report.ts';
import { CliError } from '../../cli-error.ts';
import { type Context } from '../context.ts';
import type { Inventory } from '../inventory.ts';
import {
  clean,
  createStyle,
  printJson,
  printLines,
  widthOf,
  type Style,
  isInteractive,
} from '../ui/style.ts';
import { truncate } from '../../display-width.ts';
import { wrapText } from '../ui/table.ts';
import { plural } from '../../plural.ts';

interface Options {
  deep?: boolean;
  json?: boolean;
}

export function defineCheck(check: Command, context: Context): void {
  check
    .option('--deep', 'test tools and every protocol of a provider, which costs some hundred tokens each')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nReads the configuration, then asks each provider for its models and for one short streamed answer' +
        '\n(some tokens each).\n\nExample:\n  gateway check --deep',
    )
    .action(async (options: Options, command: Command) => runCheck(options, command, context));
}

async function runCheck(options: Options, command: Command, context: Context): Promise<void> {
  const { json = false, deep = false } = options;
  const { withInventory } = await import('../inventory.ts');
  const style = await createStyle(context.stdout, context.env);
  const check = async (inventory: Inventory): Promise<ProviderReport[]> => {
    const { checkProvider } = await import('../check/provider.ts');
    const probe = { client: inventory.client, ids: context.ids };
    const names = inventory.providers.map(({ name }) => name);
    const spinners = await createSpinners(context, names, json);
    try {
      const pending = inventory.providers.map(async (provider) => {
        const report = await checkProvider(provider, { inventory, deep, probe });
        spinners.done(provider.name, report.ok);
        return report;
      });
      // In the order of the file: each report is printed once all reports before it are printed.
      for (const next of json ? [] : pending) {
        const report = await next;
        const lines = reportLines(report, style, widthOf(context.stdout));
        spinners.print(report.provider, () => printLines(context.stdout, lines));
      }
      return await Promise.all(pending);
    } finally {
      spinners.stop();
    }
  };
  const reports = await withInventory(command, context, check, { asServer: true });
  if (json) printJson(context, reports);
  failOn(reports);
}

const DETAIL_INDENT = 15;
const MARKS = { true: '✓', false: '✗', null: '-' } as const;

function reportLines(
  { provider, ok, checks }: ProviderReport,
  style: Style,
  width: number | undefined,
): string[] {
  const lines = checks.flatMap((step) => {
    const mark = MARKS[`${step.ok}`];
    const paint = step.ok === null ? style.dim : step.ok ? style.green : style.red;
    const detail = wrapText(clean(step.detail), width && Math.max(20, width - DETAIL_INDENT));
    const text = step.ok === false ? style.red : style.dim;
    return detail.map((line, at) =>
      at === 0
        ? `  ${paint(mark)} ${step.check.padEnd(9)}  ${text(line)}`
        : ' '.repeat(DETAIL_INDENT) + text(line),
    );
  });
  return [(ok ? style.bold : style.red)(clean(provider)), ...lines];
}

/** Throws if any check failed. stdout has the reasons. */
function failOn(reports: readonly ProviderReport[]): void {
  const failed = reports.filter(({ ok }) => !ok);
  if (failed.length === 0) return;
  const faults = failed.map(({ provider, checks }) => {
    const kinds = new Set(checks.flatMap(({ check, ok }) => (ok === false ? [FAULTS[check]] : [])));
    return `${provider} ${[...kinds].join(' and ')}`;
  });
  throw new CliError(
    `${failed.length} of ${plural(reports.length, 'provider')} failed: ${faults.join('; ')}`,
  );
}

const FAULTS = {
  reachable: 'cannot be reached',
  key: 'refuses the key',
  models: 'lacks models',
  streaming: 'cannot stream an answer',
  tools: 'cannot use tools',
} as const satisfies Record<Step['check'], string>;

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
