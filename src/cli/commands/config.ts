// `gateway config`: whether the configuration is valid, and what is in effect and from where. Neither starts anything.
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { EffectiveValue } from '../../config/effective.ts';
import { plural } from '../../plural.ts';
import type { Context } from '../context.ts';
import { faultsOf, say } from '../ui/lines.ts';
import { clean, createStyle, printJson, printLines, shortened, widthOf } from '../ui/style.ts';
import { table } from '../ui/table.ts';
import { effective, readProviders, startWarnings } from '../with-store.ts';

interface Options {
  json?: boolean;
}

export function defineConfig(config: Command, context: Context): void {
  config.addHelpText('after', '\nExample:\n  gateway config check');
  config
    .command('check')
    .description('report every mistake and warning of the configuration, as `gateway serve` would')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway config check --config gateway.yaml')
    .action(async (options: Options, command: Command) => checkConfig(options, command, context));
  config
    .command('show')
    .description('show every value that is in effect and what sets it; secrets are hidden')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway config show')
    .action(async (options: Options, command: Command) => showConfig(options, command, context));
}

async function checkConfig(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readProviders(command, context).catch((error: unknown) => {
    const faults = faultsOf(error);
    if (options.json && faults !== undefined) printJson(context, { valid: false, faults, warnings: [] });
    throw error;
  });
  const warnings = startWarnings(config);
  for (const warning of warnings) say(context.stderr, shortened(`warning: ${clean(warning)}`));
  if (options.json) {
    printJson(context, { valid: true, file: config.file, faults: [], warnings });
    return;
  }
  const counts = `${plural(config.providers.length, 'provider')}, ${plural(config.routes.size, 'route')}`;
  const what =
    config.file === null
      ? `no configuration file: ${plural(config.providers.length, 'provider')} with a key in the environment`
      : `${clean(config.file)} is valid: ${counts}`;
  say(context.stdout, what);
}

async function showConfig(options: Options, command: Command, context: Context): Promise<void> {
  const { config, values } = await effective(command, context);
  for (const warning of startWarnings(config)) say(context.stderr, shortened(`warning: ${clean(warning)}`));
  if (options.json) {
    printJson(context, { file: config.file, values });
    return;
  }
  const { stdout, env } = context;
  const width = widthOf(stdout);
  const lines = table(
    values,
    [
      { title: 'KEY', value: ({ key }) => clean(key) },
      { title: 'VALUE', value: (row) => clean(textOf(row)), shrinks: true },
      {
        title: 'FROM',
        value: ({ source, where }) => ({
          text: clean(width === undefined ? (where ?? source) : basename(where ?? source)),
          paint: source === 'default' || source === 'preset' ? 'dim' : undefined,
        }),
      },
    ],
    { width, style: await createStyle(stdout, env) },
  );
  printLines(stdout, [
    config.file === null ? 'no configuration file' : `file ${clean(config.file)}`,
    '',
    ...lines,
  ]);
}

function textOf({ value }: EffectiveValue): string {
  if (value === null) return '-';
  if (typeof value === 'object') return value.length === 0 ? '-' : value.join(', ');
  return String(value);
}
