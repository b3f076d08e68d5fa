// `gateway serve`: starts the gateway and runs until a signal ends it.
import { Option, type Command } from 'commander';
import type { App } from '../../../app/app.ts';
import type { Config } from '../../../config/config.ts';
import type { LogFormat } from '../../../log.ts';
import { collect, parsePort, parseWorkers } from '../../args/values.ts';
import { ControlError } from '../../../control/calls.ts';
import type { Context, GlobalOptions } from '../../context.ts';
import { askForFile, effective, loadProviders } from '../../read-config.ts';
import { openDatabase } from '../../database.ts';
import { serveUntilSignal, startGateway, type Place } from './serving/lifecycle.ts';
import { outputOf, type Source } from './serving/start.ts';

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
    } else await serve({ source, output, context });
  } catch (error) {
    if (output === undefined) throw error;
    const { debug } = command.optsWithGlobals<GlobalOptions>();
    throw await output.failed(error, debug === true);
  }
}

/** One process that serves. */
function serve(place: Place): Promise<void> {
  return serveUntilSignal(place, async ({ config, logger }, live) => {
    const { source, context } = place;
    const store = await openDatabase(config);
    try {
      const { app, stop } = await startGateway({ config, source, store, logger, context });
      await live({
        controlHandlers: app.controlHandlers,
        status: () => app.status(),
        reload: () => reload(app, config),
        served: () => app.ready.then(() => app),
        shape: {},
        useStore: (task) => task(store),
        stop(waits) {
          waits(app.underWay);
          return stop();
        },
        kill: () => app.kill(),
      });
    } finally {
      await store.close();
    }
  });
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
