// The rules of a model at a provider. Each layer overrides the ones before it: the model's own rows, the catalogue's facts of the
// model at that provider, our rows for that provider.
import type { Traits } from '../../canonical/traits.ts';
import { catalogued } from './catalogue.ts';
import { CLAUDE } from './claude.data.ts';
import { HOSTS } from './hosts.data.ts';
import { OPENAI } from './openai.data.ts';
import { OTHERS } from './others.data.ts';
import { plainName } from './plain-name.ts';
import type { ModelRow } from './row.ts';

const MODELS: readonly ModelRow[] = [...CLAUDE, ...OPENAI, ...OTHERS];

/** The parts of `Traits` that belong to a server's wire; all others belong to the model (`toolIds`: a template's own rule). */
const WIRE_TRAITS = [
  'speaks',
  'maxTokensField',
  'systemRole',
  'userField',
  'streamUsage',
  'topK',
  'completionsPath',
  'compaction',
  'webSearchOptions',
  'strictAlternation',
  'userAfterTool',
  'thoughtSignatures',
  'reasoningField',
  'replayReasoning',
  'cacheMarks',
  'cacheKey',
  'rejectFields',
  'thinkingForm',
  'budgetRange',
  'maxEffortOnChat',
  'toolsWhileThinking',
  'namedToolChoice',
  'reasoningFill',
  'contentLists',
  'lateSystem',
  'strictArguments',
  'imageUrl',
  'pdfInput',
  'responseFormats',
  'formatsWithTools',
  'jsonWord',
  'additionalTools',
  'serverTools',
  'requestTags',
  'promptCache',
] as const satisfies readonly (keyof Traits)[];

interface ModelRules {
  /** Models of one family may be given each other's thinking. */
  family: string;
  /** What holds for the model wherever it is served. */
  model: Partial<Traits>;
  /** What holds for it at this provider. */
  host: Partial<Traits>;
}

/** `preset`: the well-known provider. */
export function rulesOf(upstream: string, preset: string | undefined): ModelRules {
  const name = plainName(upstream);
  const model = matching(MODELS, name);
  // A name with a path is an aggregator's (`openai/gpt-5.2`): the model's rules hold there, the wire is its own.
  if (upstream.includes('/')) for (const member of WIRE_TRAITS) Reflect.deleteProperty(model.traits, member);
  if (preset === undefined) return { family: model.family ?? name, model: model.traits, host: {} };
  const { traits } = matching(HOSTS[preset] ?? [], name);
  return {
    family: model.family ?? name,
    model: model.traits,
    host: { ...catalogued(preset, upstream), ...traits },
  };
}

/** Rows stand from the general to the particular: a later row that matches overrides an earlier one. */
function matching(
  rows: readonly ModelRow[],
  name: string,
): { family: string | undefined; traits: Partial<Traits> } {
  let family: string | undefined;
  const traits: Partial<Traits> = {};
  for (const row of rows) {
    if (!row.match.test(name)) continue;
    if (row.family !== undefined) family = row.family;
    Object.assign(traits, row.traits);
  }
  return { family, traits };
}
