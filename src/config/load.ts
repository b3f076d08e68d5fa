// Which file holds the configuration, and the Config of flags, environment and defaults, with what a file adds to them.
import envPaths from 'env-paths';
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Config, type ConfigFault, ConfigError } from './config.ts';
import type { Source } from './load-source.ts';
import type { Environment } from '../environment.ts';
import type { Tier } from '../tier.ts';
import { findProviders } from './providers.ts';
import type { FileConfig } from './schema/schema.ts';
import type { Flags } from './settings.ts';
import {
  DEFAULT_ITEMS_KEEP,
  DEFAULT_KEEP,
  DEFAULT_TIER,
  DEFAULT_TIERS,
  limitsOf,
  resolveSettings,
  serviceLinkWarnings,
  setting,
  signInOf,
} from './settings.ts';

export { ConfigError } from './config.ts';

export interface LoadOptions {
  flags: Flags;
  env: Environment;
  cwd: string;
  /** A configuration whose providers are all left out is valid: for what asks no provider. */
  mayLackProviders?: boolean;
}

/** The Config of a user without a file: the providers whose keys the environment holds. Throws a ConfigError with all faults. */
export function withoutFile(options: LoadOptions): Config {
  return assemble(options, undefined, findProviders(options.env), new Map());
}

/** The default paths in the user's folders of this platform; `log` is a folder. XDG variables are respected on every platform. */
export function defaultPaths(env: Environment): { config: string; database: string; log: string } {
  const platform = envPaths('gateway', { suffix: '' });
  const folder = (name: string, otherwise: string): string => {
    const base = env[name] ?? '';
    // The specification declares a relative path invalid; it is ignored.
    return path.isAbsolute(base) ? path.join(base, 'gateway') : otherwise;
  };
  return {
    config: path.join(folder('XDG_CONFIG_HOME', platform.config), FILE_NAME),
    database: path.join(folder('XDG_DATA_HOME', platform.data), 'gateway.db'),
    log: folder('XDG_STATE_HOME', platform.log),
  };
}

export interface FoundFile {
  path: string;
  /** It lies in the current folder, and nobody has named it: it counts only with consent (trust/consent.ts). */
  needsConsent: boolean;
}

/** The name that a file of the current folder must have. */
export const FILE_NAME = 'gateway.yaml';

/** The file that `loadConfig` reads; it may not exist if a flag or a variable names it. */
export function findFile({ flags, env, cwd }: LoadOptions): FoundFile | undefined {
  const named = flags.config ?? setting(env, 'GATEWAY_CONFIG');
  if (named !== undefined) {
    return { path: path.resolve(cwd, named), needsConsent: flags.asTrusted === true };
  }
  const own = defaultPaths(env).config;
  const here = path.join(cwd, FILE_NAME);
  if (existsSync(here)) return { path: here, needsConsent: !isUsersOwn(here, env) };
  return existsSync(own) ? { path: own, needsConsent: false } : undefined;
}

/** Whether a file is the one of the user's own folder, by whatever path. */
export function isUsersOwn(file: string, env: Environment): boolean {
  const own = defaultPaths(env).config;
  return path.basename(file) === path.basename(own) && isSameFolder(path.dirname(file), path.dirname(own));
}

function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

export function assemble(
  options: LoadOptions,
  from:
    | {
        source: Source;
        values: FileConfig;
        consent: string | undefined;
        claude: Config['claude']['settings'];
        faults: readonly ConfigFault[];
      }
    | undefined,
  parts: Pick<Config, 'providers' | 'warnings' | 'leftOut'>,
  routes: Config['routes'],
): Config {
  const values = from?.values;
  const settings = resolveSettings({
    ...options,
    file: from && { path: from.source.path, listen: values?.listen, database: values?.database },
    defaultDatabase: defaultPaths(options.env).database,
  });
  const { signIn, faults: open } = signInOf(values?.sign_in, settings.listen.hosts);
  const faults = [...(from?.faults ?? []), ...settings.faults, ...open];
  const lines = [...settings.lines, ...(from?.source.lines(faults) ?? [])];
  if (lines.length > 0) throw new ConfigError(lines);
  return {
    file: from?.source.path ?? null,
    consent: from?.consent,
    listen: withPublicName(settings.listen, signIn),
    database: settings.database,
    databaseFrom: settings.databaseOfFile ? from?.source.place(['database']) : undefined,
    providers: parts.providers,
    routes,
    tiers: tiersOf(values),
    defaultTier: values?.default_tier ?? DEFAULT_TIER,
    unknownPrice: values?.unknown_price ?? 'allow',
    brakes: brakesOf(values?.brakes),
    alerts: values?.alerts ? { url: values.alerts.url, secret: values.alerts.secret } : null,
    strict: values?.strict ?? false,
    explainMisses: values?.explain_misses !== 'off',
    usage: { keep: values?.usage?.keep ?? DEFAULT_KEEP },
    responses: {
      store: values?.responses?.store !== 'off',
      keep: values?.responses?.keep ?? DEFAULT_ITEMS_KEEP,
    },
    limits: limitsOf(values?.limits),
    maintenance: values?.maintenance ?? false,
    admin: values?.admin ?? false,
    signIn,
    claude: { settings: from?.claude ?? null, telemetry: values?.claude?.telemetry === 'on' },
    ollama: values?.ollama ?? null,
    metrics: values?.metrics ? { accounts: values.metrics.accounts ?? false } : null,
    otlp: values?.otlp ?? null,
    log: settings.log,
    leftOut: parts.leftOut,
    warnings: [...parts.warnings, ...serviceLinkWarnings(options.env)],
  };
}

/** Requests that come through the proxy have its name. */
function withPublicName(listen: Config['listen'], signIn: Config['signIn']): Config['listen'] {
  if (signIn === null || signIn.url === null) return listen;
  return { ...listen, names: [...new Set([...listen.names, new URL(signIn.url).hostname])] };
}

function brakesOf(file: FileConfig['brakes']): Config['brakes'] {
  if (file === undefined) return null;
  const { conversation, repeated_call: repeatedCall, requests_a_prompt: requestsAPrompt } = file;
  const isOff = conversation === undefined && repeatedCall === undefined && requestsAPrompt === undefined;
  return isOff ? null : { conversation, repeatedCall, requestsAPrompt };
}

export function tiersOf(file: FileConfig | undefined): Map<string, Tier> {
  return new Map(Object.entries({ ...DEFAULT_TIERS, ...file?.tiers }));
}
