// `gateway conversations`: what each conversation cost, and one of them with its sub-agents, tasks and cache misses.
import type { Command } from 'commander';
import { listConversations, ownerOf, readConversation } from '../../../accounts/conversation-report.ts';
import { HOUR_MS } from '../../../clock.ts';
import { findConversation } from '../../args/find-conversation.ts';
import type { Config } from '../../../config/config.ts';
import { CliError } from '../../../cli-error.ts';
import type { StoreReader } from '../../../store/reader.ts';
import type { Store } from '../../../store/store.ts';
import { amountNumber } from '../../../tier.ts';
import { parseAmountOf, parseLimit, parseSince } from '../../args/values.ts';
import { auditedChange } from '../../audited.ts';
import type { Context } from '../../context.ts';
import { sayWritten, withReadStore, withStore } from '../../database.ts';
import { unknownAccount } from '../../ui/sentences.ts';
import { clean, createStyle, printJson, printLines, widthOf, zoneOf } from '../../ui/style.ts';

interface Options {
  since?: number;
  account?: string;
  label?: string;
  limit: number;
  json?: boolean;
}

const DEFAULT_LIMIT = 100;
const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

export function defineConversations(conversations: Command, context: Context): void {
  const { clock } = context;
  conversations
    .argument('[id]', 'the id of one conversation, or the beginning of it')
    .option('--since <when>', 'a duration (2h, 7d) or an ISO date or time (default: 24h)', (text) =>
      parseSince(text, clock.now()),
    )
    .option('--account <name>', 'only this account (default: all)')
    .option('--label <label>', 'only with requests of this label (default: all)')
    .option('--limit <n>', 'the last so many', parseLimit, DEFAULT_LIMIT)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nSums are of whole conversations, also of what was before --since. A request bears the label of its header' +
        '\nx-gateway-label, or of its key (gateway run --label).' +
        '\n\nExamples:\n  gateway conversations --since 7d --label pr-123\n  gateway conversations 3kX9aB2q' +
        '\n  gateway conversations continue 3kX9aB2q',
    )
    .action(async (id: string | undefined, options: Options, command: Command) =>
      withReadStore(command, context, async (store) => {
        if (id === undefined) await showAll(options, store, context);
        else await showOne(id, options, store, context);
      }),
    );
  conversations
    .command('continue')
    .description('let a conversation go on that a brake stopped, at once, also for running servers')
    .argument('<id>', 'its id, or the beginning of it')
    .option(
      '--cost <usd>',
      'what it may cost from now on (default: the amount of brakes.conversation)',
      parseAmountOf('cost'),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  gateway conversations continue 3kX9aB2q --cost 2')
    // The group reads `--json` before its command does.
    .action(async (id: string, _: ContinueOptions, command: Command) =>
      withStore(command, context, (store, config) =>
        letGoOn(id, command.optsWithGlobals(), { store, config }, context),
      ),
    );
}

async function showAll(options: Options, store: StoreReader, context: Context): Promise<void> {
  const { account, label, limit, json } = options;
  const since = options.since ?? context.clock.now() - DEFAULT_WINDOW_MS;
  const accountId = account === undefined ? undefined : await idOf(account, store);
  const found = await listConversations({ since, accountId, label, limit }, store);
  const rows = found.map((one) => one.json);
  if (json) {
    printJson(context, rows);
    return;
  }
  if (rows.length === 0) {
    printLines(context.stdout, ['No conversations.']);
    return;
  }
  const { conversationTable } = await import('./conversations-view.ts');
  printLines(context.stdout, conversationTable(rows, await canvasOf(context)));
}

async function idOf(name: string, store: StoreReader): Promise<number> {
  const account = await store.findAccount(name);
  if (account === undefined) throw await unknownAccount(store, name);
  return account.id;
}

async function showOne(text: string, options: Options, store: StoreReader, context: Context): Promise<void> {
  const found = await readConversation(await findConversation(text, store), store);
  if (options.json) {
    printJson(context, found);
    return;
  }
  const { conversationLines } = await import('./conversations-view.ts');
  printLines(context.stdout, conversationLines(found, await canvasOf(context)));
}

interface ContinueOptions {
  /** Billionths of a dollar. */
  cost?: number;
  json?: boolean;
}

async function letGoOn(
  text: string,
  { cost, json }: ContinueOptions,
  { store, config }: { store: Store; config: Config },
  context: Context,
): Promise<void> {
  if (cost !== undefined && config.brakes?.conversation === undefined)
    throw new CliError(
      '--cost has no effect: the configuration has no brake on what a conversation costs; write brakes: { conversation: 3.00 }, or leave it out',
    );
  const found = await findConversation(text, store);
  const { id } = found;
  await auditedChange(store, context, {
    action: 'continueConversation',
    detail: { id, ...(cost !== undefined && { cost_usd: amountNumber('cost', cost) }) },
    change: () => store.letGoOn({ id, accountId: ownerOf(found) }, cost, context.clock.now()),
  });
  sayWritten(context, store);
  if (json) printJson(context, { id, stopped: null });
  else printLines(context.stdout, [`conversation ${clean(id)} may go on; its counts begin anew`]);
}

async function canvasOf(context: Context) {
  const { stdout, env } = context;
  return { width: widthOf(stdout), style: await createStyle(stdout, env), zone: zoneOf(context) };
}
