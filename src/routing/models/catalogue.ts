// Reads the catalogue of models, which `npm run models` writes: sizes, inputs and efforts of a model at a provider.
import { EFFORTS } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { CATALOGUE } from './catalogue.data.ts';
import { plainName } from './plain-name.ts';

type Models = ReadonlyMap<string, Partial<Traits>>;

/** What a word of a line means. Efforts mean themselves. */
const WORDS: Readonly<Record<string, Partial<Traits>>> = {
  image: { vision: true },
  text: { vision: false },
  plain: { thinking: false, efforts: [], thinksByDefault: false },
  ungraded: { thinking: true, efforts: [], thinkingOff: 'always' },
  always: { thinking: true, thinksByDefault: true, thinkingOff: 'never' },
  type: { thinkingForm: 'type' },
  enable_thinking: { thinkingForm: 'enable_thinking' },
  reasoning_enabled: { thinkingForm: 'reasoning_enabled' },
  fixed: { rejectsSampling: true },
  adaptive: { thinkingAdaptive: true, thinkingBudget: false },
  replay: { replayReasoning: 'tool_turns' },
};

/** Lines are read when a model of their provider is asked for. */
const read = new Map<string, Models>();

/** What the catalogue says of a model at a preset. */
export function catalogued(preset: string, upstream: string): Partial<Traits> {
  const text = CATALOGUE[preset];
  if (text === undefined) return {};
  let models = read.get(preset);
  if (models === undefined) read.set(preset, (models = readCatalogue(text)));
  const name = upstream.toLowerCase().replace(/^.*\//, '');
  return models.get(name) ?? models.get(plainName(name)) ?? {};
}

/** `names | window/output words`, a line for each group of models. A name without its date stands for all its dates. */
export function readCatalogue(text: string): Models {
  const models = new Map<string, Partial<Traits>>();
  const plain = new Map<string, Partial<Traits>>();
  for (const line of text.split('\n')) {
    const [names, words] = line.split(' | ');
    if (names === undefined || words === undefined) continue;
    const traits = traitsOf(words);
    for (const name of names.split(' ')) {
      models.set(name, traits);
      const short = plainName(name);
      if (short === name.replaceAll('.', '-') || !plain.has(short)) plain.set(short, traits);
    }
  }
  return new Map([...plain, ...models]);
}

function traitsOf(text: string): Partial<Traits> {
  const [sizes = '', ...words] = text.split(' ');
  const [window, output] = sizes.split('/').map(Number);
  const efforts = EFFORTS.filter((effort) => words.includes(effort));
  const graded: Partial<Traits> = { thinking: true, efforts, thinkingOff: 'always', thinkingForm: 'effort' };
  return Object.assign(
    {},
    Number.isNaN(window) ? {} : { contextWindow: window },
    Number.isNaN(output) ? {} : { maxOutput: output },
    efforts.length > 0 ? graded : {},
    ...words.map((word) => WORDS[word]),
  ) as Partial<Traits>;
}
