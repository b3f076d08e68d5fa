// Loads the configuration of a command and opens its database, which is closed however the command ends. Also the messages
// that commands share: which database they use, unknown names, limits; and the audit of what they change.
import type { Command } from 'commander';
import type { KeySpec } from '../accounts/access.ts';
import type { Config } from '../config/config.ts';
import type { LoadOptions } from '../config/load.ts';
import { NO_STORE, type StoreReader } from '../store/reader.ts';
import type { AuditEntry } from '../store/admin-records.ts';
import { StoreError, type Key, type Store } from '../store/store.ts';
import { CliError } from '../cli-error.ts';
import { LOCAL_ACCOUNT, LOCAL_TIER, type Context, type GlobalOptions } from './context.ts';
import { say } from './ui/lines.ts';
import { clean, formatCount, shellWord, shortened } from './ui/style.ts';
import { isLoopback } from '../loopback.ts';
import { plural } from '../plural.ts';

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

export async function withStore<Result>(
  command: Command,
  context: Context,
  use: (store: Store, config: Config) => Promise<Result>,
): Promise<Result> {
  return withDatabase(await readConfig(command, context), use);
}

/** If the database cannot be used, the error names the line of the file that sets it. */
export async function openDatabase({ database, databaseFrom }: Config): Promise<Store> {
  const { openStore } = await import('../store/open.ts');
  try {
    return await openStore(database);
  } catch (error) {
    if (!(error instanceof StoreError) || databaseFrom === undefined) throw error;
    throw new StoreError(error.kind, `${databaseFrom}: ${error.message}`, error);
  }
}

export async function withDatabase<Result>(
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

/** For commands that only read: creates no database, and prints on stderr which one it reads. */
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
      `the database ${clean(config.database)} does not exist yet; gateway serve or gateway keys create creates it`,
    ),
  );
  return use(NO_STORE, config);
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

/** A database URL without its password. */
export const shownDatabase = (location: string): string => location.replace(/(:\/\/).*@/, '$1');

/** Every command that writes prints its database on stderr, so that the user notices a wrong one. */
export function sayWritten(context: Context, store: Store): void {
  say(context.stderr, `written to ${clean(store.location)}`);
}

/** The error for an unknown name, with the nearest known one. */
export async function unknown(
  kind: string,
  name: string,
  known: readonly string[],
  otherwise: string,
): Promise<CliError> {
  const { didYouMean } = await import('../config/did-you-mean.ts');
  const near = didYouMean(name, known);
  const hint = near === undefined ? otherwise : `did you mean ${near}?`;
  return new CliError(`unknown ${kind} ${JSON.stringify(name)}; ${hint}`);
}

/** Wrong usage of `gateway run` and `gateway connect`. `otherwise`: what helps a person who means another program. */
export async function unknownTool(
  name: string,
  known: readonly string[],
  otherwise: string,
): Promise<CliError> {
  const { suggest } = await import('../config/did-you-mean.ts');
  return new CliError(
    `unknown tool ${JSON.stringify(name)}; ${suggest(name, known)}; ${otherwise}`.replace('?;', '? Or'),
    2,
  );
}

const MAX_NAMED = 5;

export async function unknownAccount(store: Pick<Store, 'listAccounts'>, name: string): Promise<CliError> {
  const accounts = await store.listAccounts();
  const known = accounts.map((account) => account.name);
  let otherwise = 'see: gateway accounts list';
  if (known.length === 0) otherwise = 'no account exists yet; create one: gateway keys create --account NAME';
  else if (known.length <= MAX_NAMED) otherwise = `known accounts: ${known.join(', ')}`;
  return unknown('account', name, known, otherwise);
}

/** Warns of a new name that people confuse with another account's: the two accounts would have separate limits. */
export async function warnOfLookalike(account: string, store: Store, { stderr }: Context): Promise<void> {
  const { lookalike } = await import('./args/key-warnings.ts');
  const names = (await store.listAccounts()).map(({ name }) => name);
  const other = lookalike(
    account,
    names.filter((name) => name !== account),
  );
  if (other === undefined) return;
  say(stderr, `warning: the new account ${clean(account)} differs from ${clean(other)} only by case or look`);
}

/** The tier of an account that does not exist yet. */
export const tierOfNew = (account: string, { defaultTier }: Config): string =>
  account === LOCAL_ACCOUNT ? LOCAL_TIER : defaultTier;

export async function unknownTier(config: Config, tier: string): Promise<CliError> {
  const known = [...config.tiers.keys()];
  return unknown('tier', tier, known, `known tiers: ${known.join(', ')}`);
}

/** A new key never changes the tier of an account. */
export function otherTier({ name, tier }: { name: string; tier: string }, wanted: string): CliError {
  return new CliError(
    `account ${JSON.stringify(name)} already has tier ${tier}; change it first: gateway tiers assign ${shellWord(name)} ${wanted}`,
  );
}

/** Whether requests with this key are accepted. */
export function isValid({ revokedAt, expiresAt }: Key, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** What `serve` warns of at its start. */
export function startWarnings(config: Config): string[] {
  const open = config.listen.hosts.filter((host) => !isLoopback(host));
  return open.length === 0 ? config.warnings : [...config.warnings, withoutTls(open)];
}

const withoutTls = (hosts: readonly string[]): string =>
  `others can reach ${hosts.join(', ')}, and there is no TLS: keys and prompts cross the network as plain text; ` +
  'listen on 127.0.0.1 alone, or put a proxy with TLS in front';

/** The hourly limit of a tier. A tier that the configuration lacks has the limit of `free`. */
export function limitOf(config: Config, tier: string): number {
  return config.tiers.get(tier) ?? config.tiers.get('free') ?? 0;
}

/** `10 requests an hour`, `no limit`. */
export function limitText(config: Config, tier: string): string {
  const limit = limitOf(config, tier);
  return limit === Infinity ? 'no limit' : `${plural(limit, 'request', formatCount(limit))} an hour`;
}

/** Characters of an ID in the audit. */
const LONGEST_ID = 100;

/** An operation of the admin API, and its parameters and body. */
interface Change<Value> {
  action: string;
  detail: Readonly<Record<string, unknown>>;
  change: () => Promise<Value>;
  /** 200 without it. */
  statusOf?: (value: Value) => number;
}

/** What a change needs of a command's context. */
export type Changing = Pick<Context, 'clock' | 'ids' | 'stderr'>;

/** The row of a change that a user of this machine makes with a command. */
export async function auditEntry(
  { clock }: Pick<Context, 'clock'>,
  { action, detail }: Pick<Change<unknown>, 'action' | 'detail'>,
): Promise<AuditEntry> {
  const { LOCAL } = await import('../accounts/admin.ts');
  const actor = `cli ${await userName()}`;
  return { at: clock.now(), actor, address: LOCAL, action, detail: JSON.stringify(detail, shortId) };
}

/** A change that a user of this machine makes with a command: it has its row in the audit, as one of the admin API has. Rejects, and
 *  changes nothing, if the row cannot be written. */
export async function auditedChange<Value>(
  store: Store,
  { clock, stderr }: Pick<Context, 'clock' | 'stderr'>,
  { action, detail, change, statusOf = () => 200 }: Change<Value>,
): Promise<Value> {
  const { audited } = await import('../accounts/admin.ts');
  const error = (message: string): void => void stderr.write(`${message}\n`);
  const entry = await auditEntry({ clock }, { action, detail });
  return audited({ store, clock, log: { error } }, entry, { change, statusOf });
}

const shortId = (name: string, value: unknown): unknown =>
  name === 'id' && typeof value === 'string' ? value.slice(0, LONGEST_ID) : value;

async function userName(): Promise<string> {
  const { userInfo } = await import('node:os');
  try {
    return userInfo().username;
  } catch {
    // The system has no name for this user, as in some containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export async function createAuditedKey(store: Store, context: Changing, spec: KeySpec) {
  const { createKey } = await import('../accounts/access.ts');
  const { isoTime } = await import('../clock.ts');
  const { account, tier, label, permissions, models, expiresAt } = spec;
  return auditedChange(store, context, {
    action: 'createKey',
    detail: { account, tier, name: label, permissions, models, expires_at: isoTime(expiresAt) },
    change: () => createKey({ store, clock: context.clock, ids: context.ids }, spec),
    statusOf: () => 201,
  });
}

/** undefined: there is no such key. */
export function revokeAuditedKey(store: Store, context: Changing, id: string): Promise<Key | undefined> {
  return auditedChange(store, context, {
    action: 'revokeKey',
    detail: { id },
    change: () => store.revokeKey(id, context.clock.now()),
    statusOf: (revoked) => (revoked === undefined ? 404 : 200),
  });
}
