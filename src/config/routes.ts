// Resolves the routes of the file. Every target must name a provider of the file and, if that provider lists models, one of
// them.
import type { ProviderConfig, RouteConfig, TargetRef } from './config.ts';
import type { ConfigFault, Path } from './config-error.ts';
import { suggest } from './did-you-mean.ts';
import { SIM } from './providers.ts';
import type { FileConfig } from './schema.ts';

export interface Routes {
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
    .filter(([, { targets }]) => isMixed(targets.map((text) => splitTarget(text)?.provider)))
    .map(([name]) => `route ${name} ${SIM_FALLBACK}; remove it`);
  const implicit = given['auto'] === undefined && isMixed(providers.map(({ name }) => name));
  return implicit ? [...warnings, `auto ${SIM_FALLBACK}; write a route auto without it`] : warnings;
}

function isMixed(providers: readonly (string | undefined)[]): boolean {
  return providers.includes(SIM) && providers.some((name) => name !== SIM);
}

export function resolveRoutes(given: NonNullable<FileConfig['routes']>, known: Known): Routes {
  const result: Routes = { routes: new Map(), faults: [], warnings: simWarnings(given, known) };
  for (const [name, { strategy, targets }] of Object.entries(given)) {
    const refs = new Map<string, TargetRef>();
    for (const [index, text] of targets.entries()) {
      const path = ['routes', name, 'targets', index];
      const ref = splitTarget(text);
      const fault = ref === undefined ? 'is not a target; write provider/model' : targetFault(ref, known);
      const hidden = known.secret(path) || known.secret(['routes', name, index]);
      if (fault !== undefined)
        result.faults.push({ path, message: hidden ? 'names no provider and model of this file' : fault });
      else if (ref !== undefined && !known.leftOut.has(ref.provider)) refs.set(text, ref);
    }
    // A route without targets stays: without it, `auto` would stand for every provider.
    result.routes.set(name, { strategy: strategy ?? 'priority', targets: [...refs.values()] });
    if (refs.size === 0) result.warnings.push(`route ${name} is left out: all of its providers are left out`);
  }
  return result;
}

function targetFault(
  { provider: name, model }: TargetRef,
  { providers, leftOut }: Known,
): string | undefined {
  if (leftOut.has(name)) return undefined;
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider === undefined) {
    if (name === SIM) return undefined;
    const names = [...providers.map((candidate) => candidate.name), ...leftOut];
    return `names an unknown provider (${name}); ${suggest(name, names)}`;
  }
  if (provider.models === null) return undefined;
  const ids = provider.models.map(({ id }) => id);
  if (ids.includes(model)) return undefined;
  return `names a model that ${name} does not list (${model}); ${suggest(model, ids)}`;
}
