// Zero configuration: without a file, every provider that can be found is taken, those whose keys lie in the environment
// here, local servers by who probes LOCAL_CANDIDATES. `*_BASE_URL` variables often point back at a gateway: not looked at.
import type { Config, LeftOut, ProviderConfig } from './config.ts';
import type { Env } from './interpolate.ts';
import { PRESETS } from './presets.ts';
import { presetKey, presetProvider } from './providers.ts';

/** Local servers on their usual ports. No credential is sent to them. */
export const LOCAL_CANDIDATES: readonly ProviderConfig[] = PRESETS.filter(
  (preset) => preset.localPort !== undefined,
).map((preset) => presetProvider(preset, 'local', { value: undefined }));

export function findProviders(env: Env): Pick<Config, 'providers' | 'warnings' | 'leftOut'> {
  const providers: ProviderConfig[] = [];
  const warnings: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const preset of PRESETS) {
    if (preset.keys.length === 0 || Object.keys(preset.baseUrls).length === 0) continue;
    const key = presetKey(preset, env);
    if (key.ignored !== undefined) warnings.push(key.ignored);
    if (key.value !== undefined) providers.push(presetProvider(preset, 'environment', key));
    else leftOut.push({ provider: preset.name, why: key.reason ?? 'it has no key', names: [] });
  }
  return { providers, warnings, leftOut };
}
