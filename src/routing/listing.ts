// The names that a key may use, and what can be had under each: what some target of the name can do, since a request goes to
// one that fits it.
import type { Catalog, Entry, Target } from './catalog.ts';

export interface ModelEntry {
  name: string;
  kind: Entry['kind'];
  strategy: Entry['strategy'];
  /** Those that the key may use, in the configured order. */
  targets: Target[];
  vision: boolean;
  tools: boolean;
  thinking: boolean;
  /** The largest known, in tokens; null: none is known. */
  contextWindow: number | null;
  maxOutput: number | null;
}

export interface Listing {
  names(allowed: readonly string[] | null): string[];
  /** Every `provider/model`, also of what has a shorter name. */
  targets(allowed: readonly string[] | null): string[];
  models(allowed: readonly string[] | null): ModelEntry[];
  model(name: string, allowed: readonly string[] | null): ModelEntry | undefined;
}

/** An entry admits a target by `provider/model`, by its model's name at any provider, or by the route that was asked for. */
export function admits(allowed: readonly string[] | null, asked: Entry, target: Target): boolean {
  return (
    allowed === null ||
    allowed.includes(target.key) ||
    allowed.includes(target.model) ||
    (asked.kind === 'route' && allowed.includes(asked.name))
  );
}

export function createListing(catalog: Catalog): Listing {
  function models(allowed: readonly string[] | null): ModelEntry[] {
    return catalog.entries().flatMap((entry) => describe(entry, allowed) ?? []);
  }

  return {
    names: (allowed) => models(allowed).map(({ name }) => name),
    targets(allowed) {
      const unlisted = catalog.unlisted().flatMap((entry) => describe(entry, allowed) ?? []);
      const keys = [...models(allowed), ...unlisted].flatMap(({ targets }) => targets.map(({ key }) => key));
      return [...new Set(keys)];
    },
    models,
    model(name, allowed) {
      const entry = catalog.find(name);
      return entry && describe(entry, allowed);
    },
  };
}

function describe(entry: Entry, allowed: readonly string[] | null): ModelEntry | undefined {
  const targets = entry.targets.filter((target) => admits(allowed, entry, target));
  if (targets.length === 0) return undefined;
  return {
    name: entry.name,
    kind: entry.kind,
    strategy: entry.strategy,
    targets,
    vision: targets.some(({ traits }) => traits.vision !== false),
    tools: targets.some(({ traits }) => traits.tools !== false),
    thinking: targets.some(({ traits }) => traits.thinking !== false),
    contextWindow: largest(targets.map(({ traits }) => traits.contextWindow)),
    maxOutput: largest(targets.map(({ traits }) => traits.maxOutput)),
  };
}

function largest(values: readonly (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : known.reduce((most, value) => Math.max(most, value));
}
