// The file's routes: every target must name a provider of the file, and one of its models where it lists them.
import type { ProviderConfig, RouteConfig, TargetRef } from './config.ts';
import type { ConfigFault, Path } from './config-error.ts';
import { suggest } from './config-error.ts';
import { didYouMean } from './did-you-mean.ts';
import { SIM } from './providers.ts';
import type { FileConfig } from './schema.ts';

export interface Routes {
  routes: Map<string, RouteConfig>;
  faults: ConfigFault[];
  warnings: string[];
}

interface Known {
  providers: readonly ProviderConfig[];
  /** Providers of the file that are not used this time: their targets are left out with them. */
  leftOut: ReadonlySet<string>;
  /** The text there came from the environment. */
  secret: (path: Path) => boolean;
}

/** Provider and model, split at the first `/`; a model's name may hold more of them. */
function splitTarget(text: string): TargetRef | undefined {
  const slash = text.indexOf('/');
  if (slash <= 0 || slash === text.length - 1) return undefined;
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}

const LAST_RESORT = 'holds sim beside real targets: where they fail, sim repeats the prompt as an answer';

/** What pretends to be an answer is no fallback. By the file's own words, whatever is left out this time. */
function simWarnings(given: NonNullable<FileConfig['routes']>, { providers }: Known): string[] {
  const warnings = Object.entries(given)
    .filter(([, { targets }]) => isMixed(targets.map((text) => splitTarget(text)?.provider)))
    .map(([name]) => `route ${name} ${LAST_RESORT}; take it out`);
  const implicit = given['auto'] === undefined && isMixed(providers.map(({ name }) => name));
  return implicit ? [...warnings, `auto ${LAST_RESORT}; write a route auto without it`] : warnings;
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
    // Also without a target: a route `auto` that says where requests may go must not become every provider.
    result.routes.set(name, { strategy: strategy ?? 'priority', targets: [...refs.values()] });
    if (refs.size === 0) result.warnings.push(`route ${name} is left out: none of its providers is there`);
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
    return `names a provider that is not there (${name}); ${suggest(didYouMean(name, names), names)}`;
  }
  if (provider.models === null) return undefined;
  const ids = provider.models.map(({ id }) => id);
  if (ids.includes(model)) return undefined;
  return `names a model that ${name} does not list (${model}); ${suggest(didYouMean(model, ids), ids)}`;
}
