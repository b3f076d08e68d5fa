// `gateway accounts`: lists, renames and removes accounts; a removal asks first. `gateway keys create` creates them.
import type { Command } from 'commander';
import { accountJson } from '../../accounts/json.ts';
import type { StoreReader } from '../../store/reader.ts';
import type { Store } from '../../store/store.ts';
import { plural } from '../../plural.ts';
import { parseAccount } from '../args/values.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import {
  clean,
  createStyle,
  formatCount,
  printJson,
  printLines,
  shown,
  timeTitle,
  widthOf,
  zoneOf,
} from '../ui/style.ts';
import { sayWritten, withReadStore, withStore } from '../database.ts';
import { auditedChange } from '../audited.ts';
import { unknownAccount, warnOfLookalike } from '../ui/sentences.ts';
import { isValid } from '../../accounts/terms.ts';
import { table } from '../ui/table.ts';
import { say } from '../ui/lines.ts';

interface Options {
  json?: boolean;
}

interface RemoveOptions extends Options {
  yes?: boolean;
}

export function defineAccounts(accounts: Command, context: Context): void {
  accounts.addHelpText('after', '\nExample:\n  gateway accounts list');
  accounts
    .command('list')
    .description('list accounts, their tiers and numbers of keys')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway accounts list --json')
    .action(async (options: Options, command: Command) =>
      withReadStore(command, context, (store) => listAccounts(options, store, context)),
    );
  accounts
    .command('rename')
    .description('rename an account; its keys, tier, limits and usage stay')
    .argument('<account>', 'its present name')
    .argument('<name>', 'its new name', parseAccount)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway accounts rename alice alice@example.com')
    .action(async (account: string, name: string, options: Options, command: Command) =>
      withStore(command, context, (store) => renameAccount({ account, name }, options, store, context)),
    );
  accounts
    .command('remove')
    .description(
      'delete an account with its keys, stored answers and usage, at once, also for running servers',
    )
    .argument('<account>')
    .option('--yes', 'do not ask; required without a terminal')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway accounts remove alice --yes')
    .action(async (account: string, options: RemoveOptions, command: Command) =>
      withStore(command, context, (store) => removeAccount(account, options, store, context)),
    );
}

async function listAccounts(options: Options, store: StoreReader, context: Context): Promise<void> {
  const listed = await store.listAccounts();
  if (options.json) {
    printJson(context, listed.map(accountJson));
    return;
  }
  const { stdout, env } = context;
  if (listed.length === 0) {
    printLines(stdout, [
      'No accounts yet. Create one with its first key: gateway keys create --account NAME',
    ]);
    return;
  }
  const zone = zoneOf(context);
  const lines = table(
    listed,
    [
      { title: 'ACCOUNT', value: ({ name }) => clean(name), shrinks: true },
      { title: 'TIER', value: ({ tier }) => clean(tier) },
      { title: 'KEYS', value: ({ keys }) => formatCount(keys), align: 'right' },
      { title: timeTitle('CREATED', zone), value: ({ createdAt }) => shown(createdAt, zone) },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}

async function renameAccount(
  { account, name }: { account: string; name: string },
  options: Options,
  store: Store,
  context: Context,
): Promise<void> {
  const renamed = await auditedChange(store, context, {
    action: 'changeAccount',
    detail: { account, new_account: name },
    change: () => store.renameAccount(account, name),
    statusOf: (found) => (found === undefined ? 404 : found === 'taken' ? 409 : 200),
  });
  if (renamed === undefined) throw await unknownAccount(store, account);
  if (renamed === 'taken')
    throw new CliError(
      `account ${JSON.stringify(name)} exists already; choose another name (see: gateway accounts list)`,
    );
  await warnOfLookalike(name, store, context);
  sayWritten(context, store);
  if (options.json) printJson(context, { account: renamed.name, renamed_from: account, tier: renamed.tier });
  else say(context.stdout, `account ${clean(account)} is now ${clean(renamed.name)}`);
}

async function removeAccount(
  name: string,
  options: RemoveOptions,
  store: Store,
  context: Context,
): Promise<void> {
  const account = await store.findAccount(name);
  if (account === undefined) throw await unknownAccount(store, name);
  const now = context.clock.now();
  const keys = await store.listKeys(name);
  const valid = keys.filter((key) => isValid(key, now)).length;
  const { requests } = await store.totals(account.id, 0);
  const what =
    `this deletes account ${clean(name)} with ${plural(keys.length, 'key', formatCount(keys.length))}` +
    ` (${formatCount(valid)} valid), its stored answers and the usage of ${plural(requests, 'request', formatCount(requests))}`;
  await confirm(what, { yes: options.yes, context });
  const removed = await auditedChange(store, context, {
    action: 'removeAccount',
    detail: { account: name },
    change: () => store.removeAccount(name),
    statusOf: (found) => (found === undefined ? 404 : 200),
  });
  if (removed === undefined) throw await unknownAccount(store, name);
  sayWritten(context, store);
  if (options.json) printJson(context, { account: removed.name, keys: keys.length, requests });
  else {
    const lost = `${plural(keys.length, 'key', formatCount(keys.length))}, usage of ${plural(requests, 'request', formatCount(requests))}`;
    say(context.stdout, `account ${clean(removed.name)} is removed: ${lost}`);
  }
}

/** `what`: a sentence about what is deleted. Returns if the user agrees; otherwise throws CliError. Without a terminal nobody can answer:
 *  `--yes` is required then. */
async function confirm(
  what: string,
  { yes, context }: { yes: boolean | undefined; context: Context },
): Promise<void> {
  if (yes === true) return;
  if (context.ask === undefined)
    throw new CliError(`${what}; nothing was changed: without a terminal, confirm it with --yes`, 2);
  say(context.stderr, `${what}.`);
  const answer = (await context.ask('Continue? [y/N] ')) ?? '';
  if (!/^(y|yes)$/i.test(answer.trim())) throw new CliError('nothing was changed');
}
