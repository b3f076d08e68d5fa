// Names to targets, in this order: a route, `provider/model`, a model that providers list; and the names that a key
// may use, with what some target of each can do. Built once for a configuration and the discovered models; look-ups are maps.
import type { Needs } from '../canonical/traits.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { STAND_IN } from '../canonical/sim-models.ts';
import type {
  Config,
  ProviderConfig,
  RouteConfig,
  RouteRule,
  TargetRef,
  WeightedRef,
} from '../config/config.ts';
import type { ReplyHolds } from '../protocols/interface/answer.ts';
import { createBalance, type Balance } from './balance.ts';
import type { ModelInfo } from './model-info.ts';
import {
  type Providers,
  createTargets,
  isBuiltin,
  remember,
  type Discovered,
  type Target,
  type TargetOf,
} from './targets.ts';

export type { Target };

/** What a name that a client sent stands for. */
export interface Entry {
  name: string;
  kind: 'route' | 'target' | 'model';
  strategy: RouteConfig['strategy'];
  /** Of a balanced route. */
  balance?: Balance;
  targets: readonly Target[];
  /** Those of agents stand before those of classes; undefined: every request has the same targets. */
  rules?: readonly Rule[];
}

/** Targets of a kind of work or of a kind of agent. */
export interface Rule extends Pick<RouteRule, 'by' | 'name'> {
  /** Tried before the route's own. */
  first: ReadonlySet<Target>;
  /** With the route's own behind. */
  targets: readonly Target[];
}

export interface Catalog {
  find(name: string): Entry | undefined;
  /** Whether the name has a target, and not the built-in one that stands in for others. */
  has(name: string): boolean;
  /** Every name worth listing: `auto`, routes, listed models once, `provider/name` of providers without a list. */
  entries(): readonly Entry[];
  /** `provider/model` of providers that are in no list, but can be asked: the built-in one's. */
  unlisted(): readonly Entry[];
}

const [CHAT] = PROTOCOL_NAMES;

/** The protocols of a target. What the file says of its provider holds against what is known of the model. */
export function spokenBy({ provider: { protocols }, traits: { speaks } }: Target): readonly ProtocolName[] {
  if (speaks.length === 0) return protocols;
  const both = speaks.filter((name) => protocols.includes(name));
  return both.length === 0 ? protocols : both;
}

/**
 * The protocol towards a target: the client's own wherever the provider speaks it, else the provider's first. `needs` of a request for
 * an answer: tools of a model that does not take them on chat while it thinks go by another protocol.
 */
export function protocolFor(
  target: Target,
  client?: ProtocolName,
  needs?: Pick<Needs, 'tools' | 'thinking'>,
): ProtocolName {
  const { provider, traits } = target;
  const { exactRelay = false } = provider;
  const protocols = spokenBy(target);
  const usual = client !== undefined && protocols.includes(client) ? client : (protocols[0] ?? CHAT);
  if (usual !== CHAT || exactRelay || needs?.tools !== true || traits.toolsWhileThinking === 'always')
    return usual;
  const thinks = needs.thinking || traits.thinksByDefault;
  return (thinks ? protocols.find((name) => name !== CHAT) : undefined) ?? usual;
}

/** Whether this target signs something that an answer of this protocol does not hold. */
export function losesSignatures({ signedThinking }: ReplyHolds, { traits }: Target): boolean {
  return !signedThinking || traits.thoughtSignatures;
}

interface CatalogOptions {
  providers: Providers;
  routes: Config['routes'];
  discovered: Discovered;
  models: ModelInfo;
  now: number;
}

export function createCatalog({ providers, routes, discovered, models, now }: CatalogOptions): Catalog {
  const { all, shown, auto: inAuto } = providers;
  const byName = new Map(all.map((provider) => [provider.name, provider]));
  const targetOf = createTargets(models, discovered, now);
  const routed = routeEntries(routes, byName, targetOf);
  const listed = listedEntries(shown, targetOf);
  const auto = entry('auto', 'route', autoTargets(inAuto, discovered, targetOf));
  const single = new Map<string, Entry>();
  let entries: readonly Entry[] | undefined;

  function findTarget(name: string): Entry | undefined {
    const known = single.get(name);
    if (known !== undefined) return known;
    const slash = name.indexOf('/');
    const provider = slash > 0 ? byName.get(name.slice(0, slash)) : undefined;
    const target = provider && targetOf(provider, name.slice(slash + 1));
    if (target === undefined) return undefined;
    const found = entry(name, 'target', [target]);
    remember(single, name, found);
    return found;
  }

  function find(name: string): Entry | undefined {
    // A route of that name whose targets were all left out hides the built-in `auto`: it states where requests may go.
    if (name === 'auto' && !routes.has(name)) return auto.targets.length > 0 ? auto : undefined;
    return routed.get(name) ?? findTarget(name) ?? listed.get(name);
  }

  function listEntries(): readonly Entry[] {
    const open = shown.flatMap((provider) =>
      namesOf(provider, discovered).map((name) => `${provider.name}/${name}`),
    );
    const names = new Set(['auto', ...routed.keys(), ...listed.keys(), ...open]);
    return [...names].flatMap((name) => find(name) ?? []);
  }

  return {
    find,
    has: (name) => find(name)?.targets.some(({ upstream }) => upstream !== STAND_IN) ?? false,
    // Made at the first question, since a gateway may never be asked for its names.
    entries: () => (entries ??= listEntries()),
    unlisted() {
      const hidden = all.filter((provider) => !shown.includes(provider));
      return hidden.flatMap((provider) =>
        namesOf(provider, discovered).flatMap((name) => find(`${provider.name}/${name}`) ?? []),
      );
    },
  };
}

function entry(name: string, kind: Entry['kind'], targets: readonly Target[]): Entry {
  return { name, kind, strategy: 'priority', targets };
}

/** Routes that have a target left; each target once, at its first place. */
function routeEntries(
  routes: Config['routes'],
  byName: ReadonlyMap<string, ProviderConfig>,
  targetOf: TargetOf,
): Map<string, Entry> {
  const routed = new Map<string, Entry>();
  const targetsOf = (refs: readonly TargetRef[]): Target[] => [
    ...new Set(
      refs.flatMap((ref) => {
        const provider = byName.get(ref.provider);
        return (provider && targetOf(provider, ref.model)) ?? [];
      }),
    ),
  ];
  for (const [name, { strategy, targets: refs, rules: given = [] }] of routes) {
    const targets = targetsOf(refs);
    if (targets.length === 0) continue;
    const rules = given.flatMap(({ by, name: kind, targets: own }): Rule[] => {
      const first = new Set(targetsOf(own));
      return first.size === 0
        ? []
        : [{ by, name: kind, first, targets: [...new Set([...first, ...targets])] }];
    });
    routed.set(name, {
      ...entry(name, 'route', targets),
      strategy,
      ...(strategy === 'balanced' && { balance: createBalance(weightsOf(refs)) }),
      ...(rules.length > 0 && { rules }),
    });
  }
  return routed;
}

function weightsOf(refs: readonly WeightedRef[]): ReadonlyMap<string, number> {
  return new Map(refs.map(({ provider, model, weight = 1 }) => [`${provider}/${model}`, weight]));
}

/** A name that several providers list is a chain in their order. */
function listedEntries(shown: readonly ProviderConfig[], targetOf: TargetOf): Map<string, Entry> {
  const chains = new Map<string, Set<Target>>();
  for (const provider of shown)
    for (const { id } of provider.models ?? []) {
      const target = targetOf(provider, id);
      const chain = chains.get(id) ?? new Set();
      if (target !== undefined) chains.set(id, chain.add(target));
    }
  return new Map([...chains].map(([name, chain]) => [name, entry(name, 'model', [...chain])]));
}

/** Every listed model in order, then the default model of each provider that lists none. The built-in provider is there only to stand in
 *  for others. */
function autoTargets(
  shown: readonly ProviderConfig[],
  discovered: Discovered,
  targetOf: TargetOf,
): readonly Target[] {
  const open = shown.filter(({ models }) => models === null);
  const first = (provider: ProviderConfig): string | undefined => firstOf(provider, discovered);
  const targets = (names: (provider: ProviderConfig) => string | undefined): Target[] =>
    open.flatMap((provider) => targetOf(provider, names(provider) ?? '') ?? []);
  const found = [
    ...shown.flatMap((provider) => (provider.models ?? []).flatMap(({ id }) => targetOf(provider, id) ?? [])),
    ...targets(
      (provider) => provider.defaultModel ?? (provider.source === 'local' ? first(provider) : undefined),
    ),
  ];
  // `auto` exists if there is any model at all.
  const answering = found.filter(({ traits }) => traits.embeddings !== true);
  const chosen = new Set(answering.length > 0 ? answering : targets(first));
  return [...chosen].map((target) =>
    isBuiltin(target.provider) ? { ...target, upstream: STAND_IN } : target,
  );
}

/** For a server without a preset model: the first one in its list that does not only embed. */
function firstOf(provider: ProviderConfig, discovered: Discovered): string | undefined {
  return discovered.get(provider.name)?.find((name) => !/embed|rerank/i.test(name));
}

/** The models of a provider without a list in the file: the list that it reported, until then its default model. */
function namesOf(provider: ProviderConfig, discovered: Discovered): readonly string[] {
  if (provider.models !== null) return [];
  const reported = discovered.get(provider.name) ?? [];
  return reported.length > 0 || provider.defaultModel === undefined ? reported : [provider.defaultModel];
}

export interface ModelEntry {
  name: string;
  kind: Entry['kind'];
  strategy: Entry['strategy'];
  /** Those that the key may use, in the configured order. */
  targets: Target[];
  vision: boolean;
  tools: boolean;
  thinking: boolean;
  /** It makes embeddings, and no answers. */
  embeddings: boolean;
  /** It completes bare texts. */
  completes: boolean;
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
    completes: targets.some(completes),
    embeddings: targets.every(({ traits }) => traits.embeddings === true),
    contextWindow: largest(targets.map(({ traits }) => traits.contextWindow)),
    maxOutput: largest(targets.map(({ traits }) => traits.maxOutput)),
  };
}

function completes(target: Target): boolean {
  const { traits, provider } = target;
  return (
    traits.completionsPath !== false &&
    traits.embeddings !== true &&
    !isBuiltin(provider) &&
    spokenBy(target).includes(CHAT)
  );
}

function largest(values: readonly (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : known.reduce((most, value) => Math.max(most, value));
}

/** A name as JSON: the shape that `gateway models --json` prints and the admin API sends. `states`: by a target's key, of the targets that
 *  servers avoid. */
export function modelJson(entry: ModelEntry, states: ReadonlyMap<string, string>) {
  return {
    name: entry.name,
    targets: entry.targets.map(({ key, provider, model }) => ({
      provider: provider.name,
      model,
      ...(states.has(key) && { state: states.get(key) }),
    })),
    vision: entry.vision,
    tools: entry.tools,
    thinking: entry.thinking,
    ...(entry.embeddings && { embeddings: true }),
    context_window: entry.contextWindow,
    max_output: entry.maxOutput,
  };
}
