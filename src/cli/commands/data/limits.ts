// `gateway limits`: how every limit of the accounts stands, and grants, which raise limits until a time.
import type { Command } from 'commander';
import { accountLimitsJson, readLimits } from '../../../accounts/limits-report.ts';
import type { Config } from '../../../config/config.ts';
import type { StoreReader } from '../../../store/reader.ts';
import { parseAmountOf, parseGrantTime } from '../../args/values.ts';
import type { Context } from '../../context.ts';
import { withReadStore, withStore } from '../../database.ts';
import type { RaiseOptions } from './grants.ts';
import { mustFind, warnOfUnknownTier } from '../../ui/sentences.ts';
import { printJsonArray, printLines } from '../../ui/style.ts';

interface Options {
  json?: boolean;
}

export function defineLimits(limits: Command, context: Context): void {
  limits
    .argument('[account]', 'only this account')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway limits\n  gateway limits alice\n  gateway limits raise alice --cost 5 --for 2h',
    )
    .action(async (account: string | undefined, options: Options, command: Command) =>
      withReadStore(command, context, (store, config) =>
        showLimits(account, options, { store, config, context }),
      ),
    );
  limits
    .command('raise')
    .description('add to the limits of an account for a time, at once, also for running servers')
    .argument('<account>')
    .option(
      '--requests <n>',
      'so many requests more in each window (default: none)',
      parseAmountOf('requests'),
    )
    .option('--tokens <n>', 'so many tokens more, 500k or 2M (default: none)', parseAmountOf('tokens'))
    .option('--cost <usd>', 'so many USD more (default: none)', parseAmountOf('cost'))
    .requiredOption('--for <duration>', 'how long, such as 2h or 7d (required)', parseGrantTime)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway limits raise alice --cost 5 --for 2h\n  gateway limits raise alice --requests 100 --tokens 2M --for 1d',
    )
    .action(async (account: string, _own: RaiseOptions, command: Command) => {
      // commander takes an option that the command above has too, `--json`, for one of that.
      const options = command.optsWithGlobals<RaiseOptions>();
      const { raisedKinds, raiseLimits } = await import('./grants.ts');
      if (raisedKinds(options).length === 0)
        command.error('error: give how much: --requests, --tokens or --cost');
      await withStore(command, context, (store, config) =>
        raiseLimits(account, options, { store, config, context }),
      );
    });
  limits
    .command('revoke')
    .description('end a grant of gateway limits raise, at once; again is no error')
    .argument('<id>', 'as gateway limits shows it')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway limits revoke grant_7XkQ2mVb9LpT')
    .action(async (id: string, _own: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { revokeGrant } = await import('./grants.ts');
      await withStore(command, context, (store) => revokeGrant(id, options, store, context));
    });
}

async function showLimits(
  name: string | undefined,
  { json }: Options,
  { store, config, context }: { store: StoreReader; config: Config; context: Context },
): Promise<void> {
  const accounts = name === undefined ? await store.listAccounts() : [await mustFind(name, store)];
  for (const account of accounts) warnOfUnknownTier(account, config, context);
  const found = await readLimits(accounts, config.tiers, store, context.clock.now());
  if (json) {
    printJsonArray(context, found.map(accountLimitsJson));
    return;
  }
  const { limitsLines } = await import('./limits-view.ts');
  printLines(context.stdout, await limitsLines(found, context));
}
