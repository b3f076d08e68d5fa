// `gateway config`: whether the configuration is valid, what is in effect and from where, and the consent to a file of the current
// folder. None of them starts anything.
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { ProtocolName } from '../../canonical/request.ts';
import type { ProviderConfig } from '../../config/config.ts';
import type { EffectiveValue } from '../../config/effective.ts';
import { plural } from '../../plural.ts';
import { CliError } from '../../cli-error.ts';
import type { Context, GlobalOptions } from '../context.ts';
import { reachLines, sayUsed } from '../ui/consent.ts';
import { faultsOf, say } from '../ui/lines.ts';
import { clean, createStyle, printJson, printLines, shortened, widthOf } from '../ui/style.ts';
import { table, wrapText } from '../ui/table.ts';
import { askForFile, effective, readProviders } from '../read-config.ts';
import { startWarnings } from '../ui/sentences.ts';

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
  config
    .command('trust')
    .description('let commands use the gateway.yaml of its folder, with the content that it has now')
    .argument('[file]', 'a gateway.yaml (default: that of the current folder)')
    .option('--undo', 'take the consent back')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nA gateway.yaml of the current folder may come with a project of somebody else, and would get keys of your' +
        '\nenvironment and all prompts. It counts only with your consent to this path and this content; after each change' +
        '\nit is asked for again. --config, GATEWAY_CONFIG and the file of your own configuration folder need none.' +
        '\n\nExamples:\n  gateway config trust\n  gateway config trust --undo',
    )
    .action(async (file: string | undefined, options: TrustOptions, command: Command) =>
      trustFile(file, options, command, context),
    );
}

interface TrustOptions extends Options {
  undo?: boolean;
}

async function trustFile(
  given: string | undefined,
  { undo, json }: TrustOptions,
  command: Command,
  context: Context,
): Promise<void> {
  const { env, cwd, stdout } = context;
  const { FILE_NAME, isUsersOwn } = await import('../../config/load.ts');
  const { removeConsent, writeConsent } = await import('../../config/trust/consent.ts');
  const named = given ?? command.optsWithGlobals<GlobalOptions>().config ?? FILE_NAME;
  const file = resolve(cwd, named);
  if (undo === true) {
    const removed = removeConsent(file, env);
    if (!removed) throw new CliError(`${clean(file)} is not trusted: there is nothing to take back`);
    if (json) printJson(context, { file, trusted: false });
    else say(stdout, `${clean(file)} is not trusted any more`);
    return;
  }
  if (basename(file) !== FILE_NAME)
    throw new CliError(`only a file called ${FILE_NAME} needs consent; use this one with --config ${named}`);
  if (isUsersOwn(file, env))
    throw new CliError(`${clean(file)} is in your own configuration folder and needs no consent`);
  const { readSource } = await import('../../config/load-source.ts');
  const { reachOf } = await import('../../config/trust/reach.ts');
  let bytes: Uint8Array = new Uint8Array();
  const { value } = readSource(file, cwd, (content) => (bytes = content));
  const reach = reachOf(value);
  writeConsent({ file, bytes }, env);
  if (json) printJson(context, { file, trusted: true, ...reach });
  else
    printLines(stdout, [
      ...wrapText(`${clean(file)} is trusted with this content:`, widthOf(stdout)),
      ...reachLines(reach, stdout),
    ]);
}

async function checkConfig(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readProviders(command, context).catch((error: unknown) => {
    const faults = faultsOf(error);
    if (options.json && faults !== undefined) printJson(context, { valid: false, faults, warnings: [] });
    throw error;
  });
  const warnings = startWarnings(config);
  for (const warning of warnings) say(context.stderr, shortened(`warning: ${clean(warning)}`));
  const providers = config.providers.map(urlsOf);
  if (options.json) {
    printJson(context, { valid: true, file: config.file, faults: [], warnings, providers });
    return;
  }
  const counts = `${plural(config.providers.length, 'provider')}, ${plural(config.routes.size, 'route')}`;
  const what =
    config.file === null
      ? `no configuration file: ${plural(config.providers.length, 'provider')} with a key in the environment`
      : `${clean(config.file)} is valid: ${counts}`;
  say(context.stdout, what);
  const { outlines } = await import('../../protocols/outlines.ts');
  for (const { provider, urls } of providers) {
    for (const [protocol, url] of Object.entries(urls)) {
      say(context.stdout, `  ${clean(provider)}: ${clean(url + outlines[protocol as ProtocolName].path)}`);
    }
  }
}

const urlsOf = ({ name, baseUrls, source }: ProviderConfig) => {
  return { provider: name, urls: source === 'builtin' ? {} : baseUrls };
};

async function showConfig(options: Options, command: Command, context: Context): Promise<void> {
  await askForFile(command, context);
  const { config, values } = await effective(command, context);
  sayUsed(config, context);
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
