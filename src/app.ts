// The composition root: the only file that knows all parts, and the order in which they start and end.
import type { Cancellation } from './cancellation.ts';
import { HOUR_MS, isoTime, type Clock } from './clock.ts';
import { placeChanges, type Config, type ProviderConfig } from './config/config.ts';
import { builtinProvider, LOCAL_CANDIDATES, SIM_URL } from './config/providers.ts';
import { watchConfig } from './config/watch.ts';
import { createAdminDoor, type AdminDoor } from './admin/door.ts';
import { createDatabaseHealth } from './gateway/database-health.ts';
import { createInFlightLimit } from './gateway/in-flight-limit.ts';
import type { Observer } from './gateway/trace.ts';
import type { GatewayDeps } from './gateway/exchange.ts';
import type { ControlHandler } from './control/handler.ts';
import type { GatewayStatus } from './control/status.ts';
import { createHealthPublisher, unhealthyTargets } from './observe/health-publisher.ts';
import { createMetrics, type Metrics } from './observe/metrics/metrics.ts';
import { createTraceExporter, type TraceExporter } from './observe/traces.ts';
import { createRequestLog } from './observe/request-record.ts';
import { createItemRecorder, createUsageRecorder, type UsageRecorder } from './observe/usage-recorder.ts';
import { createLive, type Live } from './observe/live.ts';
import type { Ids } from './ids.ts';
import { silentLog, type Logger } from './log.ts';
import { allProtocols } from './protocols/registry.ts';
import { createProviderClient, type ProviderClient } from './providers/client.ts';
import { listModels, probeLocal } from './providers/discover.ts';
import { readWindows } from './providers/local-windows.ts';
import type { ProviderCall, ProviderReply } from './providers/exchange.ts';
import type { SharedHealth } from './routing/health.ts';
import { createRouting, type Routing } from './routing/routing.ts';
import { createGatewayServer, type GatewayServer } from './server/server.ts';
import { SIM_MODELS, startSim, type Sim } from './sim/sim.ts';
import { createSealedItems } from './store/sealed-items.ts';
import type { Store } from './store/store.ts';
import { createUsageSpool, type UsageSpool } from './store/usage-spool.ts';

type AdminOptions = Parameters<typeof createAdminDoor>[0];
type AdminEffective = AdminOptions['effective'];
type AdminConnect = AdminOptions['connect'];

interface AppOptions {
  config: Config;
  /** Reads the configuration again; rejects if it is invalid. */
  reload: () => Promise<Config>;
  store: Store;
  /** For files of a database that is not a file itself. */
  dataFolder: string;
  log: Logger;
  clock: Clock;
  ids: Ids;
  env?: Record<string, string | undefined>;
  /** Of the package, for metrics. */
  version: string;
  /** Every value that is in effect and what sets it, for the admin API. Rejects if the file is not valid now. */
  effective?: AdminEffective;
  /** The settings of each tool for this gateway, for the admin API. */
  connect?: AdminConnect;
  /** The other workers of this gateway; undefined: there is one process. */
  peers?: Peers | undefined;
}

/** What one worker learns and all use: the health of a target, the models and windows of a provider, the local servers, whether
 *  the admin API was turned on. */
export type SharedTopic = 'health' | 'models' | 'windows' | 'local' | 'admin';

/** The workers of one gateway, as one of them sees them. */
export interface Peers {
  /** Gives the others, and those that start later, the value of a key. */
  share(topic: SharedTopic, key: string, value: unknown): void;
  /** Sets the listener for values of the others; it gets those of before, too. */
  onShared(listener: (topic: SharedTopic, key: string, value: unknown) => void): void;
  /** One worker does what is done once for all: asks providers for their models, publishes health, prunes. */
  readonly leads: boolean;
  /** Sets the listener for the moment in which this worker becomes that one. */
  onLead(listener: () => void): void;
  /** What all workers do now. */
  live: AdminOptions['live'];
  sessions: NonNullable<AdminOptions['sessions']>;
  /** The page of all workers. */
  readMetrics(): Promise<string>;
}

export interface App {
  /** One for each host: `http://127.0.0.1:8787`. */
  urls: string[];
  port: number;
  /** What a client of each protocol adds to a URL. */
  endpoints: { name: string; base: string }[];
  /** For the user: hosts that the machine lacks. */
  notes: string[];
  /** The providers that are known now. */
  readonly providers: readonly ProviderConfig[];
  /** Requests that `stop` would wait for, and how long. */
  readonly underWay: { requests: number; graceMs: number };
  /** Resolves when the search for local servers is over, after 300 ms at most. */
  ready: Promise<void>;
  /** Resolves when `ready` does and the windows and prices of the models are known. Takes longer. */
  described: Promise<void>;
  /** What it says about itself; the process adds who it is. */
  status(): AppStatus;
  /** What it does for the commands of its user. */
  controlHandlers: readonly ControlHandler[];
  /** Reads the configuration again. Gives what is wrong with it; then nothing changes. */
  reload(): Promise<readonly string[]>;
  /** Lets streams finish within `limits.shutdown_grace`. Gives the number of usage rows that could not be written.
   *  `retire`: another worker takes its place, so that no request is refused. */
  stop(how?: 'retire'): Promise<number>;
  kill(): void;
}

type AppStatus = Omit<GatewayStatus, 'pid' | 'version' | 'log'>;

const PROBE_MS = 300;
const LIST_MS = 10_000;
const LIST_EVERY_MS = 10 * 60_000;
const WINDOWS_MS = 1000;
/** A local server loads its model at the first request. */
const WINDOWS_EVERY_MS = 60_000;
const HEALTH_EVERY_MS = 1000;
/** For the spans that wait when the gateway ends. */
const LAST_SPANS_MS = 5000;
/** For the files of other gateways on the data folder. */
const DRAIN_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = HOUR_MS;
/** What was changed through the admin API stays for this time. */
const AUDIT_KEEP_MS = 400 * 24 * HOUR_MS;

/** All parts of one gateway, and what changes while it runs. */
interface Parts {
  deps: GatewayDeps;
  server: GatewayServer;
  admin: AdminDoor;
  usage: UsageRecorder;
  spool: UsageSpool;
  traces: TraceExporter | undefined;
  live: Live;
  /** Of this process alone. */
  metrics: Metrics | undefined;
  peers: Peers | undefined;
  state: { config: Config; stopped: boolean };
}

/** Rejects if a host can't be listened on. */
export async function startApp(options: AppOptions): Promise<App> {
  const parts = createParts(options, await startTraces(options));
  const { deps, server, admin, state } = parts;
  const listening = await server.listen().catch(async (error: unknown) => {
    server.kill();
    await release(parts);
    throw error;
  });
  const priced = startHousekeeping(parts);
  const reload = (): Promise<readonly string[]> => applyChange(parts, options.reload);
  // Among workers, the process that started them watches the file.
  const watch = parts.peers === undefined ? watchConfigFile(parts, reload) : undefined;
  const { hosts, port, skipped } = listening;
  const urls = hosts.map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`);
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
    controlHandlers: [linkHandler(parts, urls), ...liveHandlers(parts.live), metricsHandler(parts)],
    reload,
    async stop(how) {
      watch?.close();
      admin.close();
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
  const { inFlightLimit, routing, store, clock } = deps;
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
    providers: routing.providers().map(({ name }) => ({
      name,
      avoided: avoided
        .filter(({ target }) => target.startsWith(`${name}/`))
        .map((target) => ({ ...target, until: isoTime(target.until) })),
    })),
  };
}

/** Rejects if traces are on and OpenTelemetry's packages are missing. */
async function startTraces({ config, log, version }: AppOptions): Promise<TraceExporter | undefined> {
  if (config.otlp === null) return undefined;
  return createTraceExporter({ url: config.otlp, version, log });
}

/** `gateway dashboard`: turns the admin API on, and gives the owner a link to its page. */
function linkHandler({ admin, peers }: Parts, urls: readonly string[]): ControlHandler {
  return {
    method: 'POST',
    path: '/admin/link',
    async handle() {
      peers?.share('admin', 'on', true);
      const { path, ...link } = await admin.createLink();
      const [base = ''] = urls;
      return {
        url: base.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') + path,
        ...link,
      };
    },
  };
}

/** The page of this process alone: workers show those of all. */
function metricsHandler({ metrics }: Parts): ControlHandler {
  return { method: 'GET', path: '/metrics', handle: () => metrics?.read() ?? '' };
}

function createParts(options: AppOptions, traces: TraceExporter | undefined): Parts {
  const { config, store, log, clock, ids, env = process.env, peers } = options;
  const state = { config, stopped: false };
  const { client, sim } = createClients({ clock, ids, env, makeRoom: () => server.makeRoom() });
  const onHealth = peers && ((key: string, shared: SharedHealth) => peers.share('health', key, shared));
  const routing = createRouting({ config, clock, onHealth });
  routing.addProviders([sim]);
  const live = createLive({ health: routing.health, clock });
  const onRow: Live['recorded'] = (row, trace) => live.recorded(row, trace);
  const spool = createUsageSpool({ store, dataFolder: options.dataFolder, clock, log });
  const usage = createUsageRecorder({ store, spool, clock, log, onRow });
  const items = createSealedItems({
    store,
    keepMs: () => state.config.responses.keep,
    clock,
    log,
  });
  const inFlightLimit = createInFlightLimit();
  const database = createDatabaseHealth({ store, clock, log });
  const metrics =
    config.metrics &&
    createMetrics({
      accounts: config.metrics.accounts,
      routing,
      clock,
      version: options.version,
      inFlight: () => inFlightLimit.inFlight,
      isDatabaseAway: () => database.isAway(),
    });
  const observers: Observer[] = [
    live,
    usage,
    createRequestLog(log),
    createItemRecorder(items, () => state.config.responses.store),
  ];
  const deps: GatewayDeps = {
    config: () => state.config,
    observers: [
      ...observers,
      ...(metrics === null ? [] : [metrics]),
      ...(traces === undefined ? [] : [traces]),
    ],
    traces: traces !== undefined,
    store,
    items,
    routing,
    discovered:
      config.file === null ? findLocalServers({ client, routing, clock }, peers) : Promise.resolve(),
    client,
    metrics: metrics === null || peers === undefined ? (metrics ?? undefined) : allMetrics(metrics, peers),
    inFlightLimit,
    database,
    clock,
    ids,
    log,
  };
  const admin = createAdminDoor({
    ...deps,
    live: peers?.live ?? live,
    sessions: peers?.sessions,
    effective: options.effective ?? noEffective,
    connect: options.connect ?? (() => Promise.resolve([])),
  });
  const server = createGatewayServer(deps, admin);
  const parts: Parts = {
    deps,
    server,
    admin,
    usage,
    spool,
    traces,
    live,
    metrics: metrics ?? undefined,
    peers,
    state,
  };
  peers?.onShared(createAdopter(parts));
  return parts;
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

/** Ends what runs beside requests. Gives the number of usage rows that could not be written. */
async function release({ deps, usage, traces, state }: Parts): Promise<number> {
  state.stopped = true;
  const [unwritten] = await Promise.all([
    usage.flush(),
    deps.items.flush(),
    traces?.stop(Math.min(LAST_SPANS_MS, state.config.limits.shutdownGrace)),
  ]);
  await deps.client.close();
  return unwritten;
}

const allMetrics = (own: Metrics, peers: Peers): GatewayDeps['metrics'] => ({
  refused: (path, error) => own.refused(path, error),
  read: () => peers.readMetrics(),
});

type Found = Awaited<ReturnType<typeof probeLocal>>;

/** Takes over what other workers learnt. */
function createAdopter({ deps: { routing }, admin }: Parts): Parameters<Peers['onShared']>[0] {
  const adopt = {
    health: (key, value) => routing.health.adopt(key, value as SharedHealth),
    models: (key, value) => routing.setDiscovered(key, value as string[]),
    windows: (key, value) => routing.setWindows(key, value as Map<string, number>),
    local: (_, value) => addLocalServers(routing, value as Found),
    admin: () => admin.turnOn(),
  } satisfies Record<SharedTopic, (key: string, value: unknown) => void>;
  return (topic, key, value) => adopt[topic](key, value);
}

/** Without a configuration file, model servers on their usual ports are providers, too. One worker looks for them; the others get
 *  what it found, perhaps a moment after they begin to serve. */
async function findLocalServers(
  { client, routing, clock }: Pick<GatewayDeps, 'client' | 'routing' | 'clock'>,
  peers: Peers | undefined,
): Promise<void> {
  if (peers?.leads === false) return new Promise((resolve) => void clock.after(PROBE_MS, resolve));
  const found = await probeLocal(client, LOCAL_CANDIDATES, { timeoutMs: PROBE_MS });
  peers?.share('local', 'all', found);
  addLocalServers(routing, found);
}

function addLocalServers(routing: Routing, found: Found): void {
  routing.addProviders(found.map(({ provider }) => provider));
  for (const { provider, models } of found) routing.setDiscovered(provider.name, models);
}

/** Resolves when windows and prices are known. */
function startHousekeeping(parts: Parts): Promise<void> {
  const { routing, store, clock, log, discovered } = parts.deps;
  const { peers } = parts;
  /** Of several workers, one. */
  const once = (everyMs: number, task: () => Promise<void>, firstMs?: number): void =>
    repeat(everyMs, async () => (peers?.leads === false ? undefined : task()), parts, firstMs);
  void discovered.then(() => once(LIST_EVERY_MS, () => refreshModelLists(parts)));
  const measured = discovered.then(() => (peers?.leads === false ? undefined : measureWindows(parts)));
  once(WINDOWS_EVERY_MS, () => measureWindows(parts), WINDOWS_EVERY_MS);
  once(HEALTH_EVERY_MS, createHealthPublisher({ health: routing.health, store, clock, log }));
  repeat(DRAIN_EVERY_MS, () => parts.spool.drain(), parts);
  once(PRUNE_EVERY_MS, () => store.prune(clock.now(), parts.state.config.usage.keep));
  once(PRUNE_EVERY_MS, () => store.pruneItems(clock.now()));
  once(PRUNE_EVERY_MS, () => store.pruneAudit(clock.now() - AUDIT_KEEP_MS));
  peers?.onLead(() => void discovered.then(() => refreshModelLists(parts)));
  return Promise.all([measured, loadPrices(parts.deps)]).then(() => undefined);
}

/** Runs `task` after `firstMs`, then at the interval, until the gateway stops. */
function repeat(
  everyMs: number,
  task: () => Promise<void>,
  { deps: { clock, log }, state }: Parts,
  firstMs = 0,
): void {
  const run = (): void => {
    if (state.stopped) return;
    void task().catch((error: unknown) => log.warn('housekeeping failed', { reason: String(error) }));
    clock.after(everyMs, run);
  };
  if (firstMs === 0) run();
  else clock.after(firstMs, run);
}

/** Asks the servers of this machine how long a request their models take. */
async function measureWindows({ deps: { client, routing }, peers }: Parts): Promise<void> {
  const measure = async (provider: ProviderConfig): Promise<void> => {
    const windows = await readWindows(client, provider, routing.modelsOf(provider), {
      timeoutMs: WINDOWS_MS,
    });
    if (windows.size === 0) return;
    peers?.share('windows', provider.name, windows);
    routing.setWindows(provider.name, windows);
  };
  await Promise.all(routing.providers().map(measure));
}

/** Asks each provider that has no list of models in the file for its list. */
async function refreshModelLists({ deps: { client, routing, log }, peers }: Parts): Promise<void> {
  const unlisted = routing
    .providers()
    .filter(({ models, source }) => models === null && source !== 'builtin');
  await Promise.all(
    unlisted.map(async (provider) => {
      try {
        const models = await listModels(client, provider, { timeoutMs: LIST_MS });
        peers?.share('models', provider.name, models);
        routing.setDiscovered(provider.name, models);
      } catch (error) {
        log.warn('the models of a provider could not be listed', {
          provider: provider.name,
          reason: String(error),
        });
      }
    }),
  );
}

/** The gateway serves without prices, too: costs are unknown then. */
async function loadPrices({ routing, log }: GatewayDeps): Promise<void> {
  try {
    await routing.loadPrices();
  } catch (error) {
    log.warn('prices could not be read: costs stay unknown', { reason: String(error) });
  }
}

function watchConfigFile(parts: Parts, reload: () => Promise<unknown>): { close(): void } | undefined {
  const { clock, log } = parts.deps;
  const { file } = parts.state.config;
  if (file === null) return undefined;
  const gone = (): void =>
    log.warn('the configuration file was deleted: its last settings stay in effect until the gateway ends', {
      file,
    });
  return watchConfig({ file, reload: async () => void (await reload()), gone, clock });
}

/** Reads the changed file; an invalid one is reported and changes nothing. */
async function applyChange(parts: Parts, reload: AppOptions['reload']): Promise<readonly string[]> {
  const { deps, state, admin, peers } = parts;
  const leads = peers?.leads !== false;
  const log = leads ? deps.log : silentLog;
  try {
    const before = state.config;
    const next = await reload();
    for (const setting of fixedSettings(before, next)) log.warn(`${setting} changes only with a restart`);
    const listen = { ...before.listen, names: next.listen.names };
    const { database, metrics, otlp } = before;
    state.config = { ...next, listen, database, metrics, otlp };
    deps.routing.update(state.config);
    admin.configChanged();
    await loadPrices(deps);
    log.info('the configuration was reloaded', { providers: state.config.providers.length });
    for (const warning of next.warnings) log.warn(warning);
    // Not awaited: a provider that is slow to list its models must not delay the next change.
    if (leads) void refreshModelLists(parts);
    return [];
  } catch (error) {
    return reportFaults(error, log);
  }
}

/** Logs why a changed configuration is not used; gives the reasons. */
function reportFaults(error: unknown, log: Logger): readonly string[] {
  const faults = (error as { faults?: string[] }).faults ?? [String(error)];
  for (const fault of faults) log.error(`the changed configuration is not used: ${fault}`);
  return faults;
}

/** Changed settings that take effect only with a restart. */
function fixedSettings(before: Config, after: Config): string[] {
  const changed = placeChanges(before, after);
  if (before.otlp !== after.otlp) changed.push('otlp');
  if (before.metrics?.accounts !== after.metrics?.accounts) changed.push('metrics');
  if (before.limits.headerTimeout !== after.limits.headerTimeout) changed.push('limits.header_timeout');
  if (before.limits.requestTimeout !== after.limits.requestTimeout) changed.push('limits.request_timeout');
  return changed;
}

/** The client for all providers. The built-in one is started by its first request. */
export function createClients(options: {
  clock: Clock;
  ids: Ids;
  env: Record<string, string | undefined>;
  makeRoom?: () => void;
}): { client: ProviderClient; sim: ProviderConfig } {
  const { clock, ids, env, makeRoom } = options;
  const client = createProviderClient({ clock, env, makeRoom });
  let starting: Promise<Sim> | undefined;

  async function openSim(call: ProviderCall, cancellation: Cancellation): Promise<ProviderReply> {
    const { url, key } = await (starting ??= startSim({ clock, ids }));
    const headers = [...call.headers, 'authorization', `Bearer ${key}`];
    return client.open({ ...call, url: url + call.url.slice(SIM_URL.length), headers }, cancellation);
  }

  return {
    client: {
      open: (call, cancellation) =>
        call.url.startsWith(SIM_URL) ? openSim(call, cancellation) : client.open(call, cancellation),
      closeIdle: () => client.closeIdle(),
      async close() {
        await Promise.all([client.close(), starting?.then((sim) => sim.close())]);
      },
    },
    sim: builtinProvider(SIM_MODELS),
  };
}
