// Whether an entry of a key's list of models can admit anything, as far as the configuration alone tells.
import type { Config } from '../../config/config.ts';
import { didYouMean } from '../../config/did-you-mean.ts';
import { SIM_MODELS } from '../../sim/behaviours.ts';

/** A line for each entry that admits nothing. What a provider without a list has is not known: nothing is said of that. */
export function uselessModels(models: readonly string[], config: Config): string[] {
  const known = knownNames(config);
  const closed = new Set(
    [...config.providers.filter((provider) => provider.models !== null), SIM].map(({ name }) => name),
  );
  const open =
    config.file === null || config.providers.some(({ name, models }) => models === null && name !== SIM.name);
  const left = config.leftOut.map(({ provider }) => provider);
  return models
    .filter((model) => {
      if (known.has(model)) return false;
      const provider = model.slice(0, Math.max(0, model.indexOf('/')));
      if (left.includes(provider)) return false;
      return closed.has(provider) || !open;
    })
    .map((model) => {
      const near = didYouMean(model, known);
      return `--models ${model} admits nothing here; ${near === undefined ? 'see: gateway models' : `did you mean ${near}?`}`;
    });
}

const SIM = { name: 'sim', models: SIM_MODELS.map((id) => ({ id })) };

function knownNames({ providers, routes, leftOut }: Config): Set<string> {
  const listed = [...providers, SIM].flatMap(({ name, models }) =>
    (models ?? []).flatMap(({ id }) => [id, `${name}/${id}`]),
  );
  return new Set(['auto', ...routes.keys(), ...listed, ...leftOut.flatMap(({ names }) => names)]);
}
