// The providers that there are: the file's or the environment's, then those found after the start.
import type { ProviderConfig } from '../config/config.ts';

export function mergeProviders(
  configured: readonly ProviderConfig[],
  added: ReadonlyMap<string, ProviderConfig>,
): ProviderConfig[] {
  const names = new Set(configured.map(({ name }) => name));
  return [
    ...configured.map((provider) => withAddress(provider, added.get(provider.name))),
    ...[...added.values()].filter(({ name }) => !names.has(name)),
  ];
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
