// The rules of a model at a provider. Each layer overrides the ones before it: the model's own rows, the catalogue's facts of the
// model at that provider, our rows for that provider.
import type { Traits } from '../../canonical/traits.ts';
import { CLAUDE } from './claude.data.ts';
import { HOSTS } from './hosts.data.ts';
import { OPENAI } from './openai.data.ts';
import { OTHERS } from './others.data.ts';
import type { ModelRow } from './row.ts';

const MODELS: readonly ModelRow[] = [...CLAUDE, ...OPENAI, ...OTHERS];

/** The parts of `Traits` that belong to a server's wire; all others belong to the model (`toolIds`: a template's own rule). */
const WIRE_TRAITS = [
  'maxTokensField',
  'systemRole',
  'userField',
  'streamUsage',
  'topK',
  'webSearchOptions',
  'toolResultImages',
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
  'imageUrl',
  'pdfInput',
  'responseFormats',
  'formatsWithTools',
  'jsonWord',
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
  const host = matching((preset === undefined ? undefined : HOSTS[preset]) ?? [], name);
  return { family: model.family ?? name, model: model.traits, host: host.traits };
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

/**
 * A model's name in one form: without path, date, version mark and size or price tag, with dashes for dots and at-signs. Providers
 * write one model in many ways (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`).
 */
export function plainName(upstream: string): string {
  return (
    upstream
      .toLowerCase()
      .replace(/^.*[/\\]/, '')
      .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|mistral|deepseek|qwen)\./, '')
      .replace(/:[^:]*$/, '')
      .replace(/[.@_]/g, '-')
      // Fireworks: `glm-5p3`.
      .replace(/(\d)p(?=\d)/g, '$1-')
      .replace(/-v\d+$/, '')
      .replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?=-|$)/, '')
      .replace(
        /^claude-(\d)(?:-(\d))?-(sonnet|opus|haiku|fable)(?=-|$)/,
        (_, major: string, minor: string | undefined, line: string) =>
          minor === undefined ? `claude-${line}-${major}` : `claude-${line}-${major}-${minor}`,
      )
  );
}
