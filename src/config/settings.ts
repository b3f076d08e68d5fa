// Hosts, port, database and log format: settings that flags and environment variables can set too. A flag overrides the
// environment, the environment overrides the file. Also the defaults of limits and tiers.
import { homedir } from 'node:os';
import path from 'node:path';
import type { Config, ConfigFault } from './config.ts';
import type { Environment } from '../environment.ts';
import { readVariable } from './variables/secret-files.ts';
import { isLoopback } from '../loopback.ts';
import { hourlyTier, type Tier } from '../tier.ts';
import { HOST, parseWhole, UNLIMITED } from './schema/scalars.ts';
import type { FileConfig } from './schema/schema.ts';

export interface Flags {
  config?: string;
  /** The file that `config` names needs consent all the same. */
  asTrusted?: boolean;
  database?: string;
  hosts?: string[];
  port?: number;
  log?: Config['log'];
}

const DEFAULT_HOSTS: readonly string[] = ['127.0.0.1', '::1'];
const DEFAULT_PORT = 8787;
export const DEFAULT_TIERS: Readonly<Record<string, Tier>> = {
  free: hourlyTier(10),
  lite: hourlyTier(30),
  pro: hourlyTier(60),
  enterprise: hourlyTier(300),
  [UNLIMITED]: hourlyTier(Infinity),
};
/** The tier of new accounts. */
export const DEFAULT_TIER = 'free';
/** 90 days. */
export const DEFAULT_KEEP = 90 * 86_400_000;
export const DEFAULT_ITEMS_KEEP = 86_400_000;
const LOG_FORMATS = ['pretty', 'json', 'off'] as const;

interface Given {
  flags: Flags;
  env: Environment;
  cwd: string;
  /** undefined: zero configuration. */
  file: { path: string; listen: FileConfig['listen']; database: string | undefined } | undefined;
  /** The database if no source sets one. */
  defaultDatabase: string;
}

interface Settings {
  listen: Config['listen'];
  database: string;
  /** The database is the one that the file sets. */
  databaseOfFile: boolean;
  log: Config['log'];
  /** Faults of flags and environment variables, as lines. */
  lines: string[];
  /** Faults of the file. */
  faults: ConfigFault[];
}

export function resolveSettings(given: Given): Settings {
  const lines: string[] = [];
  const faults: ConfigFault[] = [];
  const listen = given.file?.listen;
  const hosts = chooseHosts(given, lines) ?? (listen?.hosts && [...new Set(listen.hosts)]);
  return {
    listen: {
      hosts: hosts ?? [...DEFAULT_HOSTS],
      defaultHosts: hosts === undefined,
      port: choosePort(given, lines) ?? listen?.port ?? DEFAULT_PORT,
      names: listen?.names ?? [],
      origins: [...new Set(listen?.origins)],
    },
    database: chooseDatabase(given, lines, faults),
    databaseOfFile:
      given.file?.database !== undefined &&
      given.flags.database === undefined &&
      setting(given.env, 'GATEWAY_DATABASE') === undefined,
    log: given.flags.log ?? chooseLog(given.env, lines),
    lines,
    faults,
  };
}

/** With a sign-in, no password travels in the clear: what listens is loopback, or TLS stands in front. */
export function signInOf(
  given: FileConfig['sign_in'],
  hosts: readonly string[],
): { signIn: Config['signIn']; faults: ConfigFault[] } {
  if (given === undefined || given === null) return { signIn: null, faults: [] };
  const open = given.url === undefined ? hosts.filter((host) => !isLoopback(host)) : [];
  const right = 'listen on loopback, or write { url: https://… } of the proxy with TLS in front';
  const faults = open.map((host) => ({
    path: ['sign_in'],
    message: `is on, but ${host} is not loopback and has no TLS; ${right}`,
  }));
  return { signIn: { url: given.url ?? null, autoApprove: given.auto_approve === 'local' }, faults };
}

export function limitsOf(given: FileConfig['limits']): Config['limits'] {
  return {
    maxBody: given?.max_body ?? 32 * 1024 * 1024,
    maxReply: given?.max_reply ?? 64 * 1024 * 1024,
    maxValues: given?.max_values ?? 1_000_000,
    maxConcurrent: given?.max_concurrent ?? 1024,
    headerTimeout: given?.header_timeout ?? 10_000,
    requestTimeout: given?.request_timeout ?? 60_000,
    writeTimeout: given?.write_timeout ?? 60_000,
    keepAlive: given?.keep_alive ?? 75_000,
    shutdownGrace: given?.shutdown_grace ?? 30_000,
  };
}

function chooseHosts({ flags, env }: Given, lines: string[]): string[] | undefined {
  const text = setting(env, 'GATEWAY_HOST');
  const [source, given] =
    flags.hosts !== undefined && flags.hosts.length > 0
      ? ['--host', flags.hosts]
      : ['GATEWAY_HOST', text?.split(/[\s,]+/).filter((host) => host !== '')];
  if (given === undefined) return undefined;
  const hosts = given.map((host) => HOST.read(host));
  if (hosts.includes(undefined))
    lines.push(`${source}: is not a host; write an address or a name without a port, like 127.0.0.1`);
  return [...new Set(hosts.filter((host) => host !== undefined))];
}

function choosePort({ flags, env }: Given, lines: string[]): number | undefined {
  const [source, given] =
    flags.port === undefined ? ['GATEWAY_PORT', setting(env, 'GATEWAY_PORT')] : ['--port', flags.port];
  if (given === undefined) return undefined;
  const port = parseWhole(given);
  if (port !== undefined && port <= 65535) return port;
  lines.push(`${source}: is not a port; write a whole number, 0 to 65535`);
  return undefined;
}

function chooseLog(env: Environment, lines: string[]): Config['log'] {
  const given = setting(env, 'GATEWAY_LOG');
  const log = LOG_FORMATS.find((format) => format === given);
  if (given !== undefined && log === undefined)
    lines.push('GATEWAY_LOG: is not a format; write pretty, json or off');
  return log;
}

function chooseDatabase(given: Given, lines: string[], faults: ConfigFault[]): string {
  const { flags, env, cwd, file } = given;
  const { fault } = readVariable(env, SECRET);
  if (fault !== undefined && flags.database === undefined) lines.push(`${fault}; correct or unset it`);
  const chosen = [
    { source: '--database', text: flags.database, base: cwd },
    { source: 'GATEWAY_DATABASE', text: setting(env, 'GATEWAY_DATABASE'), base: cwd },
    { source: undefined, text: file?.database, base: path.dirname(file?.path ?? cwd) },
  ].find(({ text }) => text !== undefined);
  if (chosen?.text === undefined) return given.defaultDatabase;
  const { source, text, base } = chosen;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'postgres' || scheme === 'postgresql') return text;
  if (scheme === undefined && text.trim() !== '') return path.resolve(base, fromHome(text.trim()));
  // The message does not repeat the text, which may hold a password.
  const message = 'is not a database; write a file or postgres://…';
  if (source === undefined) faults.push({ path: ['database'], message });
  else lines.push(`${source}: ${message}`);
  return given.defaultDatabase;
}

function fromHome(file: string): string {
  return /^~[/\\]/.test(file) ? path.join(homedir(), file.slice(2)) : file;
}

/** Its URL may hold a password, so that it may stand in a file of its own (`GATEWAY_DATABASE_FILE`). */
const SECRET = 'GATEWAY_DATABASE';

/** The trimmed value of a variable. An empty variable counts as unset, and so does what a platform put there. */
export function setting(env: Environment, name: string): string | undefined {
  const value = (name === SECRET ? readVariable(env, name).text : env[name])?.trim() ?? '';
  return value === '' || SERVICE_LINK.test(value) ? undefined : value;
}

/** Kubernetes and `docker --link` give each container variables of the services beside it: GATEWAY_PORT for one called gateway. */
const SERVICE_LINK = /^(?:tcp|udp|sctp):\/\//;
const SETTINGS = ['GATEWAY_CONFIG', 'GATEWAY_DATABASE', 'GATEWAY_HOST', 'GATEWAY_PORT', 'GATEWAY_LOG'];

export function serviceLinkWarnings(env: Environment): string[] {
  return SETTINGS.filter((name) => SERVICE_LINK.test(env[name]?.trim() ?? '')).map(
    (name) =>
      `${name} holds the address of a service, as Kubernetes and docker --link set it: ignored; enableServiceLinks: false leaves it out`,
  );
}
