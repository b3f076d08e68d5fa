// What accounts have used: this hour against their limit, and the hours, tokens and errors of a window.
import { Option, type Command } from 'commander';
import { HOUR_MS } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Account, Grouping, Store, Totals } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { clean, isoTime, printJson } from '../output.ts';
import { limitOf, unknownAccount, withReadStore } from '../session.ts';
import { parseSince } from '../when.ts';

const GROUPINGS = ['account', 'key', 'model', 'hour'] as const satisfies readonly Grouping[];

interface Options {
  since?: number;
  by?: Grouping;
  json?: boolean;
}

/** The shape that `--json` prints. */
export interface AccountUsage {
  account: string;
  tier: string;
  /** null: none. */
  limit: number | null;
  used: number;
  /** null: there is no limit. */
  remaining: number | null;
  resets_at: string;
  totals: PrintedTotals;
  hours: { hour: string; requests: number }[];
  by?: ({ totals: PrintedTotals } & Record<string, unknown>)[];
}

export interface PrintedTotals {
  requests: number;
  errors: number;
  unknown: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export function defineUsage(usage: Command, context: Context): void {
  const { clock } = context;
  usage
    .argument('[account]', 'of this account alone')
    .option('--since <when>', 'a duration (24h, 7d) or an ISO date or time (default: 24h)', (text) =>
      parseSince(text, clock.now()),
    )
    .addOption(new Option('--by <what>', 'split the totals').choices(GROUPINGS))
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
  store: Store,
  config: Config,
  context: Context,
): Promise<void> {
  const now = context.clock.now();
  const since = options.since ?? now - DEFAULT_WINDOW_MS;
  const accounts = name === undefined ? await store.listAccounts() : [await store.findAccount(name)];
  const rows: AccountUsage[] = [];
  for (const account of accounts) {
    if (account === undefined) throw await unknownAccount(store, name ?? '');
    warnOfLostTier(account, config, context);
    rows.push(await readUsage(account, { since, now, by: options.by }, store, config));
  }
  if (options.json) printJson(context, rows);
  else {
    const { printUsage } = await import('../usage-view.ts');
    await printUsage(rows, { since, by: options.by }, context);
  }
}

function warnOfLostTier(account: Account, config: Config, context: Context): void {
  if (config.tiers.has(account.tier)) return;
  const { name, tier } = account;
  context.stderr.write(
    `warning: tier ${clean(tier)} of account ${clean(name)} is not in the configuration: it is held to free\n`,
  );
}

/** The window begins with a whole hour, so that hours and totals are of the same time. */
async function readUsage(
  account: Account,
  window: { since: number; now: number; by: Grouping | undefined },
  store: Store,
  config: Config,
): Promise<AccountUsage> {
  const first = window.since - (window.since % HOUR_MS);
  const current = window.now - (window.now % HOUR_MS);
  const limit = limitOf(config, account.tier);
  const used = await store.used(account.id, current);
  const admitted = await store.admissionsByHour(account.id, first);
  const requests = new Map(admitted.map((row) => [row.hour, row.requests]));
  const hours: AccountUsage['hours'] = [];
  for (let hour = first; hour <= current; hour += HOUR_MS) {
    hours.push({ hour: isoTime(hour), requests: requests.get(hour) ?? 0 });
  }
  const usage: AccountUsage = {
    account: account.name,
    tier: account.tier,
    limit: limit === Infinity ? null : limit,
    used,
    remaining: limit === Infinity ? null : Math.max(0, limit - used),
    resets_at: isoTime(current + HOUR_MS),
    totals: printed(await store.totals(account.id, first)),
    hours,
  };
  if (window.by === undefined) return usage;
  const groups = await store.totalsBy(window.by, account.id, first);
  return { ...usage, by: groups.map(({ group, totals }) => ({ ...group, totals: printed(totals) })) };
}

function printed(totals: Totals): PrintedTotals {
  return {
    requests: totals.requests,
    errors: totals.errors,
    unknown: totals.unknown,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cost_usd: totals.costUsd,
  };
}
