// `gateway tiers`: list tiers, and assign one to accounts. The configuration defines tiers; the database stores the tier of
// each account.
import type { Command } from 'commander';
import { tierJson } from '../../accounts/json.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, printJson, printLines, widthOf } from '../ui/style.ts';
import { readConfig, sayRead } from '../read-config.ts';
import { sayWritten, withStore } from '../database.ts';
import { auditedChange } from '../audited.ts';
import type { Account } from '../../store/store.ts';
import { limitText, unknownAccount, unknownTier } from '../ui/sentences.ts';
import { table } from '../ui/table.ts';
import { tierText } from '../../tier.ts';

interface Options {
  json?: boolean;
}

export function defineTiers(tiers: Command, context: Context): void {
  tiers.addHelpText('after', '\nExample:\n  gateway tiers assign alice pro');
  tiers
    .command('list')
    .description('list tiers and their limits')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway tiers list')
    .action(async (options: Options, command: Command) => listTiers(options, command, context));
  tiers
    .command('assign')
    .description('change the tier of accounts, at once, also for running servers')
    .usage('[options] <account...> <tier>')
    .argument('<names...>', 'one or more accounts, then the tier')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway tiers assign alice pro\n  gateway tiers assign alice bob pro',
    )
    .action(async (names: string[], options: Options, command: Command) => {
      const tier = names.pop();
      if (tier === undefined || names.length === 0) command.error("error: missing required argument 'tier'");
      await assignTier([...new Set(names)], tier, options, command, context);
    });
}

async function listTiers(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: false });
  if (options.json) {
    printJson(context, [...config.tiers].map(tierJson));
    return;
  }
  const { stdout, env } = context;
  const lines = table(
    [...config.tiers],
    [
      { title: 'TIER', value: ([name]) => clean(name), shrinks: true },
      { title: 'LIMITS', value: ([, tier]) => tierText(tier) },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}

async function assignTier(
  names: readonly string[],
  tier: string,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  await withStore(command, context, async (store, config) => {
    if (!config.tiers.has(tier)) throw await unknownTier(config, tier);
    // All names are checked before the first change.
    const found: Account[] = [];
    for (const name of names) {
      const account = await store.findAccount(name);
      if (account === undefined) throw await unknownAccount(store, name);
      found.push(account);
    }
    const assigned: { account: string; tier: string }[] = [];
    for (const { name, tier: before } of found) {
      const account = await auditedChange(store, context, {
        action: 'changeAccount',
        detail: { account: name, tier },
        change: () => store.assignTier(name, tier),
        statusOf: (changed) => (changed === undefined ? 404 : 200),
        noted: (changed) => (changed === undefined ? {} : { before: { tier: before } }),
      });
      if (account === undefined) throw await unknownAccount(store, name);
      assigned.push({ account: account.name, tier: account.tier });
    }
    sayWritten(context, store);
    // A list only for several accounts: scripts read the object of one.
    if (options.json) printJson(context, assigned.length === 1 ? assigned[0] : assigned);
    else {
      const limit = limitText(config, tier);
      printLines(
        context.stdout,
        assigned.map(({ account }) => `account ${clean(account)} now has tier ${tier}: ${limit}`),
      );
    }
  });
}
