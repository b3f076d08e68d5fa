// The configuration and the database of one command, opened lazily and closed however the command ends.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { NO_STORE, StoreError, type Store, type StoreReader } from '../store/store.ts';
import { CliError, type Context, type GlobalOptions } from './context.ts';
import { say } from './ui/lines.ts';
import { clean, formatCount, shortened } from './ui/style.ts';

/** What `serve` may add to the flags that every command has. */
interface ListenFlags {
  hosts?: string[] | undefined;
  port?: number | undefined;
  log?: 'pretty' | 'json' | 'off' | undefined;
}

export async function readConfig(
  command: Command,
  context: Context,
  listen: ListenFlags = {},
): Promise<Config> {
  const { config, database } = command.optsWithGlobals<GlobalOptions>();
  const { loadConfig } = await import('../config/load.ts');
  return loadConfig({ flags: { config, database, ...listen }, env: context.env, cwd: context.cwd });
}

export async function withStore<Result>(
  command: Command,
  context: Context,
  use: (store: Store, config: Config) => Promise<Result>,
): Promise<Result> {
  return withDatabase(await readConfig(command, context), use);
}

/** A database that cannot be used is told with the place where the file names it. */
export async function openDatabase({ database, databaseFrom }: Config): Promise<Store> {
  const { openStore } = await import('../store/open.ts');
  try {
    return await openStore(database);
  } catch (error) {
    if (!(error instanceof StoreError) || databaseFrom === undefined) throw error;
    throw new StoreError(error.kind, `${databaseFrom}: ${error.message}`, error);
  }
}

async function withDatabase<Result>(
  config: Config,
  use: (store: Store, config: Config) => Promise<Result>,
): Promise<Result> {
  const store = await openDatabase(config);
  try {
    return await use(store, config);
  } finally {
    await store.close();
  }
}

/** Of a command that only reads: it makes no database, and says what it reads before anything can be missed in it. */
export async function withReadStore<Result>(
  command: Command,
  context: Context,
  use: (store: StoreReader, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: true });
  const { databaseExists } = await import('../store/open.ts');
  if (databaseExists(config.database)) return withDatabase(config, use);
  say(
    context.stderr,
    shortened(
      `there is no database at ${clean(config.database)} yet; gateway serve and gateway keys create make it`,
    ),
  );
  return use(NO_STORE, config);
}

/** Nothing where both lie at the usual places: an empty list may be that of another folder's database. */
export async function sayRead(
  { stderr, env }: Context,
  config: Config,
  { database }: { database: boolean },
): Promise<void> {
  const { defaultPaths } = await import('../config/load.ts');
  const usual = defaultPaths(env);
  const unusual = [
    ...(config.file === null || config.file === usual.config ? [] : [`configuration ${config.file}`]),
    ...(!database || config.database === usual.database
      ? []
      : [`database ${shownDatabase(config.database)}`]),
  ];
  if (unusual.length > 0) say(stderr, shortened(`reads ${unusual.map(clean).join(', ')}`));
}

/** A URL may hold a password. */
const shownDatabase = (location: string): string => location.replace(/(:\/\/)[^@/]*@/, '$1');

/** Said by every command that writes, so that a change in the wrong database is noticed. */
export function sayWritten(context: Context, store: Store): void {
  say(context.stderr, `written to ${clean(store.location)}`);
}

/** A name that is not there, with the nearest that is. */
export async function unknown(
  kind: string,
  name: string,
  known: readonly string[],
  otherwise: string,
): Promise<CliError> {
  const { didYouMean: nearest } = await import('../config/did-you-mean.ts');
  const near = nearest(name, known);
  const hint = near === undefined ? otherwise : `did you mean ${near}?`;
  return new CliError(`unknown ${kind} ${JSON.stringify(name)}; ${hint}`);
}

const MOST_NAMED = 5;

export async function unknownAccount(store: Pick<Store, 'listAccounts'>, name: string): Promise<CliError> {
  const accounts = await store.listAccounts();
  const known = accounts.map((account) => account.name);
  let otherwise = 'see: gateway accounts list';
  if (known.length === 0) otherwise = 'there is no account yet; make one: gateway keys create --account NAME';
  else if (known.length <= MOST_NAMED) otherwise = `known accounts: ${known.join(', ')}`;
  return unknown('account', name, known, otherwise);
}

export async function unknownTier(config: Config, tier: string): Promise<CliError> {
  const known = [...config.tiers.keys()];
  return unknown('tier', tier, known, `known tiers: ${known.join(', ')}`);
}

/** The limit that an account is held to, also where its tier is gone from the file. */
export function limitOf(config: Config, tier: string): number {
  return config.tiers.get(tier) ?? config.tiers.get('free') ?? 0;
}

/** `10 requests an hour`, `no limit`. */
export function limitText(config: Config, tier: string): string {
  const limit = limitOf(config, tier);
  return limit === Infinity ? 'no limit' : `${formatCount(limit)} requests an hour`;
}
