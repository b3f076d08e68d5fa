// Prices in USD per million tokens, from the configuration file or the price book, and what an answer costs by them. An unknown
// price is undefined, never 0.
import { type Usage, totalInput } from '../canonical/reply.ts';
import { readFile } from 'node:fs';
import { promisify } from 'node:util';
import type { MatchLogic, ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import type { ModelConfig } from '../config/config.ts';

/** A rate; of `steps`, the last one whose `above` is less than the whole input holds for every token of the request. */
interface Rate {
  base: number;
  steps?: readonly { above: number; rate: number }[];
}

export interface Price {
  input?: Rate;
  output?: Rate;
  cacheRead?: Rate;
  cacheWrite?: Rate;
  cacheWrite1h?: Rate;
}

const MILLION = 1_000_000;

/** USD; undefined if a needed rate is unknown. A cache rate that is unknown is taken to be the input's. */
export function costOf(price: Price | undefined, usage: Usage): number | undefined {
  if (price?.input === undefined || price.output === undefined) return undefined;
  const whole = totalInput(usage);
  const written = usage.cacheWrite ?? 0;
  const long = Math.min(usage.cacheWrite1h ?? 0, written);
  const short = price.cacheWrite ?? price.input;
  return (
    (usage.input * rateAt(price.input, whole) +
      (usage.cacheRead ?? 0) * rateAt(price.cacheRead ?? price.input, whole) +
      (written - long) * rateAt(short, whole) +
      long * rateAt(price.cacheWrite1h ?? short, whole) +
      usage.output * rateAt(price.output, whole)) /
    MILLION
  );
}

/** USD that these tokens of the input would have cost less, read from a cache; undefined: no price of the input is known. */
export function savingOf(price: Price | undefined, tokens: number, usage: Usage): number | undefined {
  if (price?.input === undefined) return undefined;
  const whole = totalInput(usage);
  const input = rateAt(price.input, whole);
  return (tokens * Math.max(0, input - rateAt(price.cacheRead ?? price.input, whole))) / MILLION;
}

function rateAt(rate: Rate, input: number): number {
  let now = rate.base;
  for (const step of rate.steps ?? []) if (input > step.above) now = step.rate;
  return now;
}

/** The price that the configuration file gives. */
export function filePrice(model: ModelConfig | undefined): Price | undefined {
  if (model?.price === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite } = model.price;
  return {
    ...rate('input', input),
    ...rate('output', output),
    ...rate('cacheRead', cacheRead),
    ...rate('cacheWrite', cacheWrite),
  };
}

/** One provider's models in the price book. */
export type PriceRows = Pick<ModelInfo, 'match' | 'prices' | 'context_window'>[];

type BookModel = PriceRows[number];
type BookRate = ModelPrice[string];

/** The price of a row of the book at the time `now`. */
export function bookPrice(row: BookModel, now: number): Price | undefined {
  const prices = Array.isArray(row.prices) ? priceAt(row.prices, now) : row.prices;
  if (prices?.['input_mtok'] === undefined) return undefined;
  return {
    ...rate('input', prices['input_mtok']),
    ...rate('output', prices['output_mtok']),
    ...rate('cacheRead', prices['cache_read_mtok']),
    ...rate('cacheWrite', prices['cache_write_mtok']),
    ...rate('cacheWrite1h', prices['cache_write_1h_mtok']),
  };
}

/** The last entry that holds now; prices by the hour of the day are ignored. */
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

/** The package's own look-up checks units at each call, and a provider may list hundreds of models. */
export function findModel(rows: PriceRows | undefined, upstream: string): BookModel | undefined {
  const name = upstream.toLowerCase();
  return rows?.find(({ match }) => matches(match, name));
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

/** Written by the build: of each provider of the book the pattern of its addresses, and the file of its rows. */
const BOOK = new URL('../../dist/prices/', import.meta.url);

const readJson = async (name: string): Promise<unknown> =>
  // Node's module of file promises takes a millisecond more of each command.
  JSON.parse(await promisify(readFile)(new URL(name, BOOK), 'utf8'));

/**
 * The rows of the providers at these addresses. By address alone: a price belongs to the one who bills, not to the model's name. A
 * provider that the book does not know has no rows.
 */
export async function readPriceBook(urls: readonly string[]): Promise<Map<string, PriceRows>> {
  const index = (await readJson('index.json')) as { pattern: string; file: string }[];
  const rowsOf = async (url: string): Promise<PriceRows> => {
    const known = index.find(({ pattern }) => new RegExp(pattern).test(url));
    return known === undefined ? [] : ((await readJson(known.file)) as PriceRows);
  };
  return new Map(await Promise.all(urls.map(async (url) => [url, await rowsOf(url)] as const)));
}
