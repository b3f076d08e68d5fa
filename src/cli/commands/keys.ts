// `gateway keys`: create, list and revoke keys. Only `create` has the plaintext of a key, and prints it once.
import { Option, type Command } from 'commander';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Config } from '../../config/config.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { Key, Permission, Store, StoreReader } from '../../store/store.ts';
import { parseModels, parseName, parsePermissions, parseExpiry } from '../args/values.ts';
import { CliError, type Context } from '../context.ts';
import {
  clean,
  createStyle,
  formatDuration,
  formatTime,
  isoTime,
  printJson,
  printLines,
  shellWord,
  shortened,
  widthOf,
} from '../ui/style.ts';
import { assignTierCommand, say, withCommand } from '../ui/lines.ts';
import {
  limitText,
  sayWritten,
  unknownAccount,
  unknownTier,
  withReadStore,
  withStore,
} from '../with-store.ts';
import { table, wrapText, type Cell } from '../ui/table.ts';

interface CreateOptions {
  account?: string;
  tier?: string;
  name?: string;
  permissions: Permission[];
  models?: string[];
  expires?: number;
  json?: boolean;
}

const ALL: Permission[] = [...PROTOCOL_NAMES];

export function defineKeys(keys: Command, context: Context): void {
  const { clock } = context;
  keys.addHelpText('after', '\nExample:\n  gateway keys create --account alice');
  keys
    .command('create')
    .description('create a key, and its account if it is new; print the key once')
    .option('--account <name>', 'the account that owns the key (required)', parseName)
    .option('--tier <tier>', 'tier of a new account (default: default_tier of the file, else free)')
    .option('--name <label>', 'a label by which you recognise the key', parseName)
    .addOption(
      new Option('--permissions <list>', 'endpoints that it may use')
        .argParser(parsePermissions)
        .default(ALL, ALL.join(',')),
    )
    .option('--models <list>', 'models that it may use, exact names (default: all)', parseModels)
    .option('--expires <when>', 'a duration (30d) or an ISO date or time (default: never)', (text) =>
      parseExpiry(text, clock.now()),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway keys create --account alice --tier pro --name laptop' +
        '\n  gateway keys create --account ci --permissions messages --models auto,sim/echo --expires 30d',
    )
    .action(async (options: CreateOptions, command: Command) => createKeyCommand(options, command, context));
  keys
    .command('list')
    .description('list keys, without their plaintext')
    .option('--account <name>', 'only keys of this account')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway keys list --account alice')
    .action(async (options: { account?: string; json?: boolean }, command: Command) =>
      withReadStore(command, context, (store) => listKeys(options, store, context)),
    );
  keys
    .command('revoke')
    .description('revoke a key at once, also for running servers')
    .argument(
      '<id>',
      'the ID that `keys create` and `keys list` print, or the beginning of the key that `keys list` shows',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway keys revoke key_8mVYcHq2Tn5b')
    .action(async (id: string, options: { json?: boolean }, command: Command) =>
      withStore(command, context, (store) => revokeKey(id, options, store, context)),
    );
}

async function createKeyCommand(options: CreateOptions, command: Command, context: Context): Promise<void> {
  const { account, tier } = options;
  // Not `requiredOption`: it would hide that another option is misspelt (`--acount`).
  if (account === undefined) command.error("error: required option '--account <name>' not specified");
  await withStore(command, context, async (store, config) => {
    if (tier !== undefined && !config.tiers.has(tier)) throw await unknownTier(config, tier);
    const existing = await store.findAccount(account);
    if (existing !== undefined && tier !== undefined && existing.tier !== tier) {
      throw new CliError(
        `account ${JSON.stringify(account)} already has tier ${existing.tier}; change it first: gateway tiers assign ${shellWord(account)} ${tier}`,
      );
    }
    if (existing === undefined) await warnOfLookalike(account, store, context);
    if (options.models !== undefined) await warnOfModels(options.models, config, context);
    const { createKey } = await import('../../accounts/key.ts');
    const { key, plaintext } = await createKey(
      { store, clock: context.clock, ids: context.ids },
      {
        account,
        tier: tier ?? config.defaultTier,
        label: options.name ?? null,
        permissions: options.permissions,
        models: options.models ?? null,
        expiresAt: options.expires ?? null,
      },
    );
    sayWritten(context, store);
    if (options.json) {
      const { id, ...rest } = describeKey(key);
      printJson(context, { id, key: plaintext, ...rest });
    } else await printCreated(key, plaintext, config, context);
  });
}

/** Warns of a name that people confuse with another account's: the two accounts would have separate limits. */
async function warnOfLookalike(account: string, store: Store, { stderr }: Context): Promise<void> {
  const { lookalike } = await import('../args/key-warnings.ts');
  const other = lookalike(
    account,
    (await store.listAccounts()).map(({ name }) => name),
  );
  if (other === undefined) return;
  say(stderr, `warning: the new account ${clean(account)} differs from ${clean(other)} only by case or look`);
}

async function warnOfModels(models: readonly string[], config: Config, { stderr }: Context): Promise<void> {
  const { uselessModels } = await import('../args/key-warnings.ts');
  for (const line of uselessModels(models, config)) say(stderr, shortened(`warning: ${clean(line)}`));
}

function describeKey(key: Key) {
  return {
    id: key.id,
    account: key.account,
    tier: key.tier,
    name: key.label,
    permissions: key.permissions,
    models: key.models,
    created_at: isoTime(key.createdAt),
    expires_at: isoTime(key.expiresAt),
  };
}

async function printCreated(key: Key, plaintext: string, config: Config, context: Context): Promise<void> {
  const { stdout, env } = context;
  const style = await createStyle(stdout, env);
  const width = widthOf(stdout);
  const room = width && Math.max(20, width - ROW_INDENT);
  const rows = (name: string, lines: string[]): string[] =>
    lines.map((line, at) => `  ${style.dim((at === 0 ? name : '').padEnd(9))}  ${line}`);
  const row = (name: string, value: string): string[] => rows(name, wrapText(value, room));
  const members = [
    ...row('id', key.id),
    ...row('account', `${clean(key.account)}, tier ${key.tier}: ${limitText(config, key.tier)}`),
    ...rows('', withCommand('to change it:', assignTierCommand(key.account), room)),
    ...(key.label === null ? [] : row('name', clean(key.label))),
    ...row('endpoints', key.permissions.join(', ')),
    ...row('models', key.models === null ? 'all' : key.models.map(clean).join(', ')),
    ...row('expires', key.expiresAt === null ? 'never' : `${formatTime(key.expiresAt)} UTC`),
  ];
  printLines(stdout, [
    style.bold(style.green(plaintext)),
    ...wrapText('Copy it now: it is shown only once.', width).map((line) => style.yellow(line)),
    '',
    ...members,
    '',
    ...(await howToUse(key, config, { dim: style.dim, width })),
  ]);
}

const ROW_INDENT = 13;

async function howToUse(
  key: Key,
  config: Config,
  { dim, width }: { dim: (text: string) => string; width: number | undefined },
): Promise<string[]> {
  const { allProtocols } = await import('../../protocols/registry.ts');
  const { hosts, port } = config.listen;
  const host =
    hosts.includes('127.0.0.1') || hosts[0] === undefined || /^(0\.0\.0\.0|::)$/.test(hosts[0])
      ? '127.0.0.1'
      : hosts[0];
  const base =
    port === 0
      ? 'the base URL that `gateway serve` prints'
      : `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const urlOf = ({ client }: Protocol): string => (port === 0 ? base : base + client.setup.base);
  const column = Math.max(...allProtocols.map((protocol) => urlOf(protocol).length));
  const allowed = allProtocols.filter(({ name }) => key.permissions.includes(name));
  const clientOf = ({ client }: Protocol): string => `${client.setup.base} ${client.setup.baseVariable}`;
  const use = (protocol: Protocol): string[] => {
    const { baseVariable, keyVariable } = protocol.client.setup;
    const url = urlOf(protocol);
    const alike = allowed.filter((other) => clientOf(other) === clientOf(protocol));
    if (alike[0] !== protocol) return [];
    const titles = alike.map(({ client }) => client.setup.title).join(' and ');
    const what = `${titles} (${baseVariable}, ${keyVariable})`;
    const line = `  ${url.padEnd(column)}  ${what}`;
    return width === undefined || line.length <= width
      ? [`  ${url.padEnd(column)}  ${dim(what)}`]
      : [`  ${url}`, ...wrapText(what, width - 4).map((text) => `    ${dim(text)}`)];
  };
  return [
    ...wrapText('Use it as the API key of a client, with the base URL', width),
    ...allowed.flatMap(use),
  ];
}

async function listKeys(
  options: { account?: string; json?: boolean },
  store: StoreReader,
  context: Context,
): Promise<void> {
  const { account } = options;
  if (account !== undefined && (await store.findAccount(account)) === undefined) {
    throw await unknownAccount(store, account);
  }
  const keys = await store.listKeys(account);
  if (options.json) {
    const listed = keys.map((key) => ({
      ...describeKey(key),
      prefix: key.prefix,
      last_used_at: isoTime(key.lastUsedAt),
      revoked_at: isoTime(key.revokedAt),
    }));
    printJson(context, listed);
    return;
  }
  if (keys.length === 0) {
    printLines(context.stdout, ['No keys yet. Create one: gateway keys create --account NAME']);
    return;
  }
  await printKeys(keys, context);
}

async function printKeys(keys: readonly Key[], context: Context): Promise<void> {
  const { stdout, env, clock } = context;
  const now = clock.now();
  const lines = table(
    keys,
    [
      { title: 'ID', value: (key) => key.id },
      { title: 'KEY', value: (key) => key.prefix },
      { title: 'ACCOUNT', value: (key) => clean(key.account), shrinks: true },
      { title: 'NAME', value: (key) => clean(key.label ?? '-'), shrinks: true },
      { title: 'MAY USE', value: (key) => mayUse(key), shrinks: true },
      {
        title: 'USED',
        value: (key) => (key.lastUsedAt === null ? 'never' : `${formatDuration(now - key.lastUsedAt)} ago`),
      },
      { title: 'STATE', value: (key) => stateOf(key, now) },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}

function mayUse(key: Key): string {
  const endpoints = key.permissions.join(', ');
  return key.models === null ? endpoints : `${endpoints}: ${key.models.map(clean).join(', ')}`;
}

function stateOf(key: Key, now: number): Cell {
  if (key.revokedAt !== null) return { text: 'revoked', paint: 'red' };
  if (key.expiresAt === null) return { text: 'active', paint: 'green' };
  if (key.expiresAt <= now) return { text: 'expired', paint: 'red' };
  return { text: `${formatDuration(key.expiresAt - now)} left`, paint: 'green' };
}

async function revokeKey(
  id: string,
  options: { json?: boolean },
  store: Store,
  context: Context,
): Promise<void> {
  const key = await store.revokeKey(await idOf(id, store), context.clock.now());
  if (key === undefined) throw unknownKey(id);
  sayWritten(context, store);
  if (options.json) {
    printJson(context, { id: key.id, revoked_at: isoTime(key.revokedAt) });
    return;
  }
  const at = key.revokedAt === null ? '' : ` since ${formatTime(key.revokedAt)} UTC`;
  printLines(context.stdout, [`${key.id} of account ${clean(key.account)} is revoked${at}`]);
}

/** The ID of a key, given by its ID or by the beginning that `keys list` shows. */
async function idOf(given: string, store: Store): Promise<string> {
  const alike = (await store.listKeys()).filter(({ prefix }) => prefix === given);
  if (alike.length > 1) {
    const ids = alike.map(({ id }) => id).join(', ');
    throw new CliError(`several keys begin with ${given}: ${ids}; give one of these IDs`);
  }
  return alike[0]?.id ?? given;
}

/** The message never repeats a key that was given instead of its ID. */
function unknownKey(id: string): CliError {
  const what = id.startsWith('sk-gw-')
    ? 'give the ID of the key, not the key itself'
    : `unknown key ID ${JSON.stringify(id)}`;
  return new CliError(`${what}; IDs are in: gateway keys list`);
}
