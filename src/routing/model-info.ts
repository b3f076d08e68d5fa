// Everything known about one provider's model: rules and windows from the rows in `models/`, prices and further windows from the
// price book, which is read after the server listens.
import type { ModelConfig, ProviderConfig } from '../config/config.ts';
import { type Traits, DEFAULT_TRAITS } from '../canonical/traits.ts';
import { bookPrice, filePrice, findModel, readPriceBook, type Price, type PriceRows } from './price.ts';
import { rulesOf } from './models/rules.ts';

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
      const rules = rulesOf(upstream, provider.preset);
      const row = findModel(rowsByAddress.get(addressOf(provider)), upstream);
      const reported = windows.get(provider.name)?.get(upstream);
      const traits = mergeTraits(
        {
          model: { ...rules.model, ...defined({ contextWindow: row?.context_window }) },
          preset: provider.traits,
          host: { ...rules.host, ...defined({ contextWindow: reported }) },
          flags: provider.flags ?? {},
        },
        model,
      );
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

/** From the general to the particular: each overrides the ones before it. */
interface Known {
  /** What is known of the model. */
  model: Partial<Traits>;
  /** The provider's preset. */
  preset: Partial<Traits>;
  /** What is known of the model at this provider. */
  host: Partial<Traits>;
  /** The file's. */
  flags: Partial<Traits>;
}

function mergeTraits({ model, preset, host, flags }: Known, entry: ModelConfig | undefined): Traits {
  const layers = [model, preset, host, flags].map(defined);
  const traits: Traits = { ...DEFAULT_TRAITS };
  for (const layer of layers) Object.assign(traits, layer);
  if (flags.rejectFields === undefined)
    traits.rejectFields = [...new Set(layers.flatMap(({ rejectFields = [] }) => rejectFields))];
  // A server has its words for efforts, its models know some of them.
  if (flags.efforts === undefined && host.efforts === undefined && preset.efforts && model.efforts)
    traits.efforts = model.efforts.filter((effort) => preset.efforts?.includes(effort));
  if (entry) Object.assign(traits, fileTraits(entry));
  // A model that reads documents is of no use for them behind a server that takes none, unless the file knows better.
  if (entry?.documents === true) traits.pdfInput = true;
  else if (!traits.pdfInput) traits.documents = false;
  return traits;
}

function fileTraits(model: ModelConfig): Partial<Traits> {
  return defined({
    vision: model.vision,
    documents: model.documents,
    audio: model.audio,
    tools: model.tools,
    thinking: model.thinking,
    structuredOutput: model.structuredOutput,
    embeddings: model.embeddings,
    contextWindow: model.contextWindow,
    maxOutput: model.maxOutput,
  });
}

/** Without members that are undefined, so that spreading never takes a value away. */
function defined(traits: Partial<Traits>): Partial<Traits> {
  return Object.fromEntries(Object.entries(traits).filter(([, value]) => value !== undefined));
}
