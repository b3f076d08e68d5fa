// `gateway usage`: requests of this hour and the limit of each account; requests, tokens and errors of a window of time.
import { Option, type Command } from 'commander';
import { readUsage } from '../../accounts/usage-report.ts';
import { HOUR_MS } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Account, Grouping, StoreReader } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { say } from '../ui/lines.ts';
import { clean, printJson } from '../ui/style.ts';
import { limitOf, unknownAccount, withReadStore } from '../with-store.ts';
import { parseSince } from '../args/values.ts';

const GROUPINGS = [
  'account',
  'key',
  'model',
  'provider',
  'hour',
  'day',
] as const satisfies readonly Grouping[];

interface Options {
  since?: number;
  by?: Grouping;
  json?: boolean;
}

export function defineUsage(usage: Command, context: Context): void {
  const { clock } = context;
  usage
    .argument('[account]', 'only this account')
    .option('--since <when>', 'a duration (24h, 7d) or an ISO date or time (default: 24h)', (text) =>
      parseSince(text, clock.now()),
    )
    .addOption(new Option('--by <what>', 'split the totals (default: not)').choices(GROUPINGS))
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  gateway usage\n  gateway usage alice --since 7d --by model')
    .action(async (account: string | undefined, options: Options, command: Command) =>
      withReadStore(command, context, (store, config) => showUsage(account, options, store, config, context)),
    );
}

const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

async function showUsage(
  name: string | undefined,
  options: Options,
  store: StoreReader,
  config: Config,
  context: Context,
): Promise<void> {
  const now = context.clock.now();
  const since = options.since ?? now - DEFAULT_WINDOW_MS;
  const accounts = name === undefined ? await store.listAccounts() : [await accountOf(name, store)];
  for (const account of accounts) warnOfUnknownTier(account, config, context);
  const only = name === undefined ? undefined : accounts[0]?.id;
  const describe = await readUsage({ since, now, by: options.by, only }, store);
  const rows = accounts.map((account) => describe(account, limitOf(config, account.tier)));
  if (options.json) printJson(context, rows);
  else {
    const { printUsage } = await import('../ui/usage-view.ts');
    await printUsage(rows, { since, by: options.by }, context);
  }
}

function warnOfUnknownTier(account: Account, config: Config, context: Context): void {
  if (config.tiers.has(account.tier)) return;
  const { name, tier } = account;
  say(
    context.stderr,
    `warning: tier ${clean(tier)} of account ${clean(name)} is not in the configuration: the limit of tier free applies`,
  );
}

async function accountOf(name: string, store: StoreReader): Promise<Account> {
  const account = await store.findAccount(name);
  if (account === undefined) throw await unknownAccount(store, name);
  return account;
}
