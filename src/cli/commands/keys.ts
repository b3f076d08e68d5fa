// `gateway keys`: create, list, rotate and revoke keys. Only `create` and `rotate` have the plaintext of a key, and print it once.
import { Option, type Command } from 'commander';
import { createdKeyJson, listedKeyJson, replacedKeyJson, revokedKeyJson } from '../../accounts/json.ts';
import { PERMISSIONS } from '../../canonical/request.ts';
import type { Config } from '../../config/config.ts';
import type { StoreReader } from '../../store/reader.ts';
import { isValid } from '../../accounts/terms.ts';
import { isEndedLease } from '../../store/rows.ts';
import type { Key, Permission, Store } from '../../store/store.ts';
import {
  parseExpiry,
  parseGrace,
  parseModels,
  parseAccount,
  parseName,
  parsePermissions,
} from '../args/values.ts';
import { CliError } from '../../cli-error.ts';
import { type Context, tierOfNew } from '../context.ts';
import { plural } from '../../plural.ts';
import {
  clean,
  createStyle,
  formatDuration,
  printJson,
  printLines,
  shellWord,
  shortened,
  timeText,
  widthOf,
} from '../ui/style.ts';
import { printCreated } from '../ui/created-key.ts';
import { say } from '../ui/lines.ts';
import { sayWritten, withReadStore, withStore } from '../database.ts';
import { auditedChange, createAuditedKey, madeKey, revokeAuditedKey } from '../audited.ts';
import { otherTier, unknownAccount, unknownTier, warnOfLookalike } from '../ui/sentences.ts';
import { table, type Cell } from '../ui/table.ts';
import { clientUrl } from '../running.ts';

interface CreateOptions {
  account?: string;
  tier?: string;
  name?: string;
  permissions: Permission[];
  models?: string[];
  expires?: number;
  json?: boolean;
}

interface ListOptions {
  account?: string;
  all?: boolean;
  json?: boolean;
}

interface RotateOptions {
  grace: number;
  json?: boolean;
}

const DEFAULT_GRACE_MS = 86_400_000;
const WHICH_KEY =
  'the ID that `keys create` and `keys list` print, or the beginning of the key that `keys list` shows';

const ALL: Permission[] = [...PERMISSIONS];

export function defineKeys(keys: Command, context: Context): void {
  const { clock } = context;
  keys.addHelpText('after', '\nExample:\n  gateway keys create --account alice');
  keys
    .command('create')
    .description('create a key, and its account if it is new; print the key once')
    .option('--account <name>', 'the account that owns the key (required)', parseAccount)
    .option(
      '--tier <tier>',
      'tier of a new account (default: default_tier of the file, else free; of local: unlimited)',
    )
    .option('--name <label>', 'a label by which you recognise the key (default: none)', parseName)
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
    .description('list the valid keys, without their plaintext')
    .option('--account <name>', 'only keys of this account (default: all)')
    .option('--all', 'also revoked and expired keys; --json always has them')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway keys list --account alice --all')
    .action(async (options: ListOptions, command: Command) =>
      withReadStore(command, context, (store) => listKeys(options, store, context)),
    );
  keys
    .command('rotate')
    .description('create a key in place of another: same account, name, permissions, models and lifetime')
    .argument('<id>', WHICH_KEY)
    .addOption(
      new Option('--grace <duration>', 'how long both keys work; 0: the old one ends at once')
        .argParser(parseGrace)
        .default(DEFAULT_GRACE_MS, '24h'),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway keys rotate key_8mVYcHq2Tn5b --grace 7d')
    .action(async (id: string, options: RotateOptions, command: Command) =>
      withStore(command, context, (store, config) => rotateKey(id, options, { store, config, context })),
    );
  keys
    .command('revoke')
    .description('revoke a key at once, also for running servers')
    .argument('<id>', WHICH_KEY)
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
      throw otherTier(existing, tier);
    }
    if (existing === undefined) await warnOfLookalike(account, store, context);
    if (options.models !== undefined) await warnOfModels(options.models, config, context);
    const { key, plaintext } = await createAuditedKey(store, context, {
      account,
      tier: tier ?? tierOfNew(account, config),
      label: options.name ?? null,
      permissions: options.permissions,
      models: options.models ?? null,
      expiresAt: options.expires ?? null,
    });
    sayWritten(context, store);
    if (options.json) printJson(context, createdKeyJson({ key, plaintext }));
    else await printCreated({ key, plaintext }, await clientUrl(config, context), config, context);
  });
}

async function warnOfModels(models: readonly string[], config: Config, { stderr }: Context): Promise<void> {
  const { uselessModels } = await import('../args/key-warnings.ts');
  for (const line of uselessModels(models, config)) say(stderr, shortened(`warning: ${clean(line)}`));
}

async function listKeys(options: ListOptions, store: StoreReader, context: Context): Promise<void> {
  const { account } = options;
  if (account !== undefined && (await store.findAccount(account)) === undefined) {
    throw await unknownAccount(store, account);
  }
  const keys = await store.listKeys(account);
  if (options.json) {
    printJson(context, keys.map(listedKeyJson));
    return;
  }
  if (keys.length === 0) {
    say(context.stdout, 'No keys yet. Create one: gateway keys create --account NAME');
    return;
  }
  const now = context.clock.now();
  const shown = options.all === true ? keys : keys.filter((key) => isValid(key, now));
  if (shown.length > 0) await printKeys(shown, context);
  else say(context.stdout, 'No valid keys. Create one: gateway keys create --account NAME');
  const hidden =
    options.all === true ? 0 : keys.filter((key) => !isValid(key, now) && !isEndedLease(key, now)).length;
  if (hidden > 0)
    say(
      context.stderr,
      `${plural(hidden, 'revoked or expired key')} ${hidden === 1 ? 'is' : 'are'} not shown; --all shows all keys`,
    );
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
      { title: 'NAME', value: (key) => clean(key.label ?? key.origin ?? '-'), shrinks: true },
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

async function rotateKey(
  given: string,
  { grace, json }: RotateOptions,
  { store, config, context }: { store: Store; config: Config; context: Context },
): Promise<void> {
  const { replaceKey } = await import('../../accounts/access.ts');
  const id = await idOf(given, store);
  const result = await auditedChange(store, context, {
    action: 'rotateKey',
    detail: { id, grace_seconds: grace / 1000 },
    change: () => replaceKey({ store, clock: context.clock, ids: context.ids }, id, grace),
    statusOf: (replaced) => (replaced === undefined ? 409 : 201),
    noted: (replaced) => (replaced === undefined ? {} : madeKey(replaced.key)),
  });
  if (result === undefined) throw await notReplaceable(given, id, store);
  const { key, plaintext, replaced } = result;
  sayWritten(context, store);
  if (json) {
    printJson(context, replacedKeyJson(result));
    return;
  }
  const until = replaced.expiresAt ?? 0;
  const end =
    until <= context.clock.now()
      ? 'which is no longer valid'
      : `which is valid until ${timeText(until, context)}`;
  const url = await clientUrl(config, context);
  await printCreated({ key, plaintext }, url, config, context, [['replaces', `${replaced.id}, ${end}`]]);
}

async function notReplaceable(given: string, id: string, store: Store): Promise<CliError> {
  const key = (await store.listKeys()).find((other) => other.id === id);
  if (key === undefined) return unknownKey(given);
  if (key.revokedAt === null && key.origin !== null)
    return new CliError(
      `key ${id} is a sign-in, which its client refreshes; to end it: gateway keys revoke ${id}`,
    );
  const state = key.revokedAt === null ? 'expired' : 'revoked';
  const create = `gateway keys create --account ${shellWord(key.account)}`;
  return new CliError(`key ${id} is ${state} and cannot be replaced; create a new one: ${create}`);
}

async function revokeKey(
  id: string,
  options: { json?: boolean },
  store: Store,
  context: Context,
): Promise<void> {
  const known = await idOf(id, store);
  const key = await revokeAuditedKey(store, context, known);
  if (key === undefined) throw unknownKey(id);
  sayWritten(context, store);
  if (options.json) {
    printJson(context, revokedKeyJson(key));
    return;
  }
  const at = key.revokedAt === null ? '' : ` since ${timeText(key.revokedAt, context)}`;
  say(context.stdout, `${key.id} of account ${clean(key.account)} is revoked${at}`);
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
