// The providers that there are: the file's or the environment's, then those found after the start.
import type { ProviderConfig } from '../config/config.ts';

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
