// `gateway serve`: starts the gateway and runs until a signal ends it.
import { Option, type Command } from 'commander';
import type { App } from '../../../app.ts';
import { PROTOCOL_NAMES } from '../../../canonical/request.ts';
import type { Config } from '../../../config/config.ts';
import type { LogFormat, Logger } from '../../../log.ts';
import type { Store } from '../../../store/store.ts';
import { collect, parsePort } from '../../args/values.ts';
import { CliError, LOCAL_ACCOUNT, version, type Context, type GlobalOptions } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { clean, formatDuration, isInteractive } from '../../ui/style.ts';
import { effective, openDatabase, readConfig, startWarnings } from '../../with-store.ts';
import { plural } from '../../../plural.ts';
import { dataFolderOf } from '../../running.ts';
import { openControl } from './control.ts';

interface Options {
  host?: string[];
  port?: number;
  log?: LogFormat;
  background?: boolean;
  /** This process runs in the background: its log file; true: it has no log. */
  inBackground?: string | true;
}

const FORMATS = ['pretty', 'json', 'off'] as const satisfies readonly LogFormat[];

export function defineServe(serve: Command, context: Context): void {
  serve
    .option(
      '--host <host>',
      'address to listen on; may be repeated (default: $GATEWAY_HOST, the configuration, 127.0.0.1 and ::1)',
      collect,
    )
    .option(
      '--port <number>',
      'port to listen on; 0: any free port (default: $GATEWAY_PORT, the configuration, 8787)',
      parsePort,
    )
    .addOption(
      new Option(
        '--log <format>',
        'log on stderr (default: $GATEWAY_LOG, pretty on a terminal, else json)',
      ).choices(FORMATS),
    )
    .option('--background', 'return once the gateway serves; its log goes to a file')
    .addOption(new Option('--in-background [file]').hideHelp())
    .addHelpText(
      'after',
      '\nWithout a configuration file, the providers are those whose API keys are in the' +
        '\nenvironment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …) and the model servers of this' +
        '\nmachine. HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply to providers;' +
        '\nNODE_EXTRA_CA_CERTS adds certificates.' +
        '\n\nExamples:\n  gateway serve\n  gateway serve --config gateway.yaml --port 9000 --log json\n  gateway serve --background',
    )
    .action(async (options: Options, command: Command) => serveCommand(options, command, context));
}

async function serveCommand(options: Options, command: Command, context: Context): Promise<void> {
  const { host: hosts, port, log, background, inBackground } = options;
  const listen = { hosts, port, log };
  const source: Source = {
    load: () => readConfig(command, context, listen),
    effective: () => effective(command, context, listen),
  };
  if (background === true) {
    const { serveInBackground } = await import('./background.ts');
    await serveInBackground(await source.load(), command, context);
    return;
  }
  const output = await outputOf(inBackground, context);
  try {
    await serve(source, output, context);
  } catch (error) {
    if (output === undefined) throw error;
    const { debug } = command.optsWithGlobals<GlobalOptions>();
    throw await output.failed(error, debug === true);
  }
}

/** Reads the configuration anew. */
interface Source {
  load: () => Promise<Config>;
  effective: () => ReturnType<typeof effective>;
}

/** The output of a process in the background; undefined: the terminal. */
interface Output {
  logFile: string | null;
  ready(app: App, firstKey: string | undefined): Promise<void>;
  /** Resolves to what ends the command. */
  failed(error: unknown, debug: boolean): Promise<unknown>;
}

async function outputOf(
  inBackground: Options['inBackground'],
  context: Context,
): Promise<Output | undefined> {
  if (inBackground === undefined) return undefined;
  const { reportReady, reportFailure } = await import('./background.ts');
  return {
    logFile: inBackground === true ? null : inBackground,
    ready: (app, firstKey) => reportReady(app, firstKey, context),
    failed: (error, debug) => reportFailure(error, debug, context),
  };
}

async function serve(source: Source, output: Output | undefined, context: Context): Promise<void> {
  // Before the start, so that a signal during the start has its effect.
  const signals = watchSignals(context);
  try {
    const config = await source.load();
    const logger = await openLog(config, output, context);
    sayWarnings(config, logger, context);
    const store = await openDatabase(config);
    try {
      await serveUntilSignal({ config, source, store, logger, output, signals, context });
    } finally {
      await store.close();
      logger.flush();
    }
  } finally {
    signals.stop();
  }
}

interface Signals {
  /** Fulfilled by the first SIGINT, SIGTERM or SIGHUP, or by `end`; the fields of the log's record. */
  first: Promise<{ signal: NodeJS.Signals } | { by: string }>;
  /** Sets the action of a second signal. By default it ends the process. */
  onSecond(task: (signal: NodeJS.Signals) => void): void;
  /** Has the effect of a first signal; later calls have none. */
  end(by: string): void;
  stop(): void;
}

function watchSignals(context: Context): Signals {
  let second: (signal: NodeJS.Signals) => void = (signal) => context.die(signal);
  let stop = (): void => undefined;
  let end: Signals['end'] = () => undefined;
  const first: Signals['first'] = new Promise((resolve) => {
    let received = false;
    end = (by) => {
      received = true;
      resolve({ by });
    };
    stop = context.onSignal((signal) => {
      if (received) second(signal);
      else resolve({ signal });
      received = true;
    });
  });
  return {
    first,
    onSecond(task) {
      second = task;
    },
    end: (by) => end(by),
    stop: () => stop(),
  };
}

async function serveUntilSignal(parts: {
  config: Config;
  source: Source;
  store: Store;
  logger: Logger;
  output: Output | undefined;
  signals: Signals;
  context: Context;
}): Promise<void> {
  const { config, source, store, logger, output, signals, context } = parts;
  const { clock, ids, env } = context;
  const { startApp } = await import('../../../app.ts');
  const app = await startApp({
    config,
    reload: source.load,
    effective: source.effective,
    connect: async (to) => (await import('../../tools/connect-facts.ts')).connectFacts(to, env),
    store,
    dataFolder: await dataFolderOf(config, env),
    log: logger,
    clock,
    ids,
    env,
    version: version(),
  }).catch((error: unknown) => {
    throw listenFailure(error, config);
  });
  // An uncaught error of one request must not end all others. The log has it with its stack.
  const ignoreFaults = context.onFault((error) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error('uncaught error', { detail });
  });
  const logFile = output?.logFile ?? null;
  const control = await openControl(app, {
    config,
    logger,
    logFile,
    end: () => signals.end('gateway stop'),
    context,
  });
  const kill = (): void => {
    control?.close();
    app.kill();
  };
  signals.onSecond((signal) => {
    kill();
    context.die(signal);
  });
  try {
    await Promise.race([greet(app, { config, store, logger, output, context }), signals.first]);
  } catch (error) {
    kill();
    throw error;
  }
  logger.info('stopping', await signals.first);
  sayWaiting(app, config, logger, context);
  logger.flush();
  const unwritten = await app.stop();
  control?.close();
  ignoreFaults();
  if (unwritten > 0) sayUnwritten(unwritten, logger, store, context);
}

function sayWaiting(app: App, config: Config, logger: Logger, { stderr }: Context): void {
  const { requests, graceMs } = app.underWay;
  if (requests === 0) return;
  const open = plural(requests, 'open request');
  const text = `waiting up to ${formatDuration(graceMs)} for ${open}; a second Ctrl-C ends at once`;
  if (config.log === 'off') say(stderr, `gateway: ${text}`);
  else logger.info(text);
}

/** Printed beside the log, so that the user learns of the loss even without a log. */
function sayUnwritten(rows: number, logger: Logger, store: Store, { stderr }: Context): void {
  logger.flush();
  const location = clean(store.location);
  say(
    stderr,
    `gateway: ${plural(rows, 'usage row')} could not be written to ${location} and ${rows === 1 ? 'is' : 'are'} lost`,
  );
}

async function greet(
  app: App,
  parts: { config: Config; store: Store; logger: Logger; output: Output | undefined; context: Context },
): Promise<void> {
  const { config, store, logger, output, context } = parts;
  await app.ready;
  // A service has nobody to show it to, and its log is not the place for a key.
  const isShown = output === undefined || context.report !== undefined;
  const firstKey = isShown ? await createFirstKey(config, store, context) : undefined;
  if (output !== undefined) {
    logger.info('listening', { pid: process.pid, urls: app.urls });
    await output.ready(app, firstKey);
    return;
  }
  const { printBanner } = await import('../../ui/banner.ts');
  await printBanner({ app, config, store, firstKey }, context);
}

/** Without a file and without any key of a person's, nobody could use the gateway: creates a key of the account `local`. */
async function createFirstKey(config: Config, store: Store, context: Context): Promise<string | undefined> {
  const accounts = await store.listAccounts();
  if (config.file !== null || accounts.some(({ name }) => name !== LOCAL_ACCOUNT)) return undefined;
  // `gateway run` creates the account, too, for keys that end with its tools.
  const keys = accounts.length === 0 ? [] : await store.listKeys();
  if (accounts.length > 0 && (keys.length === 0 || keys.some(({ expiresAt }) => expiresAt === null)))
    return undefined;
  const { createKey } = await import('../../../accounts/key.ts');
  const { plaintext } = await createKey(
    { store, clock: context.clock, ids: context.ids },
    {
      account: LOCAL_ACCOUNT,
      tier: 'enterprise',
      label: 'first key',
      permissions: [...PROTOCOL_NAMES],
      models: null,
      expiresAt: null,
    },
  );
  return plaintext;
}

async function openLog(config: Config, output: Output | undefined, context: Context): Promise<Logger> {
  const { stderr, env } = context;
  const { createLog } = await import('../../../log.ts');
  if (output !== undefined && output.logFile !== null) {
    const { openLogFile } = await import('./log-file.ts');
    return createLog({ format: config.log ?? 'json', stream: openLogFile(output.logFile) });
  }
  context.unblockLog?.();
  const format = config.log ?? (stderr.isTTY === true ? 'pretty' : 'json');
  return createLog({ format, stream: stderr, colors: isInteractive(stderr, env) });
}

/** Warnings go into the log, so that JSON lines stay JSON lines; without a log they go to stderr. */
function sayWarnings(config: Config, logger: Logger, { stderr }: Context): void {
  for (const warning of startWarnings(config)) {
    if (config.log === 'off') say(stderr, `gateway: warning: ${clean(warning)}`);
    else logger.warn(warning);
  }
  logger.flush();
}

const LISTEN_ADVICE: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use by another program: stop it, or choose another port with --port`,
  EACCES: (host, port) =>
    `port ${port} on ${host} needs administrator rights: choose a port above 1023 with --port`,
  EADDRNOTAVAIL: (host) => `${host} is not an address of this machine: choose another host with --host`,
  ENOTFOUND: (host) => `${host} cannot be resolved: choose another host with --host`,
};

function listenFailure(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const advice = LISTEN_ADVICE[String(error.code)];
  if (advice === undefined) return error;
  const { address, hostname, port } = error as { address?: string; hostname?: string; port?: number };
  const host = address ?? hostname ?? config.listen.hosts.join(', ');
  return new CliError(advice(host, port ?? config.listen.port), 1, error);
}
