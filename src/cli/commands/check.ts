// `gateway check`: tests all providers at the same time and prints what works, or one model with tools. Spinners run on stderr
// meanwhile, on a terminal only: not in a pipe, not in CI, not with NO_COLOR or --json.
import { Option, type Command } from 'commander';
import type { ProviderReport, Step } from '../check/report.ts';
import type { ToolReport } from '../check/tool-check.ts';
import { caseLines, endLines, reportLines } from '../check/view.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import type { Inventory } from '../inventory.ts';
import { clean, createStyle, isInteractive, printJson, printLines, widthOf } from '../ui/style.ts';
import { truncate } from '../../display-width.ts';
import { plural } from '../../plural.ts';

interface Options {
  tools?: boolean;
  deep?: boolean;
  json?: boolean;
}

export function defineCheck(check: Command, context: Context): void {
  check
    .argument('[model]', 'a provider, or provider/model (default: every provider)')
    .addOption(
      new Option(
        '--tools',
        'ask this model thirty cases of tools: which are right, repaired or lost, and what to change',
      ).conflicts('deep'),
    )
    .option(
      '--deep',
      'test tools, every protocol of a provider, and in each the rules of its model, what it takes and what it refuses: some thousand tokens',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nReads the configuration, then asks each provider for its models and for one short streamed answer' +
        '\n(some tokens each). --tools asks its cases one after the other, about 10,000 tokens in all.' +
        '\n\nExit code: 0 if all works, 1 if something does not; of --tools, if a case is lost.' +
        '\n\nExamples:\n  gateway check --deep\n  gateway check ollama/qwen3 --tools\n  gateway check ollama/qwen3 --deep',
    )
    .action(async (model: string | undefined, options: Options, command: Command) =>
      options.tools === true
        ? checkToolsOf(model, options, command, context)
        : checkProviders(model, options, command, context),
    );
}

async function checkToolsOf(
  model: string | undefined,
  { json = false }: Options,
  command: Command,
  context: Context,
): Promise<void> {
  if (model === undefined)
    throw new CliError('--tools asks one model: name it, gateway check PROVIDER/MODEL --tools', 2);
  const { withInventory } = await import('../inventory.ts');
  const view = { style: await createStyle(context.stdout, context.env), width: widthOf(context.stdout) };
  const check = async (inventory: Inventory): Promise<ToolReport> => {
    const { chosen } = await import('../check/provider.ts');
    const { checkTools } = await import('../check/tool-check.ts');
    const { target } = await chosen(model, inventory);
    if (target === undefined) throw new CliError(`no model of ${model} is known; name one: PROVIDER/MODEL`);
    if (!json) printLines(context.stdout, [view.style.bold(clean(target.key))]);
    const probe = { client: inventory.client, ids: context.ids };
    return checkTools(target, probe, (report) => {
      if (!json) printLines(context.stdout, caseLines(report, view));
    });
  };
  const report = await withInventory(command, context, check, { asServer: true });
  if (json) printJson(context, report);
  else printLines(context.stdout, endLines(report, view));
  if (report.lost > 0)
    throw new CliError(`${report.model} lost ${report.lost} of ${plural(report.cases.length, 'case')}`);
}

async function checkProviders(
  model: string | undefined,
  { json = false, deep = false }: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const { withInventory } = await import('../inventory.ts');
  const view = { style: await createStyle(context.stdout, context.env), width: widthOf(context.stdout) };
  const check = async (inventory: Inventory): Promise<ProviderReport[]> => {
    const { checkProvider, chosen } = await import('../check/provider.ts');
    const probe = { client: inventory.client, ids: context.ids };
    const all =
      model === undefined
        ? inventory.providers.map((provider) => ({ provider }))
        : [await chosen(model, inventory)];
    const names = all.map(({ provider }) => provider.name);
    const spinners = await createSpinners(context, names, json);
    try {
      const pending = all.map(async (choice) => {
        const report = await checkProvider(choice, { inventory, deep, probe });
        spinners.done(choice.provider.name, report.ok);
        return report;
      });
      // In the order of the file: each report is printed once all reports before it are printed.
      for (const next of json ? [] : pending) {
        const report = await next;
        spinners.print(report.provider, () => printLines(context.stdout, reportLines(report, view)));
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
  rules: 'does not keep the rules of its model',
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
