// The life of a process that serves, once for all: the configuration is read, the gateway starts, greets, reloads, and ends at a
// signal. `gateway serve` lives it with one process or with workers; a worker and `gateway run` start their gateway here.
import type { App } from '../../../../app/app.ts';
import type { GatewayRecorder, Peers, Served } from '../../../../app/parts.ts';
import type { Config } from '../../../../config/config.ts';
import type { Logger, SharedLog } from '../../../../log.ts';
import type { Store } from '../../../../store/store.ts';
import { version, type Context } from '../../../context.ts';
import { dataFolderOf } from '../../../running.ts';
import { shownDatabase } from '../../../ui/sentences.ts';
import { openControl, type Controlled } from './control.ts';
import {
  createFirstKey,
  listenFailure,
  openLog,
  sayUnwritten,
  sayWaiting,
  sayWarnings,
  watchSignals,
  type Output,
  type Signals,
  type Source,
} from './start.ts';

/** Where a gateway is served from, in this process or in several. */
export interface Place {
  source: Source;
  output: Output | undefined;
  context: Context;
}

/** What is there before the gateway starts. */
export interface Opening extends Place {
  config: Config;
  logger: SharedLog;
  signals: Signals;
}

/** A gateway that has started, of one process or of several. */
export interface Gateway extends Controlled {
  /** Resolves when the gateway can be shown. */
  served(): Promise<Served>;
  /** Fields for the log when it listens. */
  shape: Readonly<Record<string, unknown>>;
  useStore(task: (store: Store) => Promise<void>): Promise<void>;
  /** Ends its requests; `waits` is called once with those that it waits for. Resolves to the number of usage rows that could not be
   *  written. */
  stop(waits: (underWay: App['underWay']) => void): Promise<number>;
  kill(): void;
}

/** Resolves when the gateway has ended. `start` calls `live` with the gateway, unless a signal came before. */
export async function serveUntilSignal(
  place: Place,
  start: (opening: Opening, live: (gateway: Gateway) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { source, output, context } = place;
  // Before the start, so that a signal during the start has its effect.
  const signals = watchSignals(context);
  try {
    const config = await source.load();
    const logger = await openLog(config, output, context);
    sayWarnings(config, logger, context);
    const opening = { ...place, config, logger, signals };
    try {
      await start(opening, (gateway) => live(gateway, opening));
    } finally {
      logger.flush();
    }
  } finally {
    signals.stop();
  }
}

async function live(gateway: Gateway, opening: Opening): Promise<void> {
  const { config, logger, signals, output, context } = opening;
  const control = await openControl(gateway, {
    config,
    logger,
    logFile: output?.logFile ?? null,
    end: () => signals.end('gateway stop'),
    context,
  });
  const kill = (): void => {
    control?.close();
    gateway.kill();
  };
  signals.onSecond((signal) => {
    kill();
    context.die(signal);
  });
  try {
    await Promise.race([greet(gateway, opening), signals.first]);
  } catch (error) {
    kill();
    throw error;
  }
  logger.info('stopping', await signals.first);
  const unwritten = await gateway.stop((underWay) => {
    sayWaiting(underWay, config, logger, context);
    logger.flush();
  });
  control?.close();
  if (unwritten > 0) sayUnwritten(unwritten, logger, shownDatabase(config.database), context);
}

async function greet(gateway: Gateway, { config, logger, output, context }: Opening): Promise<void> {
  const served = await gateway.served();
  await gateway.useStore(async (store) => {
    // A service has nobody to show it to, and its log is not the place for a key.
    const isShown = output === undefined || context.report !== undefined;
    const firstKey = isShown ? await createFirstKey(config, store, context) : undefined;
    if (output !== undefined) {
      logger.info('listening', { pid: process.pid, ...gateway.shape, urls: served.urls });
      await output.ready(served, firstKey);
      return;
    }
    const { printBanner } = await import('../../../ui/banner.ts');
    await printBanner({ app: served, config, store, firstKey }, context);
  });
}

/** The gateway of this process. */
export interface StartedApp {
  app: App;
  stop: App['stop'];
}

/** `source` without `effective`: a gateway that ends with its tool, which shows nobody its settings. */
export async function startGateway(parts: {
  config: Config;
  source: Pick<Source, 'load'> & Partial<Source>;
  store: Store;
  logger: Logger;
  context: Context;
  peers?: Peers;
  recorder?: GatewayRecorder | undefined;
}): Promise<StartedApp> {
  const { config, source, store, logger, context, peers, recorder } = parts;
  const { clock, ids, env } = context;
  const { startApp } = await import('../../../../app/app.ts');
  const app = await startApp({
    config,
    reload: source.load,
    effective: source.effective,
    connect:
      source.effective && (async (to) => (await import('../../../../tools/facts.ts')).connectFacts(to, env)),
    store,
    dataFolder: await dataFolderOf(config, env),
    log: logger,
    clock,
    ids,
    env,
    version: version(),
    peers,
    recorder,
  }).catch(async (error: unknown) => {
    throw await listenFailure(error, config, context);
  });
  const ignoreFaults = logFaults(logger, context);
  return {
    app,
    async stop(how) {
      const unwritten = await app.stop(how);
      ignoreFaults();
      return unwritten;
    },
  };
}

/** An uncaught error of one request must not end all others. The log has it with its stack. */
export function logFaults(logger: Logger, context: Context): () => void {
  return context.onFault((error) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error('uncaught error', { detail });
  });
}
