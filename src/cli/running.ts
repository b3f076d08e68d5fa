// Commands find the gateways on their database through the control sockets of these.
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../config/config.ts';
import type { RunningGateway } from '../control/client.ts';
import type { Environment } from '../environment.ts';
import { CliError } from '../cli-error.ts';
import type { Context } from './context.ts';
import { shownDatabase } from './ui/sentences.ts';
import type { GatewayStatus } from '../control/calls.ts';

/** The folder of the database file; of another database, the user's data folder. */
export async function dataFolderOf({ database }: Config, env: Environment): Promise<string> {
  if (path.isAbsolute(database)) return path.dirname(realPath(database));
  const { defaultPaths } = await import('../config/load.ts');
  return path.dirname(defaultPaths(env).database);
}

/** The gateways that run on a database. Both lists have the oldest first. */
export interface RunningGateways {
  all: RunningGateway[];
  /** Without those of `gateway run`, which end with their tool. */
  own: RunningGateway[];
  /** The pids of gateways that do not answer: they may be on another database of the same folder. */
  silent: number[];
}

export async function findRunning(config: Config, { env }: Context): Promise<RunningGateways> {
  const { findGateways } = await import('../control/client.ts');
  const { running, silent } = await findGateways(await dataFolderOf(config, env), env);
  const database = nameOf(config.database);
  const all = running
    .filter(({ status }) => nameOf(status.database) === database)
    .sort((a, b) => a.status.since.localeCompare(b.status.since));
  return { all, own: all.filter(({ status }) => status.tool === undefined), silent };
}

/** For commands that look at a gateway: of several the newest. `port`: the one that listens there. */
export async function newestGateway(
  config: Config,
  context: Context,
  { port, ofTools = false }: { port?: number | undefined; ofTools?: boolean } = {},
): Promise<RunningGateway> {
  const found = await findRunning(config, context);
  const gateways = ofTools ? found.all : found.own;
  const chosen = port === undefined ? gateways.at(-1) : gateways.find((each) => listensOn(each, port));
  if (chosen !== undefined) return chosen;
  if (gateways.length === 0) throw noneRuns(config, found);
  const ports = gateways.flatMap(({ status }) => status.urls.slice(0, 1).map(portOf));
  throw new CliError(
    `no gateway on this database listens on port ${port}; ports in use: ${ports.join(', ')}`,
  );
}

/** For commands that end or change a gateway: of several it must be named, as `command` says. */
export async function onlyGateway(
  { pid, port, command }: { pid: number | undefined; port: number | undefined; command: string },
  config: Config,
  context: Context,
): Promise<RunningGateway> {
  const found = await findRunning(config, context);
  const { own } = found;
  const fitting = own.filter(
    (gateway) =>
      (pid === undefined || gateway.status.pid === pid) && (port === undefined || listensOn(gateway, port)),
  );
  const [first, ...others] = fitting;
  if (first !== undefined && others.length === 0) return first;
  if (own.length === 0) throw noneToChange(config, found);
  const listed = (first === undefined ? own : fitting).map(shortNameOf).join(', ');
  throw new CliError(
    first === undefined
      ? `no gateway has this pid or port; there ${own.length === 1 ? 'is' : 'are'} ${listed}`
      : `${fitting.length} gateways run: ${listed}; name one: gateway ${command} PID`,
  );
}

export function listensOn({ status }: RunningGateway, port: number): boolean {
  return status.urls.some((url) => portOf(url) === port);
}

function shortNameOf({ status: { pid, urls } }: RunningGateway): string {
  return `pid ${pid} on port ${portOf(urls[0] ?? '') ?? '?'}`;
}

/** Where a client on this machine finds a gateway. */
interface Serving {
  /** Without a version. */
  url: string;
  status: GatewayStatus;
}

/** The gateway to point a program at: one of this user's, found by its control socket, because anybody may listen on a port. Of
 *  several the one with this configuration comes first, then the one on its port, then the newest. */
export async function servingGateway(config: Config, context: Context): Promise<Serving | undefined> {
  const { networkName } = await import('../control/place.ts');
  const network = networkName();
  const { own } = await findRunning(config, context);
  const [best] = own
    .filter(({ status }) => status.state !== 'stopping')
    // Of another container, its addresses would lead to another program here.
    .filter(({ status }) => (status.network ?? network) === network)
    .map(({ status }) => ({ status, url: urlToUse(status.urls) }))
    .filter((gateway): gateway is Serving => gateway.url !== undefined)
    .reverse()
    .map((gateway) => ({ gateway, rank: rankOf(gateway, config) }))
    .sort((a, b) => a.rank - b.rank);
  return best?.gateway;
}

function portOf(url: string): number | undefined {
  const port = /:(\d+)$/.exec(url)?.[1];
  return port === undefined ? undefined : Number(port);
}

/** Where a client on this machine finds the gateway that runs, or would find one with this configuration. */
export async function clientUrl(config: Config, context: Context): Promise<string | undefined> {
  return (await servingGateway(config, context))?.url ?? configuredUrl(config);
}

function rankOf({ status, url }: Serving, { file, listen }: Config): number {
  const usable = status.state === 'serving' ? 0 : 4;
  return usable + (status.config === file ? 0 : 2) + (portOf(url) === listen.port ? 0 : 1);
}

/** Where a gateway with this configuration would listen; undefined: on any free port. */
export function configuredUrl({ listen: { hosts, port } }: Config): string | undefined {
  if (port === 0) return undefined;
  return urlToUse(hosts.map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`));
}

/** The address of a gateway for programs on this machine. */
function urlToUse(urls: readonly string[]): string | undefined {
  const here = urls.map((url) => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:'));
  return here.find((url) => url.startsWith('http://127.0.0.1:')) ?? here[0];
}

export function noneRuns(config: Config, { silent }: Pick<RunningGateways, 'silent'>): CliError {
  return noneToChange(config, { all: [], silent }, 'start one: gateway serve');
}

/** Whoever ends or changes a running gateway needs no new one. `all`: those of tools. */
export function noneToChange(
  config: Config,
  { all, silent }: Pick<RunningGateways, 'all' | 'silent'>,
  next?: string,
): CliError {
  const [pid] = silent;
  const database = shownDatabase(config.database);
  if (pid !== undefined)
    return new CliError(
      `the gateway with pid ${pid} on ${database} does not answer: it is stopped or busy; end it: kill -9 ${pid}`,
    );
  const ofTools = all.map(({ status: { tool = '', pid } }) => `gateway run ${tool} (pid ${pid})`);
  if (ofTools.length > 0)
    return new CliError(
      `no gateway of its own runs on ${database}, only that of ${ofTools.join(' and of ')}: it ends with its tool`,
    );
  const another = '--config and --database name another';
  return new CliError(
    `no gateway runs on ${database}; ${next === undefined ? another : `${next} (${another})`}`,
  );
}

const nameOf = (database: string): string =>
  path.isAbsolute(database) ? realPath(database) : shownDatabase(database);

/** A link and its file are one database. */
function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
