// `gateway top`: what a running gateway does now, drawn again every half second on the whole terminal, or once as text or JSON.
import type { Command } from 'commander';
import { hourOf } from '../../../clock.ts';
import type { Config } from '../../../config/config.ts';
import { stream, type RunningGateway } from '../../../control/client.ts';
import type { LiveFrame } from '../../../observe/live.ts';
import type { StoreReader } from '../../../store/reader.ts';
import { parsePort } from '../../args/values.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { newestGateway } from '../../running.ts';
import { createStyle, printJson, printLines, widthOf, zoneOf, type Style } from '../../ui/style.ts';
import type { AccountHour, TopData } from '../../ui/top-view.ts';
import { withReadStore } from '../../database.ts';
import { limitOf } from '../../../accounts/terms.ts';

interface Options {
  once?: boolean;
  json?: boolean;
  port?: number;
}

export function defineTop(top: Command, context: Context): void {
  top
    .option('--once', 'print one frame and end')
    .option('--port <port>', 'the gateway on this port (default: the newest)', parsePort)
    .option('--json', 'print one frame as JSON')
    .addHelpText('after', '\nExamples:\n  gateway top\n  gateway top --once --json')
    .action(async (options: Options, command: Command) =>
      withReadStore(command, context, async (store, config) => {
        const gateway = await newestGateway(config, context, { port: options.port, ofTools: true });
        const once = options.once === true || options.json === true || !isScreen(context);
        if (once) await printOnce(gateway, options, { store, config, context });
        else await runScreen(gateway, { store, config, context });
      }),
    );
}

interface Parts {
  store: StoreReader;
  config: Config;
  context: Context;
}

function isScreen({ stdout, env }: Context): boolean {
  return stdout.isTTY === true && env['TERM'] !== 'dumb';
}

async function printOnce(gateway: RunningGateway, { json }: Options, parts: Parts): Promise<void> {
  const { context } = parts;
  const data = { gateway: gateway.status, frame: await oneFrame(gateway), accounts: await readHours(parts) };
  if (json) {
    printJson(context, data);
    return;
  }
  const { topLines } = await import('../../ui/top-view.ts');
  const style = await createStyle(context.stdout, context.env);
  printLines(
    context.stdout,
    topLines(data, { width: widthOf(context.stdout), height: undefined, style, zone: zoneOf(context) }),
  );
}

/** Tokens are counted while somebody watches: the second frame knows the rates of streams. */
async function oneFrame(gateway: RunningGateway): Promise<LiveFrame> {
  let last: LiveFrame | undefined;
  for await (const event of stream(gateway, '/live')) {
    if (!isFrame(event)) continue;
    if (last !== undefined || event.in_flight === 0) return event;
    last = event;
  }
  if (last === undefined) throw new CliError('the gateway ended; start it: gateway serve');
  return last;
}

/** Not the note of events that were dropped. */
function isFrame(event: unknown): event is LiveFrame {
  return Array.isArray((event as LiveFrame).requests);
}

const MOST_ACCOUNTS = 20;

/** Accounts that made requests this hour, the nearest to their limit first. */
async function readHours({ store, config, context }: Parts): Promise<AccountHour[]> {
  const now = context.clock.now();
  const hours = await store.admissionsByHour(undefined, hourOf(now));
  const accounts = new Map((await store.listAccounts()).map((account) => [account.id, account]));
  const found = hours.flatMap(({ accountId, requests }): AccountHour[] => {
    const account = accounts.get(accountId);
    if (account === undefined) return [];
    const limit = limitOf(account.tier, config.tiers);
    return [{ account: account.name, used: requests, limit: limit === Infinity ? null : limit }];
  });
  const share = ({ used, limit }: AccountHour): number => (limit === null ? 0 : used / limit);
  return found.sort((a, b) => share(b) - share(a) || b.used - a.used).slice(0, MOST_ACCOUNTS);
}

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const QUIT = new Set(['q', 'Q', '\u0003', '\u001b']);
const HOURS_EVERY_MS = 2000;

/** Until q, Ctrl-C, a signal or the end of the gateway. The terminal is restored however it ends. */
async function runScreen(gateway: RunningGateway, parts: Parts): Promise<void> {
  const { context } = parts;
  const { stdout } = context;
  const ending = new AbortController();
  let fault: unknown;
  const forgets = [
    context.onSignal(() => ending.abort()),
    context.onFault((error) => {
      fault = error ?? new Error('failed');
      ending.abort();
    }),
    context.onKey?.((key) => {
      if (QUIT.has(key)) ending.abort();
    }),
  ];
  stdout.write(ENTER);
  try {
    const style = await styleOf(context);
    await drawFrames(gateway, style, ending.signal, parts);
  } finally {
    stdout.write(LEAVE);
    for (const forget of forgets) forget?.();
  }
  if (fault !== undefined) throw fault instanceof Error ? fault : new Error('failed', { cause: fault });
  if (!ending.signal.aborted) printLines(stdout, ['The gateway ended.']);
}

const styleOf = ({ stdout, env }: Context): Promise<Style> => createStyle(stdout, env);

async function drawFrames(
  gateway: RunningGateway,
  style: Style,
  signal: AbortSignal,
  parts: Parts,
): Promise<void> {
  const { stdout, clock } = parts.context;
  const { topLines, footer } = await import('../../ui/top-view.ts');
  let accounts: AccountHour[] = [];
  let readAt = -Infinity;
  for await (const frame of stream(gateway, '/live', signal)) {
    if (!isFrame(frame)) continue;
    if (clock.monotonic() - readAt > HOURS_EVERY_MS) {
      readAt = clock.monotonic();
      accounts = await readHours(parts);
    }
    const width = widthOf(stdout) ?? 80;
    const height = Math.max(2, stdout.rows ?? 24) - 1;
    const data: TopData = { gateway: gateway.status, frame, accounts };
    const lines = topLines(data, { width, height, style, zone: zoneOf(parts.context) });
    const blank = Array.from({ length: Math.max(0, height - lines.length) }, () => '');
    const screen = [...lines, ...blank, footer({ width, style })];
    stdout.write(HOME + screen.map((line) => line + REST_OF_LINE).join('\r\n') + REST_OF_SCREEN);
  }
}
