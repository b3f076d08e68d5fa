// `gateway serve --background`: starts a second process that outlives the terminal, waits until it serves, and prints its banner.
// Both sides are here: the messages between them, the process that waits, and the report of the process that serves.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import type { Command, Option } from 'commander';
import type { Config } from '../../../../config/config.ts';
import { CliError } from '../../../../cli-error.ts';
import { ProgramEnd, type Context } from '../../../context.ts';
import { sayUsed } from '../../../ui/consent.ts';
import { findRunning } from '../../../running.ts';
import type { Served } from '../../../../app/parts.ts';
import { errorLines, say } from '../../../ui/lines.ts';
import { clean } from '../../../ui/style.ts';
import { openDatabase } from '../../../database.ts';
import { shownDatabase, startWarnings } from '../../../ui/sentences.ts';
import { logFilePath, openToAppend } from './log-file.ts';

/** The hidden option of the second process: its log file, or no value without a log. */
const IN_BACKGROUND = '--in-background';

/** What the banner shows. The key crosses only the channel between the two processes. */
interface Ready {
  ready: Served & { firstKey?: string | undefined };
}

interface Failed {
  failed: { lines: string[]; exitCode: number };
}

type Message = Ready | Failed;

/** Without secrets. */
export function servedBy({ urls, endpoints, notes, providers }: Served): Served {
  const secrets = { apiKey: undefined, apiKeys: undefined, headers: {}, network: undefined };
  const shown = providers.map((provider) => ({ ...provider, ...secrets }));
  return { urls, endpoints, notes, providers: shown };
}

/** Of the process that serves. Does nothing if the process that waits is gone. */
export async function reportReady(
  app: Served,
  firstKey: string | undefined,
  context: Context,
): Promise<void> {
  await context.report?.({ ready: { ...servedBy(app), firstKey } } satisfies Ready);
}

/** The process that waits prints the error. If it is gone, the error goes to stderr, which is the log file. */
export async function reportFailure(error: unknown, debug: boolean, context: Context): Promise<unknown> {
  const { lines, exitCode } = errorLines(error, debug);
  const reported = await context.report?.({ failed: { lines, exitCode } } satisfies Failed);
  return reported === true ? new ProgramEnd(exitCode) : error;
}

/** Several lines, and the exit code of the process that failed. */
export class StartFailure extends CliError {
  readonly faults: string[];
  constructor({ lines, exitCode }: { lines: string[]; exitCode: number }) {
    super(lines[0] ?? 'the gateway did not start', exitCode === 2 ? 2 : 1);
    this.faults = lines;
  }
}

export async function serveInBackground(config: Config, command: Command, context: Context): Promise<void> {
  sayUsed(config, context);
  await refuseSecond(config, context);
  for (const warning of startWarnings(config)) say(context.stderr, `gateway: warning: ${clean(warning)}`);
  const logFile = config.log === 'off' ? undefined : await logFilePath(config, context.env);
  const child = start(command, logFile, context);
  const stopSignals = context.onSignal((signal) => {
    child.kill('SIGTERM');
    context.die(signal);
  });
  try {
    const { firstKey, ...app } = await waitFor(child, logFile);
    const store = await openDatabase(config);
    try {
      const { printBanner } = await import('../../../ui/banner.ts');
      const background = { pid: child.pid ?? 0, logFile };
      await printBanner({ app, config, store, firstKey, background }, context);
    } finally {
      await store.close();
    }
  } finally {
    stopSignals();
    if (child.connected) child.disconnect();
    child.unref();
  }
}

async function refuseSecond(config: Config, context: Context): Promise<void> {
  const { own } = await findRunning(config, context);
  const [first] = own;
  if (first === undefined) return;
  const { pid, urls } = first.status;
  const database = shownDatabase(config.database);
  throw new CliError(
    `a gateway runs on ${database} already: pid ${pid}, ${urls[0] ?? ''}; use it, or end it first: gateway stop`,
  );
}

/** In a session of its own, which no terminal ends. What the process itself prints when it crashes goes to the log file. */
function start(command: Command, logFile: string | undefined, { cwd, env }: Context): ChildProcess {
  const script = process.argv[1] ?? '';
  const self = logFile === undefined ? IN_BACKGROUND : `${IN_BACKGROUND}=${logFile}`;
  const words = [...process.execArgv, script, ...serveWords(command), self];
  const stderr = logFile === undefined ? 'ignore' : openToAppend(logFile);
  try {
    return spawn(process.execPath, words, {
      cwd,
      env,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'ignore', stderr, 'ipc'],
    });
  } finally {
    if (typeof stderr === 'number') closeSync(stderr);
  }
}

/** Those of `serve --background` and of `dashboard` itself. */
const NOT_PASSED = ['--background', IN_BACKGROUND, '--open', '--json', '--as-worker'];

/** The words of `serve` with the options of this command line. */
export function serveWords(command: Command): string[] {
  return [...optionWords(command.parent), 'serve', ...optionWords(command)];
}

/** The options of the command line, as words of another. */
function optionWords(command: Command | null): string[] {
  const given = (command?.options ?? []).filter(
    (option) =>
      !NOT_PASSED.includes(option.long ?? '') &&
      command?.getOptionValueSource(option.attributeName()) === 'cli',
  );
  return given.flatMap((option) => wordsOf(option, command?.getOptionValue(option.attributeName())));
}

function wordsOf({ long }: Option, value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((item) => (item === true ? String(long) : `${String(long)}=${String(item)}`));
}

async function waitFor(child: ChildProcess, logFile: string | undefined): Promise<Ready['ready']> {
  const message = once(child, 'message').then(([received]: unknown[]) => received as Message);
  const exit = once(child, 'exit').then(async (end: unknown[]): Promise<Message> => {
    const [code, signal] = end as [number | null, NodeJS.Signals | null];
    const how = signal === null ? `with ${code}` : `by ${signal}`;
    const log = logFile === undefined ? '' : `; its log: ${logFile}`;
    // A message can arrive after the end of its process.
    await new Promise((resolve) => setImmediate(resolve));
    return { failed: { lines: [`the gateway ended ${how} before it served${log}`], exitCode: 1 } };
  });
  const result = await Promise.race([message, exit]);
  if ('ready' in result) return result.ready;
  throw new StartFailure(result.failed);
}
