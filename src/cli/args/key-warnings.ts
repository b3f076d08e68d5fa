// Warnings of `keys create`: a new account whose name looks like another one, and entries of --models that admit no target.
import type { Config } from '../../config/config.ts';
import { didYouMean } from '../../config/did-you-mean.ts';
import { SIM_MODELS } from '../../canonical/sim-models.ts';

/** Lower-case letters of other alphabets, digits and marks, and the Latin letter that they look like. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  а: 'a',
  в: 'b',
  с: 'c',
  ԁ: 'd',
  е: 'e',
  һ: 'h',
  і: 'l',
  ј: 'j',
  к: 'k',
  м: 'm',
  н: 'h',
  о: 'o',
  р: 'p',
  ѕ: 's',
  т: 't',
  у: 'y',
  ѵ: 'v',
  ԝ: 'w',
  х: 'x',
  α: 'a',
  β: 'b',
  ε: 'e',
  η: 'n',
  ι: 'l',
  κ: 'k',
  ν: 'v',
  ο: 'o',
  ρ: 'p',
  τ: 't',
  υ: 'u',
  χ: 'x',
  ı: 'l',
  i: 'l',
  '1': 'l',
  '|': 'l',
  '0': 'o',
};

function skeletonOf(name: string): string {
  const plain = name.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ');
  return [...plain].map((char) => LOOKALIKES[char] ?? char).join('');
}

/** The first other name that looks like `name`. */
export function lookalike(name: string, others: readonly string[]): string | undefined {
  const skeleton = skeletonOf(name);
  return others.find((other) => other !== name && skeletonOf(other) === skeleton);
}

/** A line for each entry that admits no target. Names of providers without a list are not checked: only the provider knows its models. */
export function uselessModels(models: readonly string[], config: Config): string[] {
  const known = knownNames(config);
  const closed = new Set(
    [...config.providers.filter((provider) => provider.models !== null), SIM].map(({ name }) => name),
  );
  const open =
    config.file === null || config.providers.some(({ name, models }) => models === null && name !== SIM.name);
  const leftOut = config.leftOut.map(({ provider }) => provider);
  return models
    .filter((model) => {
      if (known.has(model)) return false;
      const provider = model.slice(0, Math.max(0, model.indexOf('/')));
      if (leftOut.includes(provider)) return false;
      return closed.has(provider) || !open;
    })
    .map((model) => {
      const near = didYouMean(model, known);
      return `--models ${model} admits no target; ${near === undefined ? 'see: gateway models' : `did you mean ${near}?`}`;
    });
}

const SIM = { name: 'sim', models: SIM_MODELS.map((id) => ({ id })) };

function knownNames({ providers, routes, leftOut }: Config): Set<string> {
  const listed = [...providers, SIM].flatMap(({ name, models }) =>
    (models ?? []).flatMap(({ id }) => [id, `${name}/${id}`]),
  );
  return new Set(['auto', ...routes.keys(), ...listed, ...leftOut.flatMap(({ names }) => names)]);
}
