// `gateway status`: the gateways that run on this database, the health of their providers, and the hour of each account. If none
// runs here, the database still holds the health that servers on other machines published.
import type { Command } from 'commander';
import { HOUR_MS, hourOf, isoTime } from '../../../clock.ts';
import type { Config } from '../../../config/config.ts';
import type { GatewayStatus, WorkerStatus } from '../../../control/calls.ts';
import { plural } from '../../../plural.ts';
import { StoreError, type TargetHealth, type KeyStore, type AdmissionStore } from '../../../store/store.ts';
import type { Context } from '../../context.ts';
import { findRunning, noneRuns } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import {
  clean,
  createStyle,
  formatCount,
  formatDuration,
  printJson,
  printLines,
  timeText,
  widthOf,
  type Style,
} from '../../ui/style.ts';
import { displayWidth } from '../../../display-width.ts';
import { table, wrapText, type Cell } from '../../ui/table.ts';
import { readValidConfig, sayRead } from '../../read-config.ts';
import { openDatabase } from '../../database.ts';
import { limitOf } from '../../../accounts/terms.ts';

interface Options {
  json?: boolean;
}

/** An account that made requests this hour. */
interface Hour {
  account: string;
  tier: string;
  limit: number;
  used: number;
}

/** What the database knows. */
interface Known {
  hours: Hour[];
  avoided: TargetHealth[];
}

export function defineStatus(status: Command, context: Context): void {
  status
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 if a gateway runs on the database, 1 if none does.' +
        '\n\nExamples:\n  gateway status\n  gateway status --json',
    )
    .action(async (options: Options, command: Command) => statusCommand(options, command, context));
}

async function statusCommand(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readValidConfig(command, context);
  await sayRead(context, config, { database: true });
  const [{ all, silent }, known] = await Promise.all([
    findRunning(config, context),
    readDatabase(config, context),
  ]);
  const gateways = all.map(({ status }) => status);
  if (options.json) printJson(context, toJson(gateways, known, context));
  else {
    const style = await createStyle(context.stdout, context.env);
    printLines(context.stdout, linesOf(gateways, known, { context, style }));
  }
  if (gateways.length === 0) throw noneRuns(config, { silent });
  for (const pid of silent) say(context.stderr, `the gateway with pid ${pid} does not answer`);
}

/** A database that cannot be read does not hide a gateway that runs. */
async function readDatabase(config: Config, context: Context): Promise<Known> {
  const { databaseExists } = await import('../../../store/open.ts');
  if (!databaseExists(config.database)) return { hours: [], avoided: [] };
  try {
    const store = await openDatabase(config);
    try {
      const hours = await hoursOf(store, config, context.clock.now());
      return { hours, avoided: await store.listHealth(context.clock.now()) };
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    say(context.stderr, `warning: ${clean(error.message)}`);
    return { hours: [], avoided: [] };
  }
}

async function hoursOf(store: KeyStore & AdmissionStore, config: Config, now: number): Promise<Hour[]> {
  const hour = hourOf(now);
  const [accounts, admissions] = await Promise.all([
    store.listAccounts(),
    store.admissionsByHour(undefined, hour),
  ]);
  return admissions
    .filter((row) => row.hour === hour)
    .flatMap(({ accountId, requests }) => {
      const account = accounts.find(({ id }) => id === accountId);
      if (account === undefined) return [];
      const { name, tier } = account;
      return [{ account: name, tier, limit: limitOf(tier, config.tiers), used: requests }];
    })
    .sort((a, b) => b.used / b.limit - a.used / a.limit || b.used - a.used);
}

function toJson(gateways: readonly GatewayStatus[], { hours, avoided }: Known, { clock }: Context): unknown {
  const resets = isoTime(hourOf(clock.now()) + HOUR_MS);
  return {
    gateways,
    avoided: avoided.map((target) => ({ ...target, until: isoTime(target.until) })),
    accounts: hours.map(({ limit, ...hour }) => ({
      ...hour,
      limit: limit === Infinity ? null : limit,
      resets_at: resets,
    })),
  };
}

interface Page {
  context: Context;
  style: Style;
}

function linesOf(gateways: readonly GatewayStatus[], { hours, avoided }: Known, page: Page): string[] {
  const sections = [
    ...gateways.map((gateway) => gatewayLines(gateway, page)),
    ...(gateways.length === 0 && avoided.length > 0 ? [avoidedLines(avoided, page)] : []),
    ...(hours.length > 0 ? [hourLines(hours, page)] : []),
  ];
  return sections.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

type Row = [title: string, values: string[]];

const LABEL_WIDTH = 11;

const STATES = {
  starting: 'serves nothing now: its workers start again, and its log says why they ended',
  serving: 'runs',
  maintenance: 'runs, in maintenance: new requests get a 503',
  stopping: 'is stopping',
} as const satisfies Record<GatewayStatus['state'], string>;

function gatewayLines(gateway: GatewayStatus, page: Page): string[] {
  const { style, context } = page;
  const { pid, version, since, urls, requests_in_flight: requests, grace_ms: grace, tool } = gateway;
  const age = formatDuration(context.clock.now() - Date.parse(since));
  const stopping = `${formatCount(requests)} under way, up to ${formatDuration(grace)} are left for them`;
  const rows: Row[] = [
    ['pid', [String(pid)]],
    ...(tool === undefined ? [] : [['tool', [`${clean(tool)}; the gateway ends with it`]] satisfies Row]),
    ['since', [`${timeText(Date.parse(since), page.context)}, for ${age}`]],
    ['address', urls.map((url) => style.cyan(clean(url)))],
    ...(gateway.workers === undefined ? [] : [workersRow(gateway.workers)]),
    ['requests', [gateway.state === 'stopping' ? stopping : `${formatCount(requests)} under way`]],
    ['database', [clean(gateway.database)]],
    ['config', [clean(gateway.config ?? 'none: uses the providers of the environment')]],
    ['log', [clean(gateway.log ?? 'not in a file'), ...lostText(gateway)]],
  ];
  return [
    style.bold(`gateway ${clean(version)} ${STATES[gateway.state]}`),
    '',
    ...rows.flatMap(([label, values]) => rowLines(label, values, page)),
    '',
    ...providerLines(gateway, page),
  ];
}

function lostText({ log_lost: lost = 0 }: GatewayStatus): string[] {
  if (lost === 0) return [];
  return [
    `${formatCount(lost)} ${lost === 1 ? 'record was' : 'records were'} lost: not read in time, or not written`,
  ];
}

function workersRow(workers: readonly WorkerStatus[]): [string, string[]] {
  const lines = workers.map(({ worker, pid, state, requests_in_flight: requests }) => {
    const work = requests === null ? '' : `, ${formatCount(requests)} under way`;
    return `${worker}: pid ${pid}${state === 'serving' ? '' : `, ${state}`}${work}`;
  });
  return ['workers', lines];
}

/** A path or address on two lines cannot be copied, so a long one gets a line of its own. */
function rowLines(label: string, values: readonly string[], { style, context }: Page): string[] {
  const width = widthOf(context.stdout);
  const shown = (at: number): string => style.dim((at === 0 ? label : '').padEnd(LABEL_WIDTH));
  return values.flatMap((value, at) =>
    width !== undefined && LABEL_WIDTH + 2 + displayWidth(value) > width
      ? [`  ${shown(at).trimEnd()}`, `    ${value}`]
      : [`  ${shown(at)}${value}`],
  );
}

function providerLines({ providers }: GatewayStatus, { style, context }: Page): string[] {
  const now = context.clock.now();
  // A line for each target that is avoided.
  const rows = providers.flatMap(({ name, avoided }): { name: string; health: Cell }[] => {
    const [first = { text: 'ok', paint: 'green' }, ...others] = avoided.map(
      ({ target, state, until }): Cell => {
        // The row names the provider.
        const model = target.startsWith(`${name}/`) ? target.slice(name.length + 1) : target;
        const text = healthText({ target: model, state, until: Date.parse(until) }, now);
        return { text, paint: state === 'failing' ? 'red' : 'yellow' };
      },
    );
    return [{ name, health: first }, ...others.map((health) => ({ name: '', health }))];
  });
  return table(
    rows,
    [
      { title: '  PROVIDER', value: ({ name }) => `  ${clean(name)}`, shrinks: true },
      { title: 'HEALTH', shrinks: true, value: ({ health }) => health },
    ],
    { width: widthOf(context.stdout), style },
  );
}

/** The state comes first, because a narrow terminal cuts the end. A cool-down has an end; a failing target is tried again from
 *  time to time. */
function healthText({ target, state, until }: TargetHealth, now: number): string {
  const wait = state === 'cooling' ? ` for ${formatDuration(Math.max(until - now, 1000))}` : '';
  return `${state}${wait}: ${clean(target)}`;
}

function avoidedLines(avoided: readonly TargetHealth[], { context, style }: Page): string[] {
  const now = context.clock.now();
  return [
    ...wrapText('Servers on this database avoid:', widthOf(context.stdout)),
    ...avoided.map((target) => `  ${style.yellow(healthText(target, now))}`),
  ];
}

function hourLines(hours: readonly Hour[], { context, style }: Page): string[] {
  const left = formatDuration(HOUR_MS - (context.clock.now() % HOUR_MS));
  const full = ({ used, limit }: Hour): boolean => used >= limit;
  const rows = table(
    hours,
    [
      { title: '  ACCOUNT', value: ({ account }) => `  ${clean(account)}`, shrinks: true },
      {
        title: 'USED',
        align: 'right',
        value: (hour) => ({ text: formatCount(hour.used), paint: full(hour) ? 'yellow' : undefined }),
      },
      {
        title: 'LIMIT',
        align: 'right',
        value: ({ limit }) => (limit === Infinity ? 'no limit' : formatCount(limit)),
      },
    ],
    { width: widthOf(context.stdout), style },
  );
  return [style.bold(`This hour: ${plural(hours.length, 'account')}, ${left} left`), ...rows];
}
