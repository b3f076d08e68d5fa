// A name of a model as JSON: the shape that `gateway models --json` prints and the admin API sends.
import type { ModelEntry } from './catalog.ts';

/** `states`: by a target's key, of the targets that servers avoid. */
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
    context_window: entry.contextWindow,
    max_output: entry.maxOutput,
  };
}
