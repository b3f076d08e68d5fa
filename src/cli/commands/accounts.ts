// `gateway accounts`: lists accounts. `gateway keys create` creates them.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import {
  clean,
  createStyle,
  formatCount,
  formatTime,
  isoTime,
  printJson,
  printLines,
  widthOf,
} from '../ui/style.ts';
import { withReadStore } from '../with-store.ts';
import { table } from '../ui/table.ts';

export function defineAccounts(accounts: Command, context: Context): void {
  accounts.addHelpText('after', '\nExample:\n  gateway accounts list');
  accounts
    .command('list')
    .description('list accounts, their tiers and numbers of keys')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway accounts list --json')
    .action(async (options: { json?: boolean }, command: Command) =>
      withReadStore(command, context, async (store) => {
        const listed = await store.listAccounts();
        if (options.json) {
          const rows = listed.map(({ name, tier, keys, createdAt }) => ({
            account: name,
            tier,
            keys,
            created_at: isoTime(createdAt),
          }));
          printJson(context, rows);
          return;
        }
        const { stdout, env } = context;
        if (listed.length === 0) {
          printLines(stdout, [
            'No accounts yet. Create one with its first key: gateway keys create --account NAME',
          ]);
          return;
        }
        const lines = table(
          listed,
          [
            { title: 'ACCOUNT', value: ({ name }) => clean(name), shrinks: true },
            { title: 'TIER', value: ({ tier }) => clean(tier) },
            { title: 'KEYS', value: ({ keys }) => formatCount(keys), align: 'right' },
            { title: 'CREATED (UTC)', value: ({ createdAt }) => formatTime(createdAt) },
          ],
          { width: widthOf(stdout), style: await createStyle(stdout, env) },
        );
        printLines(stdout, lines);
      }),
    );
}
