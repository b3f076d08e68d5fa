// `gateway usage`: requests of this hour and the limit of each account; requests, tokens and errors of a window of time.
import { Option, type Command } from 'commander';
import { HOUR_MS } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Account, Grouping, StoreReader, Totals } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { say } from '../ui/lines.ts';
import { clean, isoTime, printJson } from '../ui/style.ts';
import type { AccountUsage, PrintedTotals } from '../ui/usage-view.ts';
import { limitOf, unknownAccount, withReadStore } from '../with-store.ts';
import { parseSince } from '../args/values.ts';

const GROUPINGS = ['account', 'key', 'model', 'hour'] as const satisfies readonly Grouping[];

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

export interface Window {
  since: number;
  now: number;
  by: Grouping | undefined;
  /** Only this account's usage. */
  only: number | undefined;
}

/** Reads the usage of all accounts at once. Returns a function that describes one of them. The window begins at the start of an
 *  hour, so that hours and totals cover the same time. */
export async function readUsage(
  { since, now, by, only }: Window,
  store: StoreReader,
): Promise<(account: Account, limit: number) => AccountUsage> {
  const first = since - (since % HOUR_MS);
  const current = now - (now % HOUR_MS);
  const admitted = groupBy(await store.admissionsByHour(only, first));
  const totals = groupBy(await store.totalsBy('account', only, first));
  const groups = by === undefined ? undefined : groupBy(await store.totalsBy(by, only, first));

  const keys = by === 'key' ? await store.listKeys() : [];
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  const window: { at: number; hour: string }[] = [];
  for (let at = first; at <= current; at += HOUR_MS) window.push({ at, hour: isoTime(at) });

  return ({ id, name, tier }, limit) => {
    const requests = new Map(admitted.get(id)?.map((row) => [row.hour, row.requests]));
    const used = requests.get(current) ?? 0;
    return {
      account: name,
      tier,
      limit: limit === Infinity ? null : limit,
      used,
      remaining: limit === Infinity ? null : Math.max(0, limit - used),
      resets_at: isoTime(current + HOUR_MS),
      totals: printed(totals.get(id)?.[0]?.totals ?? NO_USAGE),
      hours: window.map(({ at, hour }) => ({ hour, requests: requests.get(at) ?? 0 })),
      ...(groups && {
        by:
          groups.get(id)?.map(({ group, totals }) => ({
            ...group,
            ...(by === 'key' && { name: labels.get(group['key'] ?? '') ?? null }),
            totals: printed(totals),
          })) ?? [],
      }),
    };
  };
}

const NO_USAGE: Totals = {
  requests: 0,
  errors: 0,
  unknown: 0,
  unpriced: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: null,
};

function groupBy<Row extends { accountId: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.accountId);
    if (group === undefined) groups.set(row.accountId, [row]);
    else group.push(row);
  }
  return groups;
}

function printed(totals: Totals): PrintedTotals {
  return {
    requests: totals.requests,
    errors: totals.errors,
    unknown: totals.unknown,
    unpriced: totals.unpriced,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cost_usd: totals.costUsd,
  };
}
