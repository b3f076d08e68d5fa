// `gateway usage`: requests of this hour and the limit of each account; requests, tokens and errors of a window of time.
import { Option, type Command } from 'commander';
import { hourlyGrant, hourlyStanding, readLimits } from '../../../accounts/limits-report.ts';
import { limitJson } from '../../../accounts/limits-json.ts';
import { readUsage } from '../../../accounts/usage-report.ts';
import { HOUR_MS } from '../../../clock.ts';
import type { Config } from '../../../config/config.ts';
import type { StoreReader } from '../../../store/reader.ts';
import type { LimitedUsage } from './limits-view.ts';
import { GROUPINGS, type Account, type Grouping } from '../../../store/store.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { printJsonArray, printLines, LOCAL, zoneOf, type Zone } from '../../ui/style.ts';
import { withReadStore } from '../../database.ts';
import { tierNamed } from '../../../accounts/terms.ts';
import { mustFind, warnOfUnknownTier } from '../../ui/sentences.ts';
import { parseSince } from '../../args/values.ts';

interface Options {
  since?: number;
  by?: Grouping;
  local?: boolean;
  csv?: boolean;
  watch?: boolean;
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
    .option('--local', 'days and times of this machine in a pipe, too; of JSON and CSV the days')
    .option('--watch', 'show it again every 2 seconds, until Ctrl-C')
    .addOption(new Option('--csv', 'print lines for a spreadsheet').conflicts(['json', 'watch']))
    .addOption(new Option('--json', 'print JSON').conflicts('watch'))
    .addHelpText(
      'after',
      '\nExamples:\n  gateway usage\n  gateway usage alice --since 7d --by model\n  gateway usage --since 31d --by day --local' +
        '\n  gateway usage --since 31d --by key --csv',
    )
    .action(async (account: string | undefined, options: Options, command: Command) =>
      withReadStore(command, context, (store, config) => {
        const parts = { name: account, options, store, config, context };
        return options.watch ? watchUsage(parts) : showUsage(parts);
      }),
    );
}

interface Parts {
  /** The account's. undefined: all accounts. */
  name: string | undefined;
  options: Options;
  store: StoreReader;
  config: Config;
  context: Context;
}

const DEFAULT_WINDOW_MS = 24 * HOUR_MS;

async function showUsage(parts: Parts): Promise<void> {
  const { options, context } = parts;
  // The database works while the view is loaded.
  const view = options.json ? undefined : import('./usage-view.ts');
  const { accounts, describe, zone } = await readReport(parts);
  if (view === undefined) {
    printJsonArray(context, usageJson(describeEach(accounts, describe)));
    return;
  }
  const { usageCsv, usageLines } = await view;
  if (options.csv) {
    const { head, lines } = usageCsv(options.by);
    printLines(context.stdout, [head]);
    for (const row of describeEach(accounts, describe)) printLines(context.stdout, lines(row));
    return;
  }
  const lines = await usageLines(describeEach(accounts, describe), { by: options.by, zone }, context);
  printLines(context.stdout, lines);
}

/** One after the other: the groups of all accounts together can be tens of thousands. */
function* describeEach(accounts: readonly Account[], describe: Report['describe']): Iterable<LimitedUsage> {
  for (const account of accounts) yield describe(account);
}

function* usageJson(rows: Iterable<LimitedUsage>) {
  for (const { standings, ...usage } of rows) yield { ...usage, limits: standings.map(limitJson) };
}

interface Report {
  accounts: readonly Account[];
  describe: (account: Account) => LimitedUsage;
  zone: Zone;
}

async function readReport(parts: Parts): Promise<Report> {
  const { name, options, store, config, context } = parts;
  const now = context.clock.now();
  const since = options.since ?? now - DEFAULT_WINDOW_MS;
  const accounts = name === undefined ? await store.listAccounts() : [await mustFind(name, store)];
  for (const account of accounts) warnOfUnknownTier(account, config, context);
  const only = name === undefined ? undefined : accounts[0]?.id;
  const isForPeople = options.json !== true && options.csv !== true;
  const zone = options.local ? LOCAL : zoneOf(context);
  const dayOf = options.local || (isForPeople && zone === LOCAL) ? localDayOf : undefined;
  const describe = await readUsage({ since, now, by: options.by, only, dayOf }, store);
  const standings = await standingsOf(accounts, { store, config, now, only });
  return {
    accounts,
    describe(account) {
      const tier = tierNamed(account.tier, config.tiers);
      const read = standings.get(account.id);
      const usage = describe(account, tier.perHour, hourlyGrant(read ?? []));
      return { ...usage, standings: read ?? hourlyStanding(tier, usage.used, Date.parse(usage.resets_at)) };
    },
    zone,
  };
}

/** Of the accounts with limits beyond requests an hour, and of those with grants. */
async function standingsOf(
  accounts: readonly Account[],
  {
    store,
    config: { tiers },
    now,
    only,
  }: { store: StoreReader; config: Config; now: number; only: number | undefined },
) {
  const granted = new Set((await store.listGrants(only, now)).map(({ accountId }) => accountId));
  const read = accounts.filter(({ id, tier }) => granted.has(id) || tierNamed(tier, tiers).held);
  const found = await readLimits(read, tiers, store, now);
  return new Map(found.map(({ account, standings }) => [account.id, standings]));
}

/** The start of the day of this machine that a time belongs to. */
function localDayOf(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

const REDRAW_MS = 2000;
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const END_OF_SCREEN = '\u001b[J';

/** Draws on the terminal's second screen until a signal; the first screen comes back however it ends. */
async function watchUsage(parts: Parts): Promise<void> {
  const { stdout, clock } = parts.context;
  if (stdout.isTTY !== true) throw new CliError('--watch needs a terminal; leave it out in a pipe', 2);
  const { usageLines } = await import('./usage-view.ts');
  const draw = async (): Promise<void> => {
    const { accounts, describe, zone } = await readReport(parts);
    const lines = await usageLines(accounts.map(describe), { by: parts.options.by, zone }, parts.context);
    const seen = lines.slice(0, Math.max(1, (stdout.rows ?? Infinity) - 1));
    stdout.write(HOME + seen.map((line) => `${line}${END_OF_LINE}\n`).join('') + END_OF_SCREEN);
  };
  // Timers of the clock do not hold the process.
  const alive = setInterval(() => undefined, REDRAW_MS);
  stdout.write(ENTER);
  try {
    await new Promise<void>((resolve, reject) => {
      const forget = parts.context.onSignal(() => {
        forget();
        resolve();
      });
      const again = (): void => {
        draw().then(() => clock.after(REDRAW_MS, again), reject);
      };
      again();
    });
  } finally {
    clearInterval(alive);
    stdout.write(LEAVE);
  }
}
