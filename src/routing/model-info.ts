// Everything known about one provider's model: rules and windows from the rows of models.data.ts, prices and further windows from
// the price book, which is read after the server listens.
import type { ModelConfig, ProviderConfig } from '../config/config.ts';
import { type Traits, DEFAULT_TRAITS } from '../canonical/traits.ts';
import { bookPrice, filePrice, findModel, readPriceBook, type Price, type PriceRows } from './price.ts';
import { MODEL_ROWS } from './models.data.ts';

interface KnownModel {
  traits: Traits;
  family: string;
  price?: Price;
}

export interface ModelInfo {
  /** `now`: prices change on a date. */
  about(provider: ProviderConfig, upstream: string, model: ModelConfig | undefined, now: number): KnownModel;
  /** Windows that a provider reported, by its names of models. They rank below those of the file. Gives
   *  whether anything changed. */
  setWindows(provider: string, windows: ReadonlyMap<string, number>): boolean;
  /** Reads these providers' prices, which are unknown until then. Resolves to whether anything changed. */
  load(providers: readonly ProviderConfig[]): Promise<boolean>;
}

export function createModelInfo(): ModelInfo {
  const rowsByAddress = new Map<string, PriceRows>();
  const windows = new Map<string, ReadonlyMap<string, number>>();

  return {
    about(provider, upstream, model, now) {
      const rules = modelRules(upstream);
      const row = findModel(rowsByAddress.get(addressOf(provider)), upstream);
      const reported = windows.get(provider.name)?.get(upstream);
      const traits = mergeTraits(provider, upstream, rules.traits, reported ?? row?.context_window, model);
      const price = filePrice(model) ?? (row && bookPrice(row, now));
      return { traits, family: rules.family, ...(price && { price }) };
    },
    setWindows(provider, reported) {
      const before = windows.get(provider);
      windows.set(provider, reported);
      return (
        before?.size !== reported.size || [...reported].some(([name, size]) => before.get(name) !== size)
      );
    },
    async load(providers) {
      const unread = [...new Set(providers.map(addressOf))].filter((url) => !rowsByAddress.has(url));
      if (unread.length === 0) return false;
      for (const [url, rows] of await readPriceBook(unread)) rowsByAddress.set(url, rows);
      return true;
    },
  };
}

const addressOf = ({ baseUrls }: ProviderConfig): string => Object.values(baseUrls)[0] ?? '';

/** The tolerant defaults < what is known of the model < the provider's traits (its preset, then the file's flags) < the
 *  file's entry of the model. */
function mergeTraits(
  provider: ProviderConfig,
  upstream: string,
  known: Partial<Traits>,
  window: number | undefined,
  model: ModelConfig | undefined,
): Traits {
  const traits: Traits = {
    ...DEFAULT_TRAITS,
    // A name with a path is an aggregator's (`openai/gpt-5.2`): the model's rules hold there, the wire is its own.
    ...defined(upstream.includes('/') ? withoutWire(known) : known),
    // The book is newer than our rows.
    ...defined({ contextWindow: window }),
    ...defined(provider.traits),
    ...(model && fileTraits(model)),
  };
  // A model that reads documents is of no use for them behind a server that takes none, unless the file knows better.
  if (model?.documents === true) traits.pdfInput = true;
  else if (!traits.pdfInput) traits.documents = false;
  return traits;
}

function withoutWire(traits: Partial<Traits>): Partial<Traits> {
  const rules = { ...traits };
  for (const name of WIRE_TRAITS) Reflect.deleteProperty(rules, name);
  return rules;
}

function fileTraits(model: ModelConfig): Partial<Traits> {
  return defined({
    vision: model.vision,
    documents: model.documents,
    audio: model.audio,
    tools: model.tools,
    thinking: model.thinking,
    structuredOutput: model.structuredOutput,
    contextWindow: model.contextWindow,
    maxOutput: model.maxOutput,
  });
}

/** Without members that are undefined, so that spreading never takes a value away. */
function defined(traits: Partial<Traits>): Partial<Traits> {
  return Object.fromEntries(Object.entries(traits).filter(([, value]) => value !== undefined));
}

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
  'thinkingForm',
  'budgetRange',
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
  traits: Partial<Traits>;
}

/**
 * A model's name in one form: without path, date, version mark and size or price tag, with dashes for dots and at-signs. Providers
 * write one model in many ways (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`).
 */
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

/** Rows stand from the general to the particular: a later row that matches overrides an earlier one. */
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
