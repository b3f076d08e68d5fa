// `gateway tiers`: list tiers, and assign one to an account. The configuration defines tiers; the database stores the tier of
// each account.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { clean, createStyle, formatCount, printJson, printLines, widthOf } from '../ui/style.ts';
import {
  limitText,
  readConfig,
  sayRead,
  sayWritten,
  unknownAccount,
  unknownTier,
  withStore,
} from '../with-store.ts';
import { table } from '../ui/table.ts';

interface Options {
  json?: boolean;
}

export function defineTiers(tiers: Command, context: Context): void {
  tiers.addHelpText('after', '\nExample:\n  gateway tiers assign alice pro');
  tiers
    .command('list')
    .description('list tiers and their requests an hour')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway tiers list')
    .action(async (options: Options, command: Command) => listTiers(options, command, context));
  tiers
    .command('assign')
    .description('change the tier of an account, at once, also for running servers')
    .argument('<account>')
    .argument('<tier>')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway tiers assign alice pro')
    .action(async (account: string, tier: string, options: Options, command: Command) =>
      assignTier(account, tier, options, command, context),
    );
}

async function listTiers(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: false });
  const rows = [...config.tiers].map(([tier, limit]) => ({
    tier,
    requests_per_hour: limit === Infinity ? null : limit,
  }));
  if (options.json) {
    printJson(context, rows);
    return;
  }
  const { stdout, env } = context;
  const lines = table(
    rows,
    [
      { title: 'TIER', value: ({ tier }) => clean(tier), shrinks: true },
      {
        title: 'REQUESTS AN HOUR',
        value: ({ requests_per_hour: limit }) => (limit === null ? 'no limit' : formatCount(limit)),
        align: 'right',
      },
    ],
    { width: widthOf(stdout), style: await createStyle(stdout, env) },
  );
  printLines(stdout, lines);
}

async function assignTier(
  name: string,
  tier: string,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  await withStore(command, context, async (store, config) => {
    if (!config.tiers.has(tier)) throw await unknownTier(config, tier);
    const account = await store.assignTier(name, tier);
    if (account === undefined) throw await unknownAccount(store, name);
    sayWritten(context, store);
    if (options.json) printJson(context, { account: account.name, tier: account.tier });
    else {
      const limit = limitText(config, tier);
      printLines(context.stdout, [`account ${clean(account.name)} now has tier ${tier}: ${limit}`]);
    }
  });
}
