// Commands find the gateways on their database through the control sockets of these.
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../config/config.ts';
import type { Found, RunningGateway } from '../control/client.ts';
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

/** Oldest first, those of `gateway run` too. Those on another database in the same folder are left out. */
export async function runningGateways(config: Config, context: Context): Promise<RunningGateway[]> {
  return (await lookUpGateways(config, context, { ofTools: true })).running;
}

/** Also those that do not answer. `ofTools`: those of `gateway run`, which end with their tool. */
export async function lookUpGateways(
  config: Config,
  { env }: Context,
  { ofTools = false } = {},
): Promise<Found> {
  const { findGateways } = await import('../control/client.ts');
  const { running, silent } = await findGateways(await dataFolderOf(config, env), env);
  const database = nameOf(config.database);
  return {
    running: running
      .filter(({ status }) => nameOf(status.database) === database)
      .filter(({ status }) => ofTools || status.tool === undefined)
      .sort((a, b) => a.status.since.localeCompare(b.status.since)),
    silent,
  };
}

/** The one that runs, or the newest of several. Rejects with the next step if none runs. */
export async function runningGateway(
  config: Config,
  context: Context,
  options?: { ofTools: boolean },
): Promise<RunningGateway> {
  const { running, silent } = await lookUpGateways(config, context, options);
  const newest = running.at(-1);
  if (newest === undefined) throw noneRuns(config, silent);
  return newest;
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
  const { running } = await lookUpGateways(config, context);
  const [best] = running
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

export function portOf(url: string): number | undefined {
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

export function noneRuns(config: Config, silent: readonly number[]): CliError {
  return noneToChange(config, { running: [], silent }, 'start one: gateway serve');
}

/** For commands that end or change a running gateway: whoever wants that needs no new one. `running`: those of tools alone. */
export function noneToChange(
  config: Config,
  { running, silent }: { running: readonly RunningGateway[]; silent: readonly number[] },
  next?: string,
): CliError {
  const [pid] = silent;
  const database = shownDatabase(config.database);
  if (pid !== undefined)
    return new CliError(
      `the gateway with pid ${pid} on ${database} does not answer: it is stopped or busy; end it: kill -9 ${pid}`,
    );
  const ofTools = running.map(({ status: { tool = '', pid } }) => `gateway run ${tool} (pid ${pid})`);
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
