// What we keep of the catalogue of models: a line for each group of models of which the same is known at one provider.
import { createHash } from 'node:crypto';

/** Our presets, and the catalogue's files of them. */
export const SOURCES: Readonly<Record<string, string>> = {
  openai: 'openai',
  azure: 'azure',
  anthropic: 'anthropic',
  gemini: 'google',
  mistral: 'mistral',
  deepseek: 'deepseek',
  groq: 'groq',
  xai: 'xai',
  together: 'together',
  fireworks: 'fireworks',
  cerebras: 'cerebras',
  moonshot: 'moonshotai',
  zai: 'zai',
  minimax: 'minimax',
  dashscope: 'qwen-token-plan',
  nvidia: 'nvidia',
  meta: 'meta',
  copilot: 'github-copilot',
  xiaomi: 'xiaomi',
  baseten: 'baseten',
};

/** Their rows do not say which efforts exist: ours do. */
const SIZES_ALONE = new Set(['anthropic', 'azure']);

const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The catalogue's row of a model, as far as we read it. */
export interface Entry {
  id: string;
  type: string;
  api: string;
  reasoning: boolean;
  input: readonly string[];
  contextWindow: number;
  maxTokens: number;
  /** null: refused. A missing effort up to `high` is taken, a missing `off` has no word of its own. */
  thinkingLevelMap?: Readonly<Record<string, string | null>>;
  compat?: {
    thinkingFormat?: string;
    supportsReasoningEffort?: boolean;
    supportsTemperature?: boolean;
    forceAdaptiveThinking?: boolean;
    requiresReasoningContentOnAssistantMessages?: boolean;
  };
}

/** How the catalogue calls the switches of thinking, and how we do. */
const FORMS: Readonly<Record<string, string | undefined>> = {
  deepseek: 'type',
  zai: 'type',
  qwen: 'enable_thinking',
  together: 'reasoning_enabled',
};

/** The words of a model at a preset; `src/routing/models/catalogue.ts` reads them. */
function words(preset: string, entry: Entry): string {
  return [
    sizes(preset, entry),
    entry.input.includes('image') ? 'image' : 'text',
    ...thinking(preset, entry),
  ].join(' ');
}

function sizes(preset: string, { contextWindow, maxTokens }: Entry): string {
  // OpenAI's is where the price rises, and not where the window ends. A small output beside a large window is a stop-gap.
  const window = preset === 'openai' && contextWindow === 272_000 ? '-' : String(contextWindow);
  const output = maxTokens <= 8192 && contextWindow > 65_536 ? '-' : String(maxTokens);
  return `${window}/${output}`;
}

function thinking(preset: string, entry: Entry): readonly string[] {
  const { compat = {}, thinkingLevelMap: map } = entry;
  if (!entry.reasoning) return ['plain'];
  const isClaude = entry.id.includes('claude');
  if (SIZES_ALONE.has(preset) || isClaude) return [];
  const grades = map !== undefined && EFFORTS.some((effort) => map[effort] !== undefined);
  const efforts = grades && compat.supportsReasoningEffort !== false ? taken(map) : [];
  const form = FORMS[compat.thinkingFormat ?? ''];
  const never = map?.off === null;
  const found = [
    ...(map?.off === 'none' ? ['none'] : []),
    ...efforts,
    ...(efforts.length === 0 && compat.supportsReasoningEffort === false && form !== undefined
      ? ['ungraded']
      : []),
    ...(never ? ['always'] : []),
    // What is never off needs no switch.
    ...(form !== undefined && !never ? [form] : []),
    ...(compat.supportsTemperature === false ? ['fixed'] : []),
    ...(compat.forceAdaptiveThinking === true ? ['adaptive'] : []),
    ...(compat.requiresReasoningContentOnAssistantMessages === true ? ['replay'] : []),
  ];
  return found;
}

/** An effort that becomes another word is none of its own. */
function taken(map: Readonly<Record<string, string | null>>): readonly string[] {
  return EFFORTS.filter((effort) => {
    const word = map[effort];
    if (word === undefined) return effort !== 'xhigh' && effort !== 'max';
    return word?.toLowerCase() === effort;
  });
}

/** The words of each model, by its name without a path, in the order of the names. */
export function modelsOf(preset: string, entries: readonly Entry[]): ReadonlyMap<string, string> {
  const chat = entries.filter(({ type }) => type === 'chat');
  const named = chat.map((entry): [string, string] => [
    entry.id.toLowerCase().replace(/^.*\//, ''),
    words(preset, entry),
  ]);
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `names | words` lines: the names of which the same is known stand together. */
export function lines(models: ReadonlyMap<string, string>): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const [name, text] of models) groups.set(text, [...(groups.get(text) ?? []), name]);
  return [...groups].map(([text, names]) => `${names.join(' ')} | ${text}`);
}

/** What `lines` wrote. */
export function readLines(text: string): ReadonlyMap<string, string> {
  const rows = text.split('\n').filter((line) => line.includes(' | '));
  return new Map(
    rows.flatMap((line) => {
      const [names = '', known = ''] = line.trim().split(' | ');
      return names.split(' ').map((name): [string, string] => [name, known]);
    }),
  );
}

/** What changed at a preset, a line each. */
export function changes(
  preset: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)];
    if (old === now) return [];
    if (old === undefined) return [`${preset}/${name}: new: ${now ?? ''}`];
    return [`${preset}/${name}: ${now === undefined ? `gone, was: ${old}` : `${old} -> ${now}`}`];
  });
}

/** `preset/model digest` lines of all that is known, so that rows edited by hand can be named. */
export function seals(catalogue: Readonly<Partial<Record<string, string>>>): string {
  const rows = Object.entries(catalogue).flatMap(([preset, text]) =>
    [...readLines(text ?? '')].map(([name, known]) => `${preset}/${name} ${digest(known)}\n`),
  );
  return rows.join('');
}

/** The rows that are not as they were sealed, a line each. */
export function unsealed(
  catalogue: Readonly<Partial<Record<string, string>>>,
  sealed: string,
): readonly string[] {
  const before = readSeals(sealed);
  const after = readSeals(seals(catalogue));
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((row) => {
    const [old, now] = [before.get(row), after.get(row)];
    if (old === now) return [];
    const [preset = '', name = ''] = row.split('/');
    const known = readLines(catalogue[preset] ?? '').get(name) ?? '';
    if (now === undefined) return [`${row}: gone`];
    return [`${row}: ${old === undefined ? 'new' : 'changed'}, now: ${known}`];
  });
}

function readSeals(text: string): ReadonlyMap<string, string> {
  const rows = text.split('\n').filter((line) => line !== '');
  return new Map(rows.map((line): [string, string] => [line.split(' ')[0] ?? '', line.split(' ')[1] ?? '']));
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
