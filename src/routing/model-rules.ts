// What is publicly known about models: their rules on the wire, what they can do, windows and prices. Names come dated,
// prefixed and with dots or dashes (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`), so a name is brought to one form first.
import type { Traits } from '../canonical/traits.ts';
import { MODEL_ROWS } from './models.data.ts';

/** The parts of `Traits` that belong to a server's wire; all others belong to the model (`toolIds`: a template's own rule). */
export const WIRE_TRAITS = [
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
  'imageUrl',
  'pdfInput',
  'serverTools',
  'promptCache',
] as const satisfies readonly (keyof Traits)[];

interface ModelRules {
  /** Models of one family may be given each other's thinking. */
  family: string;
  traits: Partial<Traits>;
}

/** The name without its path, date, version mark and size or price tag; dots and at-signs are dashes. */
export function plainName(upstream: string): string {
  return upstream
    .toLowerCase()
    .replace(/^.*[/\\]/, '')
    .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|mistral|deepseek|qwen)\./, '')
    .replace(/:[^:]*$/, '')
    .replace(/[.@_]/g, '-')
    .replace(/-v\d+$/, '')
    .replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?=-|$)/, '')
    .replace(
      /^claude-(\d)(?:-(\d))?-(sonnet|opus|haiku|fable)(?=-|$)/,
      (_, major: string, minor: string | undefined, line: string) =>
        minor === undefined ? `claude-${line}-${major}` : `claude-${line}-${major}-${minor}`,
    );
}

/** Rows lie from the general to the particular: a later one that matches has the last word. */
export function modelRules(upstream: string): ModelRules {
  const name = plainName(upstream);
  let family = name;
  const traits: Partial<Traits> = {};
  for (const row of MODEL_ROWS) {
    if (!row.match.test(name)) continue;
    if (row.family !== undefined) family = row.family;
    Object.assign(traits, row.traits);
  }
  return { family, traits };
}
