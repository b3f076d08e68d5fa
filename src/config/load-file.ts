// Builds the Config from flags, environment and file, or reports all faults at once. Commands load this only where there is a file:
// YAML and the schema take a fifth of the start of a command.
import {
  type Config,
  type LeftOut,
  type ProviderConfig,
  type RouteConfig,
  type TargetRef,
  type WeightedRef,
  type ConfigFault,
  type Path,
  ConfigError,
  formatPath,
} from './config.ts';
import { dirname, resolve } from 'node:path';
import { checkConsent, consentRecord } from './trust/consent.ts';
import { assemble, findFile, tiersOf, withoutFile, type FoundFile, type LoadOptions } from './load.ts';
import { readSource, type Source } from './load-source.ts';
import type { Environment } from '../environment.ts';
import { bareVariables, interpolate, type Interpolated } from './variables/variables.ts';
import { suggest } from './did-you-mean.ts';
import { SIM_MODELS } from '../canonical/sim-models.ts';
import { readObjectFile } from './variables/secret-files.ts';
import { resolveTape } from './provider/tape.ts';
import { resolveProvider, SIM } from './providers.ts';
import { readSchema, type FileConfig } from './schema/schema.ts';

/** Reads the file at each call. Throws a ConfigError with all faults. */
export function loadConfig(options: LoadOptions): Config {
  const found = findFile(options);
  if (found === undefined) return withoutFile(options);
  const source = readFound(found, options);
  const { file, faults, unset, spared, wrong, secret, variables } = readValues(source, options.env);
  const providers: ProviderConfig[] = [];
  const reasons = new Map([...unset].map(([name, missing]) => [name, reasonOf(missing)]));
  const unusable = new Set([...unset.keys(), ...wrong.providers.names]);
  const warnings = [...spared, ...[...reasons].map(([name, why]) => `provider ${name} is left out: ${why}`)];
  for (const [name, given] of Object.entries(file.providers ?? {})) {
    const path = ['providers', name, 'api_key'];
    const read = [...variables(path), ...(given.api_key ?? []).flatMap((_, at) => variables([...path, at]))];
    const folder = dirname(source.path);
    const resolved =
      given.tape === undefined
        ? resolveProvider(name, given, { env: options.env, folder, variables: read })
        : resolveTape(name, given, folder);
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
  // Of what has faults itself, nothing can be said.
  const given = wrong.providers.whole ? {} : (file.routes ?? {});
  const routes = resolveRoutes(given, { providers, leftOut: unusable, secret });
  faults.push(...routes.faults, ...(wrong.tiers.whole ? [] : tierFaults(file, wrong.tiers.names)));
  const isLacking = providers.length === 0 && (warnings.length === 0 || options.mayLackProviders !== true);
  if (isLacking && !faults.some(({ path }) => path[0] === 'providers')) faults.push(noProvider(reasons));
  const leftOut = [...reasons].map(([provider, why]): LeftOut => {
    return { provider, why, names: [...modelNames(source.value, provider), ...routesTo(provider, file)] };
  });
  warnings.push(...bareVariables(source.value), ...routes.warnings);
  const parts = { providers, leftOut, warnings };
  const claude = claudeSettings(file.claude?.settings, dirname(source.path));
  if ('fault' in claude) faults.push({ path: ['claude', 'settings'], message: claude.fault });
  const consent = found.needsConsent ? consentRecord(found.path, options.env) : undefined;
  const read = { source, values: file, consent, claude: 'fault' in claude ? null : claude.settings, faults };
  return assemble(options, read, parts, routes.routes);
}

/** The file of settings for Claude Code, which must hold a JSON object. */
function claudeSettings(
  given: string | undefined,
  folder: string,
): { settings: Config['claude']['settings'] } | { fault: string } {
  if (given === undefined) return { settings: null };
  const file = resolve(folder, given);
  const read = readObjectFile(file);
  if ('value' in read) return { settings: { file, value: read.value } };
  const right = 'name one that holds a JSON object, as managed-settings.json does';
  return { fault: `names a file that ${read.fault}; ${right}` };
}

/** The only way to the content of a file: one that needs consent is read with it, or not at all. Throws ConsentError. */
export function readFound({ path, needsConsent }: FoundFile, { cwd, env }: LoadOptions): Source {
  const check = (bytes: Uint8Array): void => checkConsent({ file: path, bytes }, env);
  return readSource(path, cwd, needsConsent ? check : undefined);
}

function reasonOf({ names, faults }: Unset): string {
  const unset = names.length === 0 ? [] : [`${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} not set`];
  return [...unset, ...faults].join(', ');
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
    routes[name]?.targets.some(({ target }) => target.startsWith(`${provider}/`)),
  );
}

function tierFaults(file: FileConfig, wrong: ReadonlySet<string>): ConfigFault[] {
  const tiers = [...tiersOf(file).keys(), ...wrong];
  const chosen = file.default_tier;
  if (chosen === undefined || tiers.includes(chosen)) return [];
  return [{ path: ['default_tier'], message: `is not a tier; ${suggest(chosen, tiers)}` }];
}

/** Variables that are not set, and why others cannot be read. */
interface Unset {
  names: string[];
  faults: string[];
}

interface Values {
  file: FileConfig;
  faults: ConfigFault[];
  /** What each provider lacks that lacks something. */
  unset: ReadonlyMap<string, Unset>;
  /** Warnings of keys that are left out, beside others of their provider. */
  spared: readonly string[];
  wrong: Wrong;
  secret: Interpolated['secret'];
  variables: Interpolated['variables'];
}

/** What has faults, and is left out so that faults of what depends on several values are found, too. */
type Wrong = Record<'providers' | 'routes' | 'tiers', { whole: boolean; names: Set<string> }>;

/** The file's values after interpolation, without those that have faults and the providers whose variables are not set. */
function readValues(source: Source, env: Environment): Values {
  const folder = dirname(source.path);
  const { value, missing, secret, variables, faults: open } = interpolate(source.value, env, folder);
  const unset = new Map<string, Unset>();
  const faults: ConfigFault[] = [...open];
  const { others, spared } = spareKeys(value, missing);
  for (const { path: where, name, fault } of others) {
    const [section, provider] = where;
    if (section === 'providers' && typeof provider === 'string') {
      const lacks = unset.get(provider) ?? { names: [], faults: [] };
      if (fault === undefined) lacks.names.push(name);
      else lacks.faults.push(fault);
      unset.set(provider, lacks);
    } else faults.push({ path: where, message: unreadable(name, fault) });
  }
  const read = readSchema(value);
  const empty = new Set(others.map((item) => formatPath(item.path)));
  if ('faults' in read) faults.push(...read.faults.filter((fault) => !empty.has(formatPath(fault.path))));
  const broken = [...faults, ...('faults' in read ? read.faults : [])].map(({ path }) => path);
  const wrong = wrongIn(broken);
  if ('file' in read && broken.length === 0 && unset.size === 0)
    return { file: read.file, faults, unset, spared, wrong, secret, variables };
  const paths = [...broken, ...[...unset.keys()].map((name) => ['providers', name])];
  const rest = readSchema(withoutPaths(value as Tree, paths));
  if ('faults' in rest) throw new ConfigError(source.lines([...faults, ...rest.faults]));
  return { file: rest.file, faults, unset, spared, wrong, secret, variables };
}

/** Of several keys, one that is not set is left out alone. Takes it out of `value`, and out of what is missing. */
function spareKeys(
  value: unknown,
  missing: Interpolated['missing'],
): { others: Interpolated['missing']; spared: string[] } {
  const isKey = ({ path: [section, , member, at] }: Interpolated['missing'][number]): boolean =>
    section === 'providers' && member === 'api_key' && typeof at === 'number';
  let others = missing;
  const spared: string[] = [];
  for (const name of new Set(missing.filter(isKey).map(({ path }) => String(path[1])))) {
    const lacking = missing.filter((each) => isKey(each) && each.path[1] === name);
    const entry = (value as { providers: Record<string, { api_key: unknown[] }> }).providers[name];
    const gone = new Set(lacking.map(({ path }) => path[3]));
    if (entry === undefined || gone.size === entry.api_key.length) continue;
    entry.api_key = entry.api_key.filter((_, at) => !gone.has(at));
    others = others.filter((each) => !lacking.includes(each));
    const why = reasonOf(unsetOf(lacking));
    spared.push(`provider ${name}: one of its keys is left out: ${why}`);
  }
  return { others, spared };
}

function unsetOf(missing: Interpolated['missing']): Unset {
  const names = missing.filter(({ fault }) => fault === undefined).map(({ name }) => name);
  return { names, faults: missing.flatMap(({ fault }) => fault ?? []) };
}

function unreadable(name: string, fault: string | undefined): string {
  return fault === undefined
    ? `reads ${name}, which is not set; set it, or write the value`
    : `has no value, since ${fault}; correct that, or write the value`;
}

function wrongIn(paths: readonly Path[]): Wrong {
  const among = (section: string): Wrong['tiers'] => {
    const inside = paths.filter((path) => path[0] === section);
    return {
      whole: inside.some((path) => path.length === 1),
      names: new Set(inside.flatMap(([, name]) => (typeof name === 'string' ? [name] : []))),
    };
  };
  return { providers: among('providers'), routes: among('routes'), tiers: among('tiers') };
}

type Tree = Readonly<Record<string, unknown>>;

/** Without the sections that a path leads to; of `providers`, `routes` and `tiers`, without the entry alone. */
function withoutPaths(value: Tree, paths: readonly Path[]): Tree {
  const entries = Object.entries(value).flatMap(([section, content]) => {
    const inside = paths.filter((path) => path[0] === section);
    if (inside.length === 0) return [[section, content]];
    const isList = ['providers', 'routes', 'tiers'].includes(section);
    if (!isList || inside.some((path) => path.length === 1)) return [];
    const names = new Set(inside.map(([, name]) => String(name)));
    const rest = Object.entries(content as Tree).filter(([name]) => !names.has(name));
    return [[section, Object.fromEntries(rest)]];
  });
  return Object.fromEntries(entries) as Tree;
}

/** `reasons`: why each provider of the file is left out. */
function noProvider(reasons: ReadonlyMap<string, string>): ConfigFault {
  const keys = [...reasons].map(([name, why]) => ({
    name,
    missing: /^(.+) (?:is|are) not set$/.exec(why)?.[1],
  }));
  const needed = keys.map(({ name, missing }) => `${missing ?? ''} for ${name}`);
  const message =
    reasons.size === 0
      ? 'names no provider; write at least one, like "openai:", or "sim:" to try it out'
      : keys.every(({ missing }) => missing !== undefined)
        ? `leaves no provider, since no key is set; set ${needed.join(', or ')}; or write "sim:" to try it out`
        : `leaves no provider: ${[...reasons].map(([name, why]) => `${name} is left out: ${why}`).join(', ')}; write another`;
  return { path: ['providers'], message };
}

// Routes: every target must name a provider of the file and, if that provider lists models, one of them.

interface Routes {
  routes: Map<string, RouteConfig>;
  faults: ConfigFault[];
  warnings: string[];
}

interface Known {
  providers: readonly ProviderConfig[];
  /** Providers of the file that are not used. Routes leave out their targets. */
  leftOut: ReadonlySet<string>;
  /** Whether the value at this path was read from the environment. */
  secret: (path: Path) => boolean;
}

/** Splits at the first `/`; a model's name may contain more. */
function splitTarget(text: string): TargetRef | undefined {
  const slash = text.indexOf('/');
  if (slash <= 0 || slash === text.length - 1) return undefined;
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}

const SIM_FALLBACK = 'holds sim beside real targets: if they fail, sim repeats the prompt as an answer';

/** Warns of routes in which sim is a fallback of real providers. Looks at the file, so that the warning does not depend on
 *  which providers are left out. */
function simWarnings(given: NonNullable<FileConfig['routes']>, { providers }: Known): string[] {
  const warnings = Object.entries(given)
    .filter(([, { targets }]) => isMixed(targets.map(({ target }) => splitTarget(target)?.provider)))
    .map(([name]) => `route ${name} ${SIM_FALLBACK}; remove it`);
  const implicit = given['auto'] === undefined && isMixed(providers.map(({ name }) => name));
  return implicit ? [...warnings, `auto ${SIM_FALLBACK}; write a route auto without it`] : warnings;
}

function isMixed(providers: readonly (string | undefined)[]): boolean {
  return providers.includes(SIM) && providers.some((name) => name !== SIM);
}

function resolveRoutes(routes: NonNullable<FileConfig['routes']>, known: Known): Routes {
  const result: Routes = { routes: new Map(), faults: [], warnings: simWarnings(routes, known) };
  const resolveTargets = (texts: readonly string[], path: Path, short?: Path): TargetRef[] =>
    refsOf(texts, path, short).map(({ ref }) => ref);

  function refsOf(texts: readonly string[], path: Path, short?: Path): { ref: TargetRef; index: number }[] {
    const refs = new Map<string, { ref: TargetRef; index: number }>();
    for (const [index, text] of texts.entries()) {
      const at = [...path, index];
      const ref = splitTarget(text);
      const fault = ref === undefined ? 'is not a target; write provider/model' : targetFault(ref, known);
      const hidden = known.secret(at) || (short !== undefined && known.secret([...short, index]));
      if (fault !== undefined)
        result.faults.push({
          path: at,
          message: hidden ? 'names no provider and model of this file' : fault,
        });
      else if (ref !== undefined && !known.leftOut.has(ref.provider)) refs.set(text, { ref, index });
    }
    return [...refs.values()];
  }

  for (const [name, { strategy = 'priority', targets: given, agents = {}, classes = {} }] of Object.entries(
    routes,
  )) {
    const path = ['routes', name, 'targets'];
    const texts = given.map(({ target }) => target);
    const targets = refsOf(texts, path, ['routes', name]).map(({ ref, index }) =>
      weighted(ref, given[index]),
    );
    if (strategy !== 'balanced') result.faults.push(...weightFaults(given, path));
    const rules = Object.entries({ agents, classes }).flatMap(([member, kinds]) =>
      Object.entries(kinds).map(([kind, list]) => ({
        by: member === 'agents' ? ('agent' as const) : ('class' as const),
        name: kind,
        targets: resolveTargets(list, ['routes', name, member, kind]),
      })),
    );
    // A route without targets stays: without it, `auto` would stand for every provider.
    result.routes.set(name, {
      strategy,
      targets,
      ...(rules.length > 0 && { rules }),
    });
    if (targets.length === 0)
      result.warnings.push(`route ${name} is left out: all of its providers are left out`);
  }
  return result;
}

type GivenTarget = NonNullable<FileConfig['routes']>[string]['targets'][number];

function weighted(ref: TargetRef, given: GivenTarget | undefined): WeightedRef {
  return given?.weight === undefined ? ref : { ...ref, weight: given.weight };
}

/** A weight that would have no effect. */
function weightFaults(given: readonly GivenTarget[], path: Path): ConfigFault[] {
  return given.flatMap(({ weight }, index) =>
    weight === undefined
      ? []
      : {
          path: [...path, index, 'weight'],
          message: 'has an effect only with strategy: balanced; write it, or remove the weight',
        },
  );
}

function targetFault(
  { provider: name, model }: TargetRef,
  { providers, leftOut }: Known,
): string | undefined {
  if (leftOut.has(name)) return undefined;
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider === undefined && name !== SIM) {
    const names = [...providers.map((candidate) => candidate.name), ...leftOut];
    return `names an unknown provider (${name}); ${suggest(name, names)}`;
  }
  const ids = provider?.models?.map(({ id }) => id) ?? (name === SIM ? SIM_MODELS : undefined);
  if (ids === undefined || ids.includes(model)) return undefined;
  return `names a model that ${name} does not list (${model}); ${suggest(model, ids)}`;
}
