// What `GET /metrics` shows: the series of requests, those of refusals, and what is read at each scrape (requests in flight,
// health of targets, database, process); and a store that measures how long the database takes. Exists only if metrics are on.
import type { GatewayError } from '../../errors.ts';
import type { Clock } from '../../clock.ts';
import type { Observer } from '../../gateway/trace.ts';
import { servedPath } from '../../protocols/interface/endpoint.ts';
import { clientProtocols } from '../../protocols/registry.ts';
import type { Target } from '../../routing/catalog.ts';
import type { TargetState } from '../../routing/state/health.ts';
import type { Routing } from '../../routing/routing.ts';
import { Histogram } from '../../histogram.ts';
import { labels, written, type Family, type HistogramFamily } from './exposition.ts';
import type { Resource } from '../resource.ts';
import { DURATION_S } from './operation-series.ts';
import { createRequestSeries } from './request-series.ts';
import type { Store } from '../../store/store.ts';

interface MetricsOptions {
  accounts: boolean;
  routing: Routing;
  clock: Clock;
  version: string;
  /** undefined: another process tells it. */
  resource: () => Resource | undefined;
  inFlight: () => number;
  isDatabaseAway: () => Promise<boolean>;
  database: Pick<TimedStore, 'family'>;
  /** With names of accounts; undefined: another process tells it. */
  limits?: () => Promise<Family | undefined>;
}

export interface Metrics extends Observer {
  /** Counts a request that was refused before its admission. */
  refused(path: string, error: GatewayError): void;
  /** The page, in Prometheus' text format. */
  read(): Promise<string>;
}

interface Refusals {
  readonly endpoint: string;
  readonly status: number;
  readonly error: string;
  requests: number;
}

const ENDPOINTS: ReadonlyMap<string, string> = new Map(
  clientProtocols.map(({ name, client }) => [servedPath(client.endpoints[0]), name]),
);

export function createMetrics(options: MetricsOptions): Metrics {
  const { accounts, routing, clock } = options;
  const series = createRequestSeries({ accounts, isKnown: createCatalogCheck(routing, clock) });
  const refusals: Refusals[] = [];
  // Measuring of the event loop begins now. The scrape reports an error.
  processMetrics().catch(() => undefined);

  return {
    started(trace) {
      if (trace.streamed) trace.progress.gaps = new Histogram(DURATION_S);
    },
    finished: (trace) => series.add(trace),
    refused(path, { status, kind: error }) {
      // Statuses and kinds are the gateway's own, so their number is small.
      const endpoint = ENDPOINTS.get(path) ?? 'other';
      const known = refusals.find(
        (other) => other.endpoint === endpoint && other.status === status && other.error === error,
      );
      if (known === undefined) refusals.push({ endpoint, status, error, requests: 1 });
      else known.requests += 1;
    },
    async read() {
      const ofProcess = await processMetrics();
      const isAway = await options.isDatabaseAway();
      const gauges = momentFamilies(options, isAway);
      // A database that is away must not hide the other numbers.
      const limits = isAway ? undefined : await options.limits?.().catch(() => undefined);
      if (limits !== undefined) gauges.push(limits);
      const refused: Family = {
        name: 'gateway_requests_refused_total',
        help: 'Requests that were refused before they were admitted.',
        type: 'counter',
        samples: refusals.map(({ endpoint, status, error, requests }) => [
          labels({ endpoint, status: String(status), error }),
          requests,
        ]),
      };
      return (
        written([...series.families(), refused, options.database.family(), ...gauges]) + (await ofProcess())
      );
    },
  };
}

/** Least time between two readings of the names: a client may send a new name with each request. */
const NAMES_VALID_MS = 1000;

/** Whether a target is in the list that the file or its provider gives, or in a route. */
function createCatalogCheck(routing: Routing, clock: Clock): (target: Target) => boolean {
  let listed: ReadonlySet<string> = new Set();
  let readAt = -Infinity;
  return ({ key, provider, upstream }) => {
    if (routing.modelsOf(provider).includes(upstream)) return true;
    const now = clock.monotonic();
    if (now - readAt > NAMES_VALID_MS) {
      listed = new Set(routing.models(null).flatMap(({ targets }) => targets.map((target) => target.key)));
      readAt = now;
    }
    return listed.has(key);
  };
}

function momentFamilies(
  { routing, version, resource, inFlight }: MetricsOptions,
  isDatabaseAway: boolean,
): Family[] {
  const own = resource();
  return [
    gauge('gateway_requests_in_flight', 'Requests under way.', [['', inFlight()]]),
    gauge(
      'gateway_target_state',
      'State of each target that was contacted: 1 for the state that it has.',
      targetSamples(routing),
    ),
    gauge('gateway_database_up', '1 if the database can be used, else 0.', [['', isDatabaseAway ? 0 : 1]]),
    gauge('gateway_build_info', 'The version of the gateway and of Node.', [
      [labels({ version, node: process.versions.node }), 1],
    ]),
    gauge(
      'target_info',
      'Attributes of this gateway as a resource of OpenTelemetry.',
      own === undefined ? [] : [[labels(labelsOf(own)), 1]],
    ),
  ];
}

/** The attributes under names that labels can have, as OpenTelemetry's exporters write them; values of equal names are joined. */
function labelsOf(resource: Resource): Record<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(resource).sort()) {
    const name = key.replace(/\W/g, '_').replace(/^(?=[\d_])/, 'key_');
    const before = found.get(name);
    found.set(name, before === undefined ? value : `${before};${value}`);
  }
  return Object.fromEntries(found);
}

function gauge(name: string, help: string, samples: Family['samples']): Family {
  return { name, help, samples, type: 'gauge' };
}

/** Targets that are shown; further ones have no sample. */
const MOST_TARGETS = 200;
const STATES = ['healthy', 'cooling', 'failing'] as const;

function targetSamples(routing: Routing): [string, number][] {
  const listed = new Set(routing.models(null).flatMap(({ targets }) => targets.map(({ key }) => key)));
  return routing.health
    .states()
    .filter(([key]) => listed.has(key))
    .slice(0, MOST_TARGETS)
    .flatMap(([key, state]) => {
      const slash = key.indexOf('/');
      const [provider, model] = [key.slice(0, slash), key.slice(slash + 1)];
      const now = stateName(state);
      return STATES.map((name): [string, number] => [
        labels({ provider, model, state: name }),
        name === now ? 1 : 0,
      ]);
    });
}

function stateName({ breaker, coolingMs }: TargetState): (typeof STATES)[number] {
  if (breaker !== 'closed') return 'failing';
  return coolingMs > 0 ? 'cooling' : 'healthy';
}

/** Gauges whose names say that they are counters, and that are read from undocumented members of Node. */
const LEFT_OUT = ['active_handles', 'active_requests', 'active_resources'].flatMap((name) => [
  `nodejs_${name}`,
  `nodejs_${name}_total`,
]);
/** Milliseconds between two measurements of the event loop. */
const EVENT_LOOP_MS = 20;

let loaded: Promise<() => Promise<string>> | undefined;

/** One registry for the process: it measures the process, and never stops. The result writes the text format. */
function processMetrics(): Promise<() => Promise<string>> {
  return (loaded ??= load());
}

async function load(): Promise<() => Promise<string>> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of LEFT_OUT) register.removeSingleMetric(name);
  return () => register.metrics();
}

/** Upper ends of the ranges of the histograms. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

interface TimedStore {
  store: Store;
  family(): HistogramFamily;
}

/** Measures what requests and checks wait for. A lock of another program and a slow server show here before a request fails. */
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

  /** Measures calls that fail, too. */
  function timed<Result>(histogram: Histogram, start: () => Promise<Result>): Promise<Result> {
    const at = clock.monotonic();
    const observe = (): void => histogram.observe((clock.monotonic() - at) / 1000);
    const result = start();
    result.then(observe, observe);
    return result;
  }

  const { admission, usage, items, check } = operations;
  /** Admissions of this turn of the event loop, which wait for the same transaction. */
  let together: { requests: number } | undefined;

  /** The time of the first one stands for all: a promise more for each request costs half a microsecond. */
  function admit(...asked: Parameters<Store['admit']>): ReturnType<Store['admit']> {
    if (together !== undefined) {
      together.requests += 1;
      return store.admit(...asked);
    }
    const at = clock.monotonic();
    const result = store.admit(...asked);
    const turn = (together = { requests: 1 });
    const close = (): void => {
      if (together === turn) together = undefined;
    };
    const observe = (): void => {
      close();
      admission.observe((clock.monotonic() - at) / 1000, turn.requests);
    };
    process.nextTick(close);
    result.then(observe, observe);
    return result;
  }

  const measured: Partial<Store> = {
    admit,
    recordUsage: (rows, batch) => timed(usage, () => store.recordUsage(rows, batch)),
    storeItems: (rows, bounds) => timed(items, () => store.storeItems(rows, bounds)),
    findItems: (accountId, ids, now) => timed(items, () => store.findItems(accountId, ids, now)),
    ping: () => timed(check, () => store.ping()),
  };
  return {
    // Other members are inherited from the store, including those that change.
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
