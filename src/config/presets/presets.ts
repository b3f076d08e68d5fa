// Well-known providers as rows of data, so that the name in the file, or the key in the environment, is enough.
import { HOSTS } from './hosts.data.ts';
import { LOCAL } from './local.data.ts';
import { MAKERS, PLANS } from './makers.data.ts';
import type { Preset } from './preset.ts';

export type { Preset };

/** The preferred ones first. */
export const PRESETS: readonly Preset[] = [...MAKERS, ...HOSTS, ...PLANS, ...LOCAL];

export function findPreset(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name);
}

/** The hosted provider at one of these addresses, whatever the file calls it. */
export function presetAt(urls: readonly string[]): Preset | undefined {
  const hosts = new Set(urls.map((url) => new URL(url).host));
  return PRESETS.find(
    (preset) =>
      preset.localPort === undefined &&
      !needsRegion(preset) &&
      Object.values(preset.baseUrls).some((url) => hosts.has(new URL(url).host)),
  );
}

export function needsRegion({ baseUrls }: Preset): boolean {
  return Object.values(baseUrls).some((url) => url.includes('{region}'));
}

/** With the addresses of a region. */
export function inRegion(preset: Preset, region: string): Preset {
  const urls = Object.entries(preset.baseUrls).map(([protocol, url]) => [
    protocol,
    url.replace('{region}', region),
  ]);
  return { ...preset, baseUrls: Object.fromEntries(urls) as Preset['baseUrls'] };
}
