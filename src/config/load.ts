// Builds the Config from flags, environment and file, or reports all faults at once.
import envPaths from 'env-paths';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Config, LeftOut, ProviderConfig } from './config.ts';
import type { ConfigFault } from './config-error.ts';
import { ConfigError, formatPath } from './config-error.ts';
import {
  type Env,
  type Interpolated,
  bareVariables,
  interpolate,
  readSource,
  type Source,
} from './load-source.ts';
import { suggest } from './did-you-mean.ts';
import { resolveProvider, findProviders } from './providers.ts';
import { resolveRoutes } from './routes.ts';
import type { FileConfig } from './schema.ts';
import { readSchema } from './schema.ts';
import type { Flags } from './settings.ts';
import {
  DEFAULT_ITEMS_KEEP,
  DEFAULT_KEEP,
  DEFAULT_TIER,
  DEFAULT_TIERS,
  limitsOf,
  resolveSettings,
  setting,
} from './settings.ts';

export { ConfigError } from './config-error.ts';

export interface LoadOptions {
  flags: Flags;
  env: Env;
  cwd: string;
  /** A configuration whose providers are all left out is valid: for what asks no provider. */
  mayLackProviders?: boolean;
}

/** Reads the file at each call. Throws a ConfigError with all faults. */
export function loadConfig(options: LoadOptions): Config {
  const found = findFile(options);
  if (found === undefined) return assemble(options, undefined, findProviders(options.env), new Map());
  const source = readSource(found, options.cwd);
  const { file, faults, unset, secret, variables } = readValues(source, options.env);
  const providers: ProviderConfig[] = [];
  const reasons = new Map([...unset].map(([name, missing]) => [name, notSet(missing)]));
  const unusable = new Set(unset.keys());
  const warnings = [...reasons].map(([name, why]) => `provider ${name} is left out: ${why}`);
  for (const [name, given] of Object.entries(file.providers ?? {})) {
    const read = variables(['providers', name, 'api_key']);
    const resolved = resolveProvider(name, given, options.env, read);
    if ('provider' in resolved) {
      providers.push(resolved.provider);
      if (resolved.warning !== undefined) warnings.push(`provider ${name}: ${resolved.warning}`);
      continue;
    }
    unusable.add(name);
    if ('leftOut' in resolved) {
      reasons.set(name, resolved.leftOut);
      warnings.push(`provider ${name} is left out: ${resolved.leftOut}`);
    } else
      faults.push(
        ...resolved.faults.map((fault) => ({ ...fault, path: ['providers', name, ...fault.path] })),
      );
  }
  const routes = resolveRoutes(file.routes ?? {}, { providers, leftOut: unusable, secret });
  faults.push(...routes.faults, ...tierFaults(file));
  const isLacking = providers.length === 0 && (warnings.length === 0 || options.mayLackProviders !== true);
  if (faults.length === 0 && isLacking) faults.push(noProvider(warnings));
  if (faults.length > 0) throw new ConfigError(source.lines(faults));
  const leftOut = [...reasons].map(([provider, why]): LeftOut => {
    return { provider, why, names: [...modelNames(source.value, provider), ...routesTo(provider, file)] };
  });
  warnings.push(...bareVariables(source.value), ...routes.warnings);
  const parts = { providers, leftOut, warnings };
  return assemble(options, { source, values: file }, parts, routes.routes);
}

/** The configuration of flags, environment and defaults. */
export function withoutFile(options: LoadOptions): Config {
  return assemble(options, undefined, { providers: [], warnings: [], leftOut: [] }, new Map());
}

function notSet(variables: readonly string[]): string {
  return `${variables.join(', ')} ${variables.length > 1 ? 'are' : 'is'} not set`;
}

/** The models of a provider that is left out. The schema has not checked them. */
function modelNames(file: unknown, provider: string): string[] {
  const { models } =
    (file as { providers: Record<string, { models?: unknown } | null> }).providers[provider] ?? {};
  const items: unknown[] = Array.isArray(models) ? models : [];
  return items
    .map((item) => (typeof item === 'object' && item !== null && 'id' in item ? item.id : item))
    .filter((name) => typeof name === 'string');
}

function routesTo(provider: string, { routes = {} }: FileConfig): string[] {
  return Object.keys(routes).filter((name) =>
    routes[name]?.targets.some((target) => target.startsWith(`${provider}/`)),
  );
}

/** The default paths in the user's folders of this platform; `log` is a folder. XDG variables are respected on every platform. */
export function defaultPaths(env: Env): { config: string; database: string; log: string } {
  const platform = envPaths('gateway', { suffix: '' });
  const folder = (name: string, otherwise: string): string => {
    const base = env[name] ?? '';
    // The specification declares a relative path invalid; it is ignored.
    return path.isAbsolute(base) ? path.join(base, 'gateway') : otherwise;
  };
  return {
    config: path.join(folder('XDG_CONFIG_HOME', platform.config), 'gateway.yaml'),
    database: path.join(folder('XDG_DATA_HOME', platform.data), 'gateway.db'),
    log: folder('XDG_STATE_HOME', platform.log),
  };
}

/** The file that `loadConfig` reads; it may not exist if a flag or a variable names it. */
export function findFile({ flags, env, cwd }: LoadOptions): string | undefined {
  const named = flags.config ?? setting(env, 'GATEWAY_CONFIG');
  if (named !== undefined) return path.resolve(cwd, named);
  return [path.join(cwd, 'gateway.yaml'), defaultPaths(env).config].find((file) => existsSync(file));
}

function assemble(
  options: LoadOptions,
  from: { source: Source; values: FileConfig } | undefined,
  parts: Pick<Config, 'providers' | 'warnings' | 'leftOut'>,
  routes: Config['routes'],
): Config {
  const values = from?.values;
  const settings = resolveSettings({
    ...options,
    file: from && { path: from.source.path, listen: values?.listen, database: values?.database },
    defaultDatabase: defaultPaths(options.env).database,
  });
  const lines = [...settings.lines, ...(from?.source.lines(settings.faults) ?? [])];
  if (lines.length > 0) throw new ConfigError(lines);
  return {
    file: from?.source.path ?? null,
    listen: settings.listen,
    database: settings.database,
    databaseFrom: settings.databaseOfFile ? from?.source.place(['database']) : undefined,
    providers: parts.providers,
    routes,
    tiers: tiersOf(values),
    defaultTier: values?.default_tier ?? DEFAULT_TIER,
    strict: values?.strict ?? false,
    usage: { keep: values?.usage?.keep ?? DEFAULT_KEEP },
    responses: {
      store: values?.responses?.store !== 'off',
      keep: values?.responses?.keep ?? DEFAULT_ITEMS_KEEP,
    },
    limits: limitsOf(values?.limits),
    maintenance: values?.maintenance ?? false,
    admin: values?.admin ?? false,
    metrics: values?.metrics ? { accounts: values.metrics.accounts ?? false } : null,
    otlp: values?.otlp ?? null,
    log: settings.log,
    leftOut: parts.leftOut,
    warnings: parts.warnings,
  };
}

function tiersOf(file: FileConfig | undefined): Map<string, number> {
  return new Map(Object.entries({ ...DEFAULT_TIERS, ...file?.tiers }));
}

function tierFaults(file: FileConfig): ConfigFault[] {
  const tiers = [...tiersOf(file).keys()];
  const chosen = file.default_tier;
  if (chosen === undefined || tiers.includes(chosen)) return [];
  return [{ path: ['default_tier'], message: `is not a tier; ${suggest(chosen, tiers)}` }];
}

interface Values {
  file: FileConfig;
  faults: ConfigFault[];
  /** The unset variables of each provider that has some. */
  unset: ReadonlyMap<string, string[]>;
  secret: Interpolated['secret'];
  variables: Interpolated['variables'];
}

/** The file's values after interpolation, without the providers whose variables are not set. */
function readValues(source: Source, env: Env): Values {
  const { value, missing, secret, variables } = interpolate(source.value, env);
  const unset = new Map<string, string[]>();
  const faults: ConfigFault[] = [];
  for (const { path: where, name } of missing) {
    const [section, provider] = where;
    if (section === 'providers' && typeof provider === 'string')
      unset.set(provider, [...(unset.get(provider) ?? []), name]);
    else faults.push({ path: where, message: `reads ${name}, which is not set; set it, or write the value` });
  }
  const read = readSchema(value);
  const empty = new Set(missing.map((item) => formatPath(item.path)));
  if ('faults' in read) faults.push(...read.faults.filter((fault) => !empty.has(formatPath(fault.path))));
  if (faults.length > 0) throw new ConfigError(source.lines(faults));
  if ('file' in read && unset.size === 0) return { file: read.file, faults, unset, secret, variables };
  const rest = readSchema(withoutProviders(value, unset));
  if ('faults' in rest) throw new ConfigError(source.lines(rest.faults));
  return { file: rest.file, faults, unset, secret, variables };
}

function withoutProviders(value: unknown, unset: Values['unset']): unknown {
  const { providers, ...rest } = value as { providers: Record<string, unknown> };
  const usable = Object.entries(providers).filter(([name]) => !unset.has(name));
  return { ...rest, providers: Object.fromEntries(usable) };
}

function noProvider(warnings: readonly string[]): ConfigFault {
  const why = warnings.length > 0 ? `leaves no provider: ${warnings.join(', ')}` : 'names no provider';
  return {
    path: ['providers'],
    message: `${why}; write at least one, like "openai:", or "sim:" to try it out`,
  };
}
