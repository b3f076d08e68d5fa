// What `gateway serve` does besides the gateway itself, with one process or several: signals, log, first key, messages.
import type { App } from '../../../../app/app.ts';
import { PERMISSIONS } from '../../../../canonical/request.ts';
import type { Config } from '../../../../config/config.ts';
import type { Logger, SharedLog } from '../../../../log.ts';
import { plural } from '../../../../plural.ts';
import type { AdminStore } from '../../../../store/admin/admin-records.ts';
import type { KeyStore } from '../../../../store/store.ts';
import { CliError } from '../../../../cli-error.ts';
import { LOCAL_ACCOUNT, LOCAL_TIER, type Context } from '../../../context.ts';
import { sayUsed, usedFile } from '../../../ui/consent.ts';
import { findRunning, listensOn } from '../../../running.ts';
import type { Served } from '../../../../app/parts.ts';
import { say } from '../../../ui/lines.ts';
import { clean, formatDuration, isInteractive } from '../../../ui/style.ts';
import type { effective } from '../../../read-config.ts';
import { createAuditedKey } from '../../../audited.ts';
import { startWarnings } from '../../../ui/sentences.ts';

/** Each call reads the configuration again. */
export interface Source {
  load: () => Promise<Config>;
  effective: () => ReturnType<typeof effective>;
}

/** The output of a process in the background; undefined: the terminal. */
export interface Output {
  logFile: string | null;
  ready(app: Served, firstKey: string | undefined): Promise<void>;
  /** Resolves to the error that ends the command. */
  failed(error: unknown, debug: boolean): Promise<unknown>;
}

export async function outputOf(
  inBackground: string | true | undefined,
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

export interface Signals {
  /** Resolves at the first SIGINT, SIGTERM or SIGHUP, or when `end` is called. The value: fields for the log. */
  first: Promise<{ signal: NodeJS.Signals } | { by: string }>;
  /** Sets the action of a second signal. By default it ends the process. */
  onSecond(task: (signal: NodeJS.Signals) => void): void;
  /** Sets the action of SIGHUP. If `task` returns false, SIGHUP ends the gateway. */
  onHangUp(task: () => boolean): void;
  /** Has the effect of a first signal. Further calls have no effect. */
  end(by: string): void;
  stop(): void;
}

export function watchSignals(context: Context): Signals {
  let second: (signal: NodeJS.Signals) => void = (signal) => context.die(signal);
  let hangUp = (): boolean => false;
  let stop = (): void => undefined;
  let end: Signals['end'] = () => undefined;
  const first: Signals['first'] = new Promise((resolve) => {
    let received = false;
    end = (by) => {
      received = true;
      resolve({ by });
    };
    stop = context.onSignal((signal) => {
      if (signal === 'SIGHUP' && hangUp()) return;
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
    onHangUp(task) {
      hangUp = task;
    },
    end: (by) => end(by),
    stop: () => stop(),
  };
}

export function sayWaiting(
  { requests, graceMs }: App['underWay'],
  config: Config,
  logger: Logger,
  { stderr }: Context,
): void {
  if (requests === 0) return;
  const open = plural(requests, 'open request');
  const text = `waiting up to ${formatDuration(graceMs)} for ${open}; a second Ctrl-C ends at once`;
  if (config.log === 'off') say(stderr, `gateway: ${text}`);
  else logger.info(text);
}

/** Printed beside the log, so that the user learns of the loss even without a log. */
export function sayUnwritten(rows: number, logger: Logger, database: string, { stderr }: Context): void {
  logger.flush();
  const location = clean(database);
  say(
    stderr,
    `gateway: ${plural(rows, 'usage row')} could not be written to ${location} and ${rows === 1 ? 'is' : 'are'} lost`,
  );
}

/** Creates a key of the account `local` if there is no file and no person has a key: nobody could use the gateway otherwise. */
export async function createFirstKey(
  config: Config,
  store: KeyStore & AdminStore,
  context: Context,
): Promise<string | undefined> {
  const accounts = await store.listAccounts();
  if (config.file !== null || accounts.some(({ name }) => name !== LOCAL_ACCOUNT)) return undefined;
  // `gateway run` also creates the account, for keys that end with its tools.
  const keys = accounts.length === 0 ? [] : await store.listKeys();
  if (accounts.length > 0 && (keys.length === 0 || keys.some(({ expiresAt }) => expiresAt === null)))
    return undefined;
  const { plaintext } = await createAuditedKey(store, context, {
    account: LOCAL_ACCOUNT,
    tier: LOCAL_TIER,
    label: 'first key',
    permissions: [...PERMISSIONS],
    models: null,
    expiresAt: null,
  });
  return plaintext;
}

export async function openLog(
  config: Config,
  output: Output | undefined,
  context: Context,
): Promise<SharedLog> {
  const { stderr, env } = context;
  const { createLog } = await import('../../../../log.ts');
  if (output !== undefined && output.logFile !== null) {
    const { openLogFile } = await import('./log-file.ts');
    return createLog({ format: config.log ?? 'json', stream: openLogFile(output.logFile) });
  }
  context.unblockLog?.();
  const format = config.log ?? (stderr.isTTY === true ? 'pretty' : 'json');
  return createLog({ format, stream: stderr, colors: isInteractive(stderr, env) });
}

/** Warnings, and that the file is one of the current folder, go into the log, so that JSON lines stay JSON lines; without a log they
 *  go to stderr. */
export function sayWarnings(config: Config, logger: Logger, context: Context): void {
  const { stderr } = context;
  if (config.log === 'off') sayUsed(config, context);
  else if (config.file !== null && config.consent !== undefined) logger.info(usedFile(config.file));
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

export async function listenFailure(error: unknown, config: Config, context: Context): Promise<unknown> {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const advice = LISTEN_ADVICE[String(error.code)];
  if (advice === undefined) return error;
  const {
    address,
    hostname,
    port = config.listen.port,
  } = error as { address?: string; hostname?: string; port?: number };
  const host = address ?? hostname ?? config.listen.hosts.join(', ');
  const pid = error.code === 'EADDRINUSE' ? await gatewayOn(port, config, context) : undefined;
  const message =
    pid === undefined
      ? advice(host, port)
      : `port ${port} on ${host} is in use by the gateway with pid ${pid}: end it with gateway stop ${pid}, or choose another port with --port`;
  return new CliError(message, 1, error);
}

/** The pid of the gateway on the same database that listens on a port. */
async function gatewayOn(port: number, config: Config, context: Context): Promise<number | undefined> {
  const { all } = await findRunning(config, context).catch(() => ({ all: [] }));
  return all.find((gateway) => listensOn(gateway, port))?.status.pid;
}
