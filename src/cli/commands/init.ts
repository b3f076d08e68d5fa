// `gateway init`: writes the first configuration file with what is on this machine, creates the first key, and shows the next step.
import path from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Key } from '../../store/store.ts';
import { collect, parseAccount, parsePort, plainPath } from '../args/values.ts';
import { LOCAL_ACCOUNT, tierOfNew, type Context, type GlobalOptions } from '../context.ts';
import type { Choice } from '../init/file-text.ts';
import type { Candidate, Surroundings } from '../init/surroundings.ts';
import { say } from '../ui/lines.ts';
import { clean, createStyle, printJson, printLines, shellWord, shortened, widthOf } from '../ui/style.ts';

interface Options {
  yes?: boolean;
  provider?: string[];
  port?: number;
  account: string;
  tier?: string;
  file?: string;
  dryRun?: boolean;
  json?: boolean;
}

const DEFAULT_PORT = 8787;

export function defineInit(init: Command, context: Context): void {
  init
    .option('--yes', 'ask nothing: use what is found')
    .option(
      '--provider <name>',
      'a provider to use, the preferred one first; may be repeated (default: all that are found)',
      collect,
    )
    .option('--port <number>', `port to listen on (default: ${DEFAULT_PORT})`, parsePort)
    .option('--account <name>', 'the account that owns the first key', parseAccount, LOCAL_ACCOUNT)
    .option(
      '--tier <tier>',
      'tier of the account if it is new (default: unlimited; of another than local: free)',
    )
    .option(
      '--file <path>',
      'the file to write (default: --config, $GATEWAY_CONFIG, your configuration folder)',
    )
    .option('--dry-run', 'print the file; write nothing')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nFinds API keys in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), model' +
        '\nservers on this machine and installed tools. The file names the variables, never' +
        '\na key. An existing file is never changed. Without a terminal, nothing is asked.' +
        '\n\nExamples:\n  gateway init\n  gateway init --dry-run' +
        '\n  gateway init --yes --provider anthropic --provider ollama --file ./gateway.yaml',
    )
    .action(async (options: Options, command: Command) => initCommand(options, command, context));
}

async function initCommand(options: Options, command: Command, context: Context): Promise<void> {
  const file = await fileToWrite(options, command, context);
  await checkTier(options.tier);
  const { findSurroundings } = await import('../init/surroundings.ts');
  const found = await findSurroundings(context);
  for (const warning of found.warnings) say(context.stderr, shortened(`warning: ${clean(warning)}`));
  const choice = await choose(options, { command, context, found, file });
  const { fileText } = await import('../init/file-text.ts');
  const text = fileText(choice);
  if (options.dryRun) {
    if (options.json) printJson(context, { ...facts(file, choice, found), text, key: null, next: [] });
    else context.stdout.write(text);
    return;
  }
  const { config, key, plaintext } = await write({ file, text }, options, command, context);
  const next = await nextSteps(file, found, context);
  if (options.json) {
    const { createdKeyJson } = await import('../../accounts/json.ts');
    printJson(context, { ...facts(file, choice, found), key: createdKeyJson({ key, plaintext }), next });
    return;
  }
  say(context.stderr, `written to ${clean(file)}`);
  for (const warning of config.warnings) say(context.stderr, shortened(`warning: ${clean(warning)}`));
  const { printCreated } = await import('../ui/created-key.ts');
  const { clientUrl } = await import('../running.ts');
  await printCreated({ key, plaintext }, await clientUrl(config, context), config, context);
  const { bold } = await createStyle(context.stdout, context.env);
  printLines(context.stdout, ['', 'Next:', ...next.map((line) => `  ${bold(line)}`)]);
}

/** Throws CliError if the file exists, or another one that the gateway would read instead of it. */
async function fileToWrite(options: Options, command: Command, { env, cwd }: Context): Promise<string> {
  const { existsSync } = await import('node:fs');
  const { defaultPaths, findFile } = await import('../../config/load.ts');
  const { existingFile } = await import('../init/new-file.ts');
  const flags = { config: options.file ?? command.optsWithGlobals<GlobalOptions>().config };
  const found = findFile({ flags, env, cwd });
  if (found !== undefined && existsSync(found.path)) throw existingFile(clean(found.path));
  return plainPath(found?.path ?? defaultPaths(env).config);
}

interface Place {
  command: Command;
  context: Context;
  found: Surroundings;
  file: string;
}

async function choose(options: Options, { command, context, found, file }: Place): Promise<Choice> {
  const questions = await import('../init/questions.ts');
  const ask = options.yes || options.dryRun ? undefined : context.ask;
  const { database } = command.optsWithGlobals<GlobalOptions>();
  let providers = found.providers;
  if (options.provider !== undefined)
    providers = await questions.chooseProviders(options.provider, providers);
  await sayFound(found, context);
  if (ask !== undefined && options.provider === undefined)
    providers = await questions.askProviders(ask, providers, context);
  let { port } = options;
  if (ask !== undefined && port === undefined) port = await questions.askPort(ask, DEFAULT_PORT, context);
  if (ask !== undefined) await questions.confirmFile(ask, file, context);
  // A URL may hold a password.
  const isFile = database !== undefined && !database.includes('://');
  if (database !== undefined && !isFile)
    say(
      context.stderr,
      'note: the file does not name the database, whose URL may hold a password: set GATEWAY_DATABASE',
    );
  return { providers, port, database: isFile ? plainPath(path.resolve(context.cwd, database)) : undefined };
}

async function sayFound({ providers, tools }: Surroundings, { stderr, env }: Context): Promise<void> {
  const { wrapText } = await import('../ui/table.ts');
  const { dim } = await createStyle(stderr, env);
  const width = widthOf(stderr);
  const row = (name: string, about: string): string[] =>
    wrapText(about, width && Math.max(20, width - 15)).map(
      (line, at) => `  ${(at === 0 ? name : '').padEnd(12)} ${dim(line)}`,
    );
  const rows = providers.flatMap((provider) => row(provider.name, originOf(provider)));
  if (rows.length === 0)
    rows.push(
      ...row(
        'no provider',
        'no API key in the environment, no model server on this machine: the simulated one answers',
      ),
    );
  if (tools.length > 0) rows.push(...row('tools', tools.map(({ name }) => name).join(', ')));
  printLines(stderr, ['Found:', ...rows, '']);
}

function originOf({ variable, url, models, needsUrl }: Candidate): string {
  if (variable !== undefined) return `key in ${variable}`;
  if (needsUrl) return 'key in the environment; the file needs its URL';
  return `${url ?? ''}, models: ${models.map(clean).slice(0, 3).join(', ')}${models.length > 3 ? ', …' : ''}`;
}

/** Writes the file and creates the key: both, or nothing. */
async function write(
  { file, text }: { file: string; text: string },
  options: Options,
  command: Command,
  context: Context,
): Promise<{ config: Config; key: Key; plaintext: string }> {
  const { draftFile } = await import('../init/new-file.ts');
  const { loadConfig } = await import('../../config/load-file.ts');
  const { openDatabase } = await import('../database.ts');
  const { createAuditedKey } = await import('../audited.ts');
  const { database } = command.optsWithGlobals<GlobalOptions>();
  // A signal waits until both are written.
  const listen = context.onSignal(() => undefined);
  const draft = draftFile(file, text);
  try {
    // What the file says is checked before it has its name.
    const flags = { config: draft.draft, database };
    const config = loadConfig({ flags, env: context.env, cwd: context.cwd });
    const store = await openDatabase(config);
    try {
      const { account } = options;
      const tier = await tierOf(options, await store.findAccount(account), config);
      await trust(file, text, context);
      draft.publish();
      const { PERMISSIONS } = await import('../../canonical/request.ts');
      const created = await createAuditedKey(store, context, {
        account,
        tier,
        label: 'first key',
        permissions: [...PERMISSIONS],
        models: null,
        expiresAt: null,
      });
      draft.keep();
      return { config: { ...config, file }, ...created };
    } finally {
      await store.close();
    }
  } finally {
    draft.end();
    listen();
  }
}

/** Commands in the folder of the file use it without a question, as long as nobody changes it. */
async function trust(file: string, text: string, { env }: Context): Promise<void> {
  const { FILE_NAME, isUsersOwn } = await import('../../config/load.ts');
  if (path.basename(file) !== FILE_NAME || isUsersOwn(file, env)) return;
  const { writeConsent } = await import('../../config/trust/consent.ts');
  writeConsent({ file, bytes: Buffer.from(text) }, env);
}

/** Before anything is asked: the file defines no tiers of its own. */
async function checkTier(tier: string | undefined): Promise<void> {
  const { DEFAULT_TIERS } = await import('../../config/settings.ts');
  const known = Object.keys(DEFAULT_TIERS);
  if (tier === undefined || known.includes(tier)) return;
  const { unknown } = await import('../ui/sentences.ts');
  throw await unknown('tier', tier, known, `known tiers: ${known.join(', ')}`);
}

/** The tier of an account that exists stays. */
async function tierOf(
  { account, tier }: Options,
  existing: { name: string; tier: string } | undefined,
  config: Config,
): Promise<string> {
  const { otherTier } = await import('../ui/sentences.ts');
  if (existing !== undefined && tier !== undefined && existing.tier !== tier) throw otherTier(existing, tier);
  return existing?.tier ?? tier ?? tierOfNew(account, config);
}

function facts(file: string, { providers, port }: Choice, { tools }: Surroundings) {
  return {
    file,
    port: port ?? DEFAULT_PORT,
    providers: providers.map(({ name, variable, url, models }) => {
      return { name, variable: variable ?? null, url: url ?? null, models };
    }),
    tools: tools.map(({ name }) => name),
  };
}

/** Command lines, the most useful one first. */
async function nextSteps(file: string, { tools }: Surroundings, { env, cwd }: Context): Promise<string[]> {
  const { findFile } = await import('../../config/load.ts');
  const flag = findFile({ flags: {}, env, cwd })?.path === file ? '' : ` --config ${shellWord(file)}`;
  return [
    `gateway serve${flag}`,
    ...(tools[0] === undefined ? [] : [`gateway run${flag} ${tools[0].name}`]),
    ...tools.map(({ name }) => `gateway connect${flag} ${name}`),
  ];
}
