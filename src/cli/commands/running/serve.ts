// `gateway serve`: starts the gateway and runs until a signal ends it.
import { Option, type Command } from 'commander';
import type { App } from '../../../app/app.ts';
import type { Config } from '../../../config/config.ts';
import type { LogFormat, Logger } from '../../../log.ts';
import type { Store } from '../../../store/store.ts';
import { collect, parsePort, parseWorkers } from '../../args/values.ts';
import { ControlError } from '../../../control/calls.ts';
import { version, type Context, type GlobalOptions } from '../../context.ts';
import { dataFolderOf, openControl } from '../../running.ts';
import { askForFile, effective, loadProviders, openDatabase } from '../../with-store.ts';
import {
  createFirstKey,
  listenFailure,
  openLog,
  outputOf,
  sayUnwritten,
  sayWaiting,
  sayWarnings,
  watchSignals,
  type Output,
  type Signals,
  type Source,
} from './serving/start.ts';

interface Options {
  host?: string[];
  port?: number;
  log?: LogFormat;
  /** Processes that serve. */
  workers?: number;
  background?: boolean;
  /** This process runs in the background: its log file; true: it has no log. */
  inBackground?: string | true;
  /** This process is one of several, which another one started. */
  asWorker?: boolean;
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
    .option(
      '--workers <number>',
      'processes that share the port; auto: one for each core (default: 1)',
      parseWorkers,
    )
    .option('--background', 'return once the gateway serves; its log goes to a file')
    .addOption(new Option('--in-background [file]').hideHelp())
    .addOption(new Option('--as-worker').hideHelp())
    .addOption(new Option('--as-trusted').hideHelp())
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
  const { host: hosts, port, log, workers = 1, background, inBackground } = options;
  const listen = { hosts, port, log };
  const source: Source = {
    load: () => loadProviders(command, context, listen),
    effective: () => effective(command, context, listen),
  };
  if (options.asWorker !== true) await askForFile(command, context);
  if (background === true) {
    const { serveInBackground } = await import('./serving/background.ts');
    await serveInBackground(await source.load(), command, context);
    return;
  }
  if (options.asWorker === true) {
    const { serveAsWorker } = await import('./serving/worker.ts');
    await serveAsWorker(source, command, context);
    return;
  }
  const output = await outputOf(inBackground, context);
  try {
    if (workers > 1) {
      const { serveWithWorkers } = await import('./serving/supervisor.ts');
      await serveWithWorkers({ count: workers, source, output, command, context });
    } else await serve(source, output, context);
  } catch (error) {
    if (output === undefined) throw error;
    const { debug } = command.optsWithGlobals<GlobalOptions>();
    throw await output.failed(error, debug === true);
  }
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
  const { startApp } = await import('../../../app/app.ts');
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
  }).catch(async (error: unknown) => {
    throw await listenFailure(error, config, context);
  });
  // An uncaught error of one request must not end all others. The log has it with its stack.
  const ignoreFaults = context.onFault((error) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error('uncaught error', { detail });
  });
  const logFile = output?.logFile ?? null;
  const controlled = { ...app, status: () => app.status(), reload: () => reload(app, config) };
  const control = await openControl(controlled, {
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
  sayWaiting(app.underWay, config, logger, context);
  logger.flush();
  const unwritten = await app.stop();
  control?.close();
  ignoreFaults();
  if (unwritten > 0) sayUnwritten(unwritten, logger, store.location, context);
}

/** Rejects with ControlError, for the user of `gateway reload`. */
async function reload(app: App, { file }: Config): Promise<void> {
  if (file === null) {
    throw new ControlError(
      409,
      'this gateway has no configuration file to read again; to give it other variables of the environment, end it (gateway stop) and start it again',
    );
  }
  const faults = await app.reload();
  if (faults.length > 0) throw new ControlError(400, `the old configuration stays: ${faults.join('; ')}`);
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
