// A provider and one of its models, made once for each name that is asked for.
import type { Traits } from '../canonical/traits.ts';
import type { ModelConfig, ProviderConfig } from '../config/config.ts';
import { withoutKeys } from '../log.ts';
import type { ModelInfo } from './model-info.ts';
import type { Price } from './price.ts';

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

/** Provider -> the names that it told. */
export type Discovered = ReadonlyMap<string, readonly string[]>;

/** undefined: the provider has no such model. */
export type TargetOf = (provider: ProviderConfig, name: string) => Target | undefined;

// Any name may be asked of a provider without a list, so what was made for one is kept within bounds.
const MOST_MADE = 2000;
const LONGEST_KEPT = 256;

export function createTargets(models: ModelInfo, discovered: Discovered, now: number): TargetOf {
  const made = new Map<string, Target>();

  function make(provider: ProviderConfig, name: string, model?: ModelConfig): Target {
    const key = `${provider.name}/${name}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const upstream = model?.upstream ?? name;
    const target = { key, provider, model: name, upstream, ...models.about(provider, upstream, model, now) };
    keep(made, key, target);
    return target;
  }

  return (provider, name) => {
    if (name === '') return undefined;
    if (provider.models !== null) {
      const model = provider.models.find(({ id }) => id === name);
      return model && make(provider, name, model);
    }
    // A key of the gateway in the wrong place is no provider's to see.
    if (withoutKeys(name) !== name) return undefined;
    // What the built-in provider has is certain.
    const has = provider.source !== 'builtin' || discovered.get(provider.name)?.includes(name) !== false;
    return has ? make(provider, name) : undefined;
  };
}

/** Adds to a map that forgets its oldest half when it is full, and no key that is very long. */
export function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (key.length > LONGEST_KEPT) return;
  if (map.size >= MOST_MADE) {
    let surplus = MOST_MADE / 2;
    for (const old of map.keys()) {
      if (surplus-- === 0) break;
      map.delete(old);
    }
  }
  map.set(key, value);
}

// The providers that there are: the file's or the environment's, then those found after the start.

export interface Providers {
  all: readonly ProviderConfig[];
  /** Those that are part of `auto` and of the lists: the built-in one only where there is no other or the file names it. */
  shown: readonly ProviderConfig[];
}

export function mergeProviders(
  configured: readonly ProviderConfig[],
  added: ReadonlyMap<string, ProviderConfig>,
): Providers {
  const names = new Set(configured.map(({ name }) => name));
  const named = configured.map((provider) => withAddress(provider, added.get(provider.name)));
  const found = [...added.values()].filter(({ name }) => !names.has(name));
  const others = [...named, ...found.filter(({ source }) => source !== 'builtin')];
  const all = [...named, ...found];
  return { all, shown: others.length > 0 ? others : all };
}

/** The built-in provider's address is known only once it listens, also where the file names it. */
function withAddress(provider: ProviderConfig, found: ProviderConfig | undefined): ProviderConfig {
  if (found?.source !== 'builtin') return provider;
  const { protocols, baseUrls, apiKey, auth } = found;
  return {
    ...provider,
    protocols,
    baseUrls,
    apiKey,
    auth,
    defaultModel: provider.defaultModel ?? found.defaultModel,
  };
}
