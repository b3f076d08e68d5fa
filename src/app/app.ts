// The composition root: the only file that knows all parts, and the order in which they start and end.
import { askAsKey } from './ask-as-key.ts';
import { applyChange } from './config-change.ts';
import { watchConfigFile } from '../config/watch.ts';
import {
  type AdminOptions,
  type GatewayRecorder,
  type Parts,
  type Peers,
  type Served,
  createClients,
} from './parts.ts';
import { createDiscovery } from './discovery.ts';
import { createAdopter, startHousekeeping } from './housekeeping.ts';
import { resetTargets } from './reset-targets.ts';
import { requestJson } from '../accounts/request-json.ts';
import { isoTime, type Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createBeginnings } from '../conversations/beginnings.ts';
import { createLanes } from '../conversations/misses/lanes.ts';
import { createAdminDoor } from '../admin/door.ts';
import { createSignInDoor } from '../admin/sign-in/door.ts';
import { createCacheMisses } from '../gateway/cache-misses.ts';
import { createDatabaseHealth } from '../gateway/database-health.ts';
import { createInFlightLimit } from '../gateway/in-flight-limit.ts';
import type { Observer } from '../gateway/trace.ts';
import type { GatewayDeps, Site } from '../gateway/exchange.ts';
import { createUsualOutputs } from '../gateway/usual-outputs.ts';
import type { ControlHandler, GatewayStatus } from '../control/calls.ts';
import { unhealthyTargets } from '../observe/health-publisher.ts';
import { limitShares } from '../observe/metrics/limit-shares.ts';
import { createMetrics, type Metrics, timeStore } from '../observe/metrics/metrics.ts';
import { readResource, type Resource } from '../observe/resource.ts';
import { createTraceExporter, type TraceExporter } from '../observe/traces.ts';
import { createItemRecorder, createUsageRecorder } from '../observe/records.ts';
import { createRefusalRecorder } from '../observe/refusals.ts';
import { createRequestLog } from '../observe/request-log.ts';
import { createLive, type Live, type Moment } from '../observe/live.ts';
import type { FoundRequest } from '../observe/under-way.ts';
import { createNotices } from '../observe/notices/notices.ts';
import type { Ids } from '../ids.ts';
import { silentLog, type Logger } from '../log.ts';
import { allProtocols } from '../protocols/registry.ts';
import type { LastTarget } from '../routing/affinity.ts';
import type { SharedHealth } from '../routing/state/health.ts';
import type { Lesson } from '../routing/state/lessons.ts';
import { createLines } from '../providers/line.ts';
import { createRepeats } from '../repeats.ts';
import type { ResetReply } from '../routing/state/reset.ts';
import { createRouting } from '../routing/routing.ts';
import { createGatewayServer } from '../server/server.ts';
import { createSealedItems } from '../store/items/sealed-items.ts';
import type { Store } from '../store/store.ts';
import { createUsageSpool } from '../store/usage-spool.ts';
import type { Environment } from '../environment.ts';

interface AppOptions {
  config: Config;
  /** Reads the configuration again; rejects if it is invalid. */
  reload: () => Promise<Config>;
  store: Store;
  /** Holds the gateway's files if the database is not a file. */
  dataFolder: string;
  log: Logger;
  clock: Clock;
  ids: Ids;
  env?: Environment;
  /** The version of the package, for metrics. */
  version: string;
  /** Every value that is in effect and what sets it, for the admin API. Rejects if the file is not valid now. */
  effective?: AdminOptions['effective'];
  /** The settings of each tool for this gateway, for the admin API. */
  connect?: AdminOptions['connect'];
  /** The other workers of this gateway; undefined: there is one process. */
  peers?: Peers | undefined;
  /** Of the one process that this gateway is started for. */
  recorder?: GatewayRecorder | undefined;
}

export interface App extends Served {
  port: number;
  /** Requests that `stop` would wait for, and how long. */
  readonly underWay: { requests: number; graceMs: number };
  /** Resolves when the search for local servers is over, after 300 ms at most. */
  ready: Promise<void>;
  /** Resolves after `ready`, when the windows and prices of the models are known. */
  described: Promise<void>;
  /** The part of `GET /status` that the gateway itself knows; the process adds its pid and version. */
  status(): AppStatus;
  /** What all requests of this process come to now. */
  moment(): Moment;
  /** A request of this process that the database may not have yet: under way, or ended a moment ago. */
  find(id: string): FoundRequest | undefined;
  /** Handlers for the user's commands. */
  controlHandlers: readonly ControlHandler[];
  /** Reads the configuration again. Resolves to its faults; if there are any, nothing changes. */
  reload(): Promise<readonly string[]>;
  /** Lets streams finish within `limits.shutdown_grace`. Resolves to the number of usage rows that could not be written.
   *  `retire`: another worker takes its place, so that no request is refused. */
  stop(how?: 'retire'): Promise<number>;
  kill(): void;
}

type AppStatus = Omit<GatewayStatus, 'pid' | 'version' | 'log'>;

/** Time to send the spans and the alerts that wait when the gateway ends. */
const LAST_SENT_MS = 5000;

/** Rejects if a host can't be listened on. */
export async function startApp(options: AppOptions): Promise<App> {
  const resource = resourceOf(options);
  const parts = createParts(options, resource, await startTraces(options, resource));
  const { deps, server, admin, state } = parts;
  const listening = await server.listen().catch(async (error: unknown) => {
    server.kill();
    await release(parts);
    throw error;
  });
  const reload = (): Promise<readonly string[]> => applyChange(parts, options.reload);
  // Among workers, the process that started them watches the file.
  const watch = parts.peers === undefined ? watchConfigFile(state.config, reload, deps) : undefined;
  const { hosts, port, skipped } = listening;
  const urls = hosts.map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`);
  const priced = startHousekeeping(parts, urls);
  const since = isoTime(deps.clock.now());
  return {
    urls,
    port,
    endpoints: allProtocols.map(({ name, client }) => ({ name, base: client.setup.base })),
    notes: skipped.map((host) => `this machine has no ${host}; it is not listened on`),
    get providers() {
      return deps.routing.providers();
    },
    get underWay() {
      return { requests: deps.inFlightLimit.inFlight, graceMs: state.config.limits.shutdownGrace };
    },
    ready: deps.discovered,
    described: Promise.all([deps.discovered, priced]).then(() => undefined),
    status: () => statusOf(parts, { urls, since }),
    moment: () => parts.live.moment(),
    find: (id) => findRequest(parts, id),
    controlHandlers: [
      linkHandler(parts, urls),
      ...liveHandlers(parts.live),
      metricsHandler(parts),
      lessonsHandler(parts),
      resetHandler(parts),
    ],
    reload,
    async stop(how) {
      watch?.close();
      admin.endStreams();
      const { shutdownGrace } = state.config.limits;
      await (how === 'retire' ? server.retire(shutdownGrace) : server.stop(shutdownGrace));
      const unwritten = await release(parts);
      if (unwritten > 0) {
        deps.log.error('usage rows could not be written and are discarded', { rows: unwritten });
      }
      return unwritten;
    },
    kill() {
      state.stopped = true;
      watch?.close();
      server.kill();
    },
  };
}

function statusOf({ deps, state }: Parts, known: Pick<AppStatus, 'urls' | 'since'>): AppStatus {
  const { inFlightLimit, routing, store, clock, log } = deps;
  const { config } = state;
  const avoided = unhealthyTargets(routing.health, clock);
  const serving = config.maintenance ? 'maintenance' : 'serving';
  return {
    ...known,
    state: inFlightLimit.closed ? 'stopping' : serving,
    config: config.file,
    database: store.location,
    requests_in_flight: inFlightLimit.inFlight,
    grace_ms: config.limits.shutdownGrace,
    log_lost: log.lost?.() ?? 0,
    providers: routing.providers().map(({ name }) => ({
      name,
      avoided: avoided
        .filter(({ target }) => target.startsWith(`${name}/`))
        .map((target) => ({ ...target, until: isoTime(target.until) })),
    })),
  };
}

/** Rejects if traces are on and OpenTelemetry's packages are missing. */
async function startTraces(
  { config, log, version }: AppOptions,
  resource: Resource,
): Promise<TraceExporter | undefined> {
  if (config.otlp === null) return undefined;
  return createTraceExporter({ url: config.otlp, version, resource, log });
}

/** What traces and metrics say of this gateway. Variables are read where one of the two is on. */
function resourceOf({ config, env = process.env, version, log, peers }: AppOptions): Resource {
  const isShown = config.otlp !== null || config.metrics !== null;
  // One of several workers is enough to report a variable that cannot be read.
  return readResource(isShown ? env : {}, version, peers?.leads === false ? silentLog : log);
}

/** `gateway dashboard`: turns the admin API on, and gives the owner a link to its page. */
function linkHandler({ admin, peers }: Parts, urls: readonly string[]): ControlHandler {
  return {
    method: 'POST',
    path: '/admin/link',
    async handle() {
      peers?.share('admin', 'on', true);
      const { path, ticketPath, ...link } = await admin.createLink();
      const [base = ''] = urls;
      const reachable = base.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
      return { url: reachable + path, open_url: reachable + ticketPath, ...link };
    },
  };
}

/** What refusals taught of targets: `gateway models` and `explain` show it. */
function lessonsHandler({ deps: { routing } }: Parts): ControlHandler {
  return { method: 'GET', path: '/lessons', handle: () => routing.lessons.list() };
}

/** `gateway targets reset`. The answer for an unknown target is `unknown`. */
function resetHandler({ deps }: Parts): ControlHandler {
  return {
    method: 'POST',
    path: '/targets/reset',
    async handle({ body }): Promise<ResetReply> {
      const { targetIn } = await import('../routing/state/reset.ts');
      return resetTargets(deps)(targetIn(body));
    },
  };
}

/** The page of this process alone; the supervisor merges the pages of its workers. */
function metricsHandler({ metrics }: Parts): ControlHandler {
  return { method: 'GET', path: '/metrics', handle: () => metrics?.read() ?? '' };
}

function createParts(options: AppOptions, resource: Resource, traces: TraceExporter | undefined): Parts {
  const { config, log, clock, ids, env = process.env, peers, recorder } = options;
  const timed = config.metrics === null ? undefined : timeStore(options.store, clock);
  const store = timed?.store ?? options.store;
  const state = { config, stopped: false };
  const { client, sim } = createClients({ clock, ids, env, makeRoom: () => server.makeRoom(), recorder });
  const shared = createShared(options);
  const { routing } = shared;
  routing.addProviders([sim]);
  const discovery = createDiscovery({ client, routing, clock, log, peers, state });
  const live = createLive({ health: routing.health, clock });
  const notices = createNotices({ client, store, clock, log, live, state });
  const spool = createUsageSpool({ store, dataFolder: options.dataFolder, clock, log });
  const usage = createUsageRecorder({ store, spool, clock, log, live });
  const refusals = createRefusalRecorder({ store, clock, log });
  const items = createSealedItems({ store, keepMs: () => state.config.responses.keep, clock, log });
  const inFlightLimit = createInFlightLimit();
  const database = createDatabaseHealth({ store, clock, log });
  const metrics =
    timed &&
    createMetrics({
      accounts: config.metrics?.accounts ?? false,
      routing,
      clock,
      version: options.version,
      // Prometheus joins series with it, so that of several workers one alone shows it.
      resource: () => (peers?.leads === false ? undefined : resource),
      inFlight: () => inFlightLimit.inFlight,
      isDatabaseAway: async () => (await database.check()) === 'away',
      database: timed,
      limits: () => limitsOf(options, state.config),
    });
  const observers: (Observer | undefined)[] = [
    ...[live, usage, log.isOff === true ? undefined : createRequestLog(log)],
    createItemRecorder(items, () => state.config.responses.store),
    ...[recorder?.observer, metrics, traces, refusals],
  ];
  const deps: Parts['deps'] = {
    ...shared,
    current: state,
    observers: observers.filter((observer) => observer !== undefined),
    traces: traces !== undefined,
    recording: recorder,
    store,
    items,
    usual: createUsualOutputs(),
    limitNotices: notices.limits,
    discovered: discovery.ready,
    learn: (name) => discovery.learn(name),
    client,
    metrics: metrics && (peers === undefined ? metrics : allMetrics(metrics, peers)),
    inFlightLimit,
    database,
    clock,
    ids,
    log,
  };
  const admin = createAdminDoor({
    ...deps,
    live: peers?.live ?? { ...live, find: (id) => findRequest({ live, usage }, id) },
    sessions: peers?.sessions,
    effective: options.effective ?? noEffective,
    connect: options.connect ?? (() => Promise.resolve([])),
    askAsKey: askAsKey(deps),
    resetTargets: peers?.resetTargets ?? resetTargets(deps),
  });
  const server = createGatewayServer(deps, eitherSite(admin, createSignInDoor(deps)));
  const parts: Parts = {
    ...{ deps, server, admin, usage, refusals, spool },
    traces,
    live,
    notices,
    metrics,
    discovery,
    peers,
    state,
  };
  peers?.onShared(createAdopter(parts));
  return parts;
}

/** The paths of both. */
const eitherSite = (one: Site, other: Site): Site => ({
  serves: (path) => one.serves(path) || other.serves(path),
  answer: (exchange) => (one.serves(exchange.path) ? one : other).answer(exchange),
});

/** Routing, and what else the workers of a gateway tell each other. */
function createShared({
  config,
  clock,
  log,
  peers,
}: AppOptions): Pick<Parts['deps'], 'routing' | 'beginnings' | 'cacheMisses' | 'lines' | 'repeats'> {
  const onHealth = peers && ((key: string, shared: SharedHealth) => peers.share('health', key, shared));
  const onKey = peers && ((id: string, shared: SharedHealth) => peers.share('keys', id, shared));
  const onLesson = peers && ((key: string, lesson: Lesson) => peers.share('lessons', key, lesson));
  const onAffinity = peers && ((lane: string, last: LastTarget) => peers.share('affinity', lane, last));
  return {
    lines: createLines(clock),
    repeats: peers?.repeats ?? createRepeats(clock),
    routing: createRouting({ config, clock, onHealth, onKey, onLesson, onAffinity }),
    beginnings: createBeginnings(peers && ((begun, shared) => peers.share('beginnings', begun, shared))),
    cacheMisses: createCacheMisses({
      lanes: createLanes(peers && ((shared) => peers.share('lanes', shared.lane.name, shared))),
      clock,
      log,
    }),
  };
}

function findRequest({ live, usage }: Pick<Parts, 'live' | 'usage'>, id: string): FoundRequest | undefined {
  const ended = usage.find(id);
  if (ended === undefined) return live.find(id);
  return { accountId: ended.accountId, request: requestJson({ ...ended, account: null }) };
}

/** With names of accounts alone. Of several workers, one tells it. */
async function limitsOf({ store, clock, config, peers }: AppOptions, { tiers }: Config) {
  if (config.metrics?.accounts !== true || peers?.leads === false) return undefined;
  return limitShares(store, tiers, clock);
}

function noEffective(): Promise<never> {
  return Promise.reject(new Error('a gateway of `gateway run` does not show its configuration'));
}

/** What `gateway requests` and `gateway top` read. */
function liveHandlers(live: Live): ControlHandler[] {
  return [
    { method: 'GET', path: '/requests', handle: () => live.recent() },
    { method: 'GET', path: '/requests/new', open: (_request, send) => live.follow(send) },
    { method: 'GET', path: '/live', open: (_request, send) => live.watch(send) },
  ];
}

/** Ends what runs beside requests. Resolves to the number of usage rows that could not be written. */
async function release({ deps, usage, refusals, traces, notices, state }: Parts): Promise<number> {
  state.stopped = true;
  const lastMs = Math.min(LAST_SENT_MS, state.config.limits.shutdownGrace);
  const [unwritten] = await Promise.all([
    usage.flush(),
    refusals.flush(),
    deps.items.flush(),
    traces?.stop(lastMs),
    notices.limits.stop().then(() => notices.alerts.stop(lastMs)),
  ]);
  await deps.client.close();
  return unwritten;
}

const allMetrics = (own: Metrics, peers: Peers): GatewayDeps['metrics'] => ({
  refused: (path, error) => own.refused(path, error),
  read: () => peers.readMetrics(),
});
