// The traits of a model at a well-known provider, as a file gets them that says no more than the provider's name.
import type { Traits } from '../../src/canonical/traits.ts';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { createModelInfo } from '../../src/routing/model-info.ts';
import { load } from '../config/folder.ts';

const KEYS = Object.fromEntries(PRESETS.flatMap(({ keys }) => keys.map((name) => [name, 'k'])));

export function traitsAt(target: string, entry = '{}'): Traits {
  const slash = target.indexOf('/');
  const [name, model] = [target.slice(0, slash), target.slice(slash + 1)];
  const own = name === 'azure' ? '{ base_url: "https://own.openai.azure.com/openai/v1" }' : entry;
  const [provider] = load(`providers: { ${name}: ${own} }`, { env: KEYS }).providers;
  if (provider === undefined) throw new Error(`${name} was left out`);
  return createModelInfo().about(provider, model, undefined, 0).traits;
}
