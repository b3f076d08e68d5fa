// How long the database takes, for `GET /metrics`: a store that measures what requests and checks wait for. Exists only if metrics are
// on. A lock of another program and a slow server show here before a request fails.
import type { Clock } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { Histogram, labels, type HistogramFamily } from './exposition.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export interface TimedStore {
  store: Store;
  family(): HistogramFamily;
}

export function timeStore(store: Store, clock: Clock): TimedStore {
  const operations = {
    /** Each request waits for it. */
    admission: new Histogram(SECONDS),
    /** Rows of requests that ended, in batches. */
    usage: new Histogram(SECONDS),
    /** Stored answers. */
    items: new Histogram(SECONDS),
    /** At each scrape and each call of `/health`. */
    check: new Histogram(SECONDS),
  };

  /** Whether it succeeds or fails. */
  function timed<Result>(histogram: Histogram, start: () => Promise<Result>): Promise<Result> {
    const at = clock.monotonic();
    const observe = (): void => histogram.observe((clock.monotonic() - at) / 1000);
    const result = start();
    result.then(observe, observe);
    return result;
  }

  const { admission, usage, items, check } = operations;
  const measured: Partial<Store> = {
    admit: (key, limit, now) => timed(admission, () => store.admit(key, limit, now)),
    recordUsage: (rows, batch) => timed(usage, () => store.recordUsage(rows, batch)),
    storeItems: (rows, bounds) => timed(items, () => store.storeItems(rows, bounds)),
    findItems: (accountId, ids, now) => timed(items, () => store.findItems(accountId, ids, now)),
    ping: () => timed(check, () => store.ping()),
  };
  return {
    // All else, the members that change too, is that of the store.
    store: Object.assign(Object.create(store) as Store, measured),
    family: () => ({
      name: 'gateway_database_duration_seconds',
      help: 'Time that the database takes for what the gateway waits for.',
      type: 'histogram',
      samples: Object.entries(operations)
        .filter(([, { total }]) => total > 0)
        .map(([operation, histogram]) => [labels({ operation }), histogram]),
    }),
  };
}
