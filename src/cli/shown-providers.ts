// Which providers are worth a line: the built-in one only where the file names it or there is no other.
import type { Config, ProviderConfig } from '../config/config.ts';

export function shownProviders(all: readonly ProviderConfig[], config: Config): readonly ProviderConfig[] {
  const named = new Set(config.providers.map(({ name }) => name));
  const shown = all.filter(({ name, source }) => named.has(name) || source !== 'builtin');
  return shown.length > 0 ? shown : all;
}
