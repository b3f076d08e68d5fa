// Everything known about one provider's model, put together: rules and windows from our rows, prices and further windows
// from the price book, which is read after the server listens.
import type { MatchLogic, ModelPrice } from '@pydantic/genai-prices';
import type { ModelConfig, ProviderConfig } from '../config/config.ts';
import type { Traits } from '../canonical/traits.ts';
import { DEFAULT_TRAITS } from '../canonical/traits.ts';
import { readPriceBook, type PriceRows } from './price-book.ts';
import { modelRules, WIRE_TRAITS } from './model-rules.ts';
import type { Price, Rate } from './price.ts';

interface KnownModel {
  traits: Traits;
  family: string;
  price?: Price;
}

export interface ModelInfo {
  /** `now`: prices change on a date. */
  about(provider: ProviderConfig, upstream: string, model: ModelConfig | undefined, now: number): KnownModel;
  /** Reads these providers' prices; until then none are known. Resolves to whether anything changed. */
  load(providers: readonly ProviderConfig[]): Promise<boolean>;
}

export function createModelInfo(): ModelInfo {
  const shelves = new Map<string, PriceRows>();

  return {
    about(provider, upstream, model, now) {
      const facts = modelRules(upstream);
      const info = findModel(shelves.get(addressOf(provider)), upstream);
      const traits = mergeTraits(provider, upstream, facts.traits, info?.context_window, model);
      const price = filePrice(model) ?? (info && bookPrice(info, now));
      return { traits, family: facts.family, ...(price && { price }) };
    },
    async load(providers) {
      const unread = [...new Set(providers.map(addressOf))].filter((url) => !shelves.has(url));
      if (unread.length === 0) return false;
      for (const [url, shelf] of await readPriceBook(unread)) shelves.set(url, shelf);
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

function filePrice(model: ModelConfig | undefined): Price | undefined {
  if (model?.price === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite } = model.price;
  return {
    ...rate('input', input),
    ...rate('output', output),
    ...rate('cacheRead', cacheRead),
    ...rate('cacheWrite', cacheWrite),
  };
}

type BookModel = PriceRows[number];
type BookRate = ModelPrice[string];

function bookPrice(info: BookModel, now: number): Price | undefined {
  const prices = Array.isArray(info.prices) ? priceAt(info.prices, now) : info.prices;
  if (prices?.['input_mtok'] === undefined) return undefined;
  return {
    ...rate('input', prices['input_mtok']),
    ...rate('output', prices['output_mtok']),
    ...rate('cacheRead', prices['cache_read_mtok']),
    ...rate('cacheWrite', prices['cache_write_mtok']),
    ...rate('cacheWrite1h', prices['cache_write_1h_mtok']),
  };
}

/** The last entry that holds now; prices by the hour of the day are not followed. */
function priceAt(prices: Extract<BookModel['prices'], unknown[]>, now: number): ModelPrice | undefined {
  return prices.findLast(
    ({ constraint }) =>
      constraint === undefined ||
      (constraint.type === 'start_date' && Date.parse(constraint.start_date) <= now),
  )?.prices;
}

function rate(name: keyof Price, value: BookRate): Price {
  if (value === undefined) return {};
  const made: Rate =
    typeof value === 'number'
      ? { base: value }
      : { base: value.base, steps: value.tiers.map(({ start, price }) => ({ above: start, rate: price })) };
  return { [name]: made };
}

// The package's own look-up checks units at each call (0.4 ms); a provider may list hundreds of models.
function findModel(shelf: PriceRows | undefined, upstream: string): BookModel | undefined {
  const name = upstream.toLowerCase();
  return shelf?.find(({ match }) => matches(match, name));
}

function matches(logic: MatchLogic, name: string): boolean {
  if ('or' in logic) return logic.or.some((part) => matches(part, name));
  if ('and' in logic) return logic.and.every((part) => matches(part, name));
  if ('equals' in logic) return name === logic.equals.toLowerCase();
  if ('starts_with' in logic) return name.startsWith(logic.starts_with.toLowerCase());
  if ('ends_with' in logic) return name.endsWith(logic.ends_with.toLowerCase());
  if ('contains' in logic) return name.includes(logic.contains.toLowerCase());
  return new RegExp(logic.regex).test(name);
}
