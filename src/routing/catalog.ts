// Names to targets, as CONTRACT section 2 says: a route, `provider/model`, a model that providers list. Built once for a
// configuration and what was discovered; look-ups are maps.
import type { ProtocolName } from '../canonical/request.ts';
import type { Traits } from '../canonical/traits.ts';
import type { Config, ModelConfig, ProviderConfig, RouteConfig } from '../config/config.ts';
import type { Facts } from './facts.ts';
import type { Price } from './price.ts';
import type { Providers } from './providers.ts';

/** A provider and one of its models. */
export interface Target {
  /** `provider/model`, unique. */
  key: string;
  provider: ProviderConfig;
  /** The name that clients use. */
  model: string;
  /** The provider's name for it. */
  upstream: string;
  traits: Traits;
  /** Models of one family may be given each other's thinking. */
  family: string;
  price?: Price;
  /** Set for one request alone: the open tool turn's thinking is another family's, so it is left out, reported, and
   *  thinking is off for this call. */
  withoutThinking?: true;
}

/** What a name that a client sent stands for. */
export interface Entry {
  name: string;
  kind: 'route' | 'target' | 'model';
  strategy: RouteConfig['strategy'];
  targets: readonly Target[];
}

export interface Catalog {
  find(name: string): Entry | undefined;
  /** Every name worth listing: `auto`, routes, listed models once, `provider/name` of providers without a list. */
  entries(): readonly Entry[];
}

/** The protocol towards a target: the client's own wherever the provider speaks it. */
export function protocolFor(target: Target, client: ProtocolName): ProtocolName {
  const { protocols } = target.provider;
  return protocols.includes(client) ? client : (protocols[0] ?? client);
}

// Any name may be asked of a provider without a list, so what was made for one is kept within bounds.
const MOST_MADE = 2000;
const LONGEST_KEPT = 256;

export interface CatalogOptions {
  providers: Providers;
  routes: Config['routes'];
  /** Provider -> the names that it told. */
  discovered: ReadonlyMap<string, readonly string[]>;
  facts: Facts;
  now: number;
}

export function createCatalog({ providers, routes, discovered, facts, now }: CatalogOptions): Catalog {
  const { all, shown } = providers;
  const byName = new Map(all.map((provider) => [provider.name, provider]));
  const made = new Map<string, Target>();
  const targetEntries = new Map<string, Entry>();

  function make(provider: ProviderConfig, name: string, model?: ModelConfig): Target {
    const key = `${provider.name}/${name}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const upstream = model?.upstream ?? name;
    const target: Target = {
      key,
      provider,
      model: name,
      upstream,
      ...facts.about(provider, upstream, model, now),
    };
    if (key.length <= LONGEST_KEPT) keep(made, key, target);
    return target;
  }

  /** undefined: the provider lists its models, and this is none of them. */
  function targetOf(provider: ProviderConfig, name: string): Target | undefined {
    if (name === '') return undefined;
    if (provider.models === null) {
      // What the built-in provider has is certain.
      if (provider.source === 'builtin' && discovered.get(provider.name)?.includes(name) === false)
        return undefined;
      return make(provider, name);
    }
    const model = provider.models.find(({ id }) => id === name);
    return model && make(provider, name, model);
  }

  const listed = new Map<string, Target[]>();
  for (const provider of shown)
    for (const model of provider.models ?? []) {
      const target = make(provider, model.id, model);
      const chain = listed.get(model.id);
      if (chain === undefined) listed.set(model.id, [target]);
      else if (!chain.includes(target)) chain.push(target);
    }

  const named = new Map<string, Entry>();
  for (const [name, targets] of listed)
    named.set(name, { name, kind: 'model', strategy: 'priority', targets });
  if (!routes.has('auto')) {
    const targets = autoTargets(shown, listed, discovered, make);
    if (targets.length > 0) named.set('auto', { name: 'auto', kind: 'route', strategy: 'priority', targets });
  }
  const routed = new Map<string, Entry>();
  for (const [name, route] of routes) {
    const targets = route.targets.flatMap((ref) => {
      const provider = byName.get(ref.provider);
      return (provider && targetOf(provider, ref.model)) ?? [];
    });
    if (targets.length > 0) routed.set(name, { name, kind: 'route', strategy: route.strategy, targets });
  }

  function findTarget(name: string): Entry | undefined {
    const kept = targetEntries.get(name);
    if (kept !== undefined) return kept;
    const slash = name.indexOf('/');
    const provider = slash > 0 ? byName.get(name.slice(0, slash)) : undefined;
    const target = provider && targetOf(provider, name.slice(slash + 1));
    if (target === undefined) return undefined;
    const entry: Entry = { name, kind: 'target', strategy: 'priority', targets: [target] };
    if (name.length <= LONGEST_KEPT) keep(targetEntries, name, entry);
    return entry;
  }

  const find = (name: string): Entry | undefined => routed.get(name) ?? findTarget(name) ?? named.get(name);

  return {
    find,
    entries() {
      const names = new Set(['auto', ...routed.keys(), ...listed.keys()]);
      for (const provider of shown) {
        if (provider.models !== null) continue;
        const own = discovered.get(provider.name) ?? [];
        for (const name of own.length > 0 || provider.defaultModel === undefined
          ? own
          : [provider.defaultModel])
          names.add(`${provider.name}/${name}`);
      }
      return [...names].flatMap((name) => find(name) ?? []);
    },
  };
}

function autoTargets(
  shown: readonly ProviderConfig[],
  listed: ReadonlyMap<string, readonly Target[]>,
  discovered: ReadonlyMap<string, readonly string[]>,
  make: (provider: ProviderConfig, name: string) => Target,
): Target[] {
  const targets = shown.flatMap((provider) =>
    (provider.models ?? []).flatMap(
      ({ id }) => listed.get(id)?.find((target) => target.provider === provider) ?? [],
    ),
  );
  const open = shown.filter(({ models }) => models === null);
  for (const provider of open) {
    const name =
      provider.defaultModel ?? (provider.source === 'local' ? firstOf(provider, discovered) : undefined);
    if (name !== undefined) targets.push(make(provider, name));
  }
  if (targets.length > 0) return targets;
  // `auto` always exists, where there is anything at all.
  return open.flatMap((provider) => {
    const name = firstOf(provider, discovered);
    return name === undefined ? [] : [make(provider, name)];
  });
}

/** For a server without a preset model: the first that it told, but for those that only embed. */
function firstOf(
  provider: ProviderConfig,
  discovered: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  return discovered.get(provider.name)?.find((name) => !/embed|rerank/i.test(name));
}

/** Adds to a map that forgets its oldest half when it is full. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= MOST_MADE) {
    let surplus = MOST_MADE / 2;
    for (const old of map.keys()) {
      if (surplus-- === 0) break;
      map.delete(old);
    }
  }
  map.set(key, value);
}
