// Loads the configuration of a command: which file, with whose consent, and what is said of it.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { LoadOptions } from '../config/load.ts';
import type { Context, GlobalOptions } from './context.ts';
import { say } from './ui/lines.ts';
import { shownDatabase } from './ui/sentences.ts';
import { clean, shortened } from './ui/style.ts';

/** Flags that only `serve` has. */
interface ListenFlags {
  hosts?: string[] | undefined;
  port?: number | undefined;
  log?: 'pretty' | 'json' | 'off' | undefined;
}

/** For commands that ask no provider: they work in a terminal without the providers' keys. Rejects with ConfigError. */
export async function readConfig(command: Command, context: Context): Promise<Config> {
  return loadForUser({ ...sourceOf(command, context), mayLackProviders: true }, context);
}

/** A file with faults does not hide a gateway that runs: they are reported, and the file is left out. */
export async function readValidConfig(command: Command, context: Context): Promise<Config> {
  try {
    return await readConfig(command, context);
  } catch (error) {
    const { ConfigError, withoutFile } = await import('../config/load.ts');
    const { ConsentError } = await import('../config/trust/consent.ts');
    if (!(error instanceof ConfigError) || error instanceof ConsentError) throw error;
    const config = withoutFile(sourceOf(command, context));
    for (const line of error.faults) say(context.stderr, shortened(clean(line)));
    say(context.stderr, `the file is left out: the database is ${clean(shownDatabase(config.database))}`);
    return config;
  }
}

/** For commands that ask providers. Rejects with ConfigError, also if every provider is left out for want of its key. */
export async function readProviders(command: Command, context: Context): Promise<Config> {
  return loadForUser(sourceOf(command, context), context);
}

/** The same for a gateway, which reads its file again and again: asks nothing and prints nothing. */
export async function loadProviders(
  command: Command,
  context: Context,
  listen: ListenFlags = {},
): Promise<Config> {
  return load(sourceOf(command, context, listen));
}

/** On a terminal, asks for the consent that the file of this command may lack. */
export async function askForFile(command: Command, context: Context): Promise<void> {
  await askForFound(sourceOf(command, context), context);
}

/** false: the file needs no consent. */
async function askForFound(options: LoadOptions, context: Context): Promise<boolean> {
  const { findFile } = await import('../config/load.ts');
  const found = findFile(options);
  if (found?.needsConsent !== true) return false;
  const { askConsent } = await import('./ui/consent.ts');
  await askConsent(found.path, context);
  return true;
}

async function loadForUser(options: LoadOptions, context: Context): Promise<Config> {
  const needsConsent = await askForFound(options, context);
  const config = await load(options);
  if (needsConsent) (await import('./ui/consent.ts')).sayUsed(config, context);
  return config;
}

/** Without a file, a command starts without the readers of YAML and of the schema. */
export async function load(options: LoadOptions): Promise<Config> {
  const { findFile, withoutFile } = await import('../config/load.ts');
  if (findFile(options) === undefined) return withoutFile(options);
  const { loadConfig } = await import('../config/load-file.ts');
  return loadConfig(options);
}

function sourceOf(command: Command, { env, cwd }: Context, listen: ListenFlags = {}): LoadOptions {
  const { config, database, asTrusted } = command.optsWithGlobals<GlobalOptions>();
  return { flags: { config, asTrusted, database, ...listen }, env, cwd };
}

/** Every value that is in effect and what sets it. Rejects with ConfigError. */
export async function effective(command: Command, context: Context, listen: ListenFlags = {}) {
  const { effectiveValues } = await import('../config/effective.ts');
  const found = effectiveValues({ ...sourceOf(command, context, listen), mayLackProviders: true });
  return { file: found.config.file, ...found };
}

/** Prints which configuration and database a command reads, unless both are at their default paths: an empty list may mean
 *  that it reads another database than expected. A file of the current folder has its own line. */
export async function sayRead(
  { stderr, env }: Context,
  config: Config,
  { database }: { database: boolean },
): Promise<void> {
  const { defaultPaths } = await import('../config/load.ts');
  const defaults = defaultPaths(env);
  const other = [
    ...(config.file === null || config.file === defaults.config || config.consent !== undefined
      ? []
      : [`configuration ${config.file}`]),
    ...(!database || config.database === defaults.database
      ? []
      : [`database ${shownDatabase(config.database)}`]),
  ];
  if (other.length > 0) say(stderr, shortened(`reads ${other.map(clean).join(', ')}`));
}
