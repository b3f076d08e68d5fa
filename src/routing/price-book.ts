// The price book is a large module: 50 ms of the thread that serves, and 13 MiB. A thread of its own reads it, tells what
// stands on the shelves that are asked for, and ends; 7 MiB stay with the allocator.
import type { ModelInfo } from '@pydantic/genai-prices';
import { createRequire } from 'node:module';

/** The models of one provider, as far as they are of use here. */
export type PriceRows = Pick<ModelInfo, 'match' | 'prices' | 'context_window'>[];

const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { findProvider } = require(workerData.book);
  const useful = ({ match, prices, context_window }) => ({ match, prices, context_window });
  const shelf = (providerApiUrl) => findProvider({ providerApiUrl })?.models.map(useful) ?? [];
  parentPort.postMessage(workerData.urls.map(shelf));
`;

/** By address alone: a price belongs to the one who bills, not to the model's name. A provider that is not in it has no models. */
export async function readPriceBook(urls: readonly string[]): Promise<Map<string, PriceRows>> {
  const { Worker } = await import('node:worker_threads');
  const book = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
  const shelves = await new Promise<PriceRows[]>((resolve, reject) => {
    const thread = new Worker(THREAD, { eval: true, workerData: { book, urls } });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the price book could not be read')));
  });
  return new Map(urls.map((url, index) => [url, shelves[index] ?? []]));
}
