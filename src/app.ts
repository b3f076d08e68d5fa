// The composition root: the only file that knows all parts, and the order in which they start and end.
import type { Cancellation } from './cancellation.ts';
import { HOUR_MS, type Clock } from './clock.ts';
import type { Config, ProviderConfig } from './config/config.ts';
import { LOCAL_CANDIDATES, simProvider } from './config/providers.ts';
import { watchConfig } from './config/watch.ts';
import { createDatabaseHealth } from './gateway/database-health.ts';
import { createInFlightLimit } from './gateway/in-flight-limit.ts';
import type { GatewayDeps } from './gateway/exchange.ts';
import { createHealthPublisher } from './observe/health-publisher.ts';
import { createRequestLog } from './observe/request-log.ts';
import { createItemRecorder } from './observe/item-recorder.ts';
import { createUsageRecorder } from './observe/usage-recorder.ts';
import type { Ids } from './ids.ts';
import type { Logger } from './log.ts';
import { createProviderClient, type ProviderClient } from './providers/client.ts';
import { listModels, probeLocal } from './providers/discover.ts';
import type { Call, ProviderReply } from './providers/exchange.ts';
import { createRouting } from './routing/routing.ts';
import { createGatewayServer } from './server/server.ts';
import { SIM_MODELS, startSim, type Sim } from './sim/sim.ts';
import { createSealedItems } from './store/sealed-items.ts';
import type { Store } from './store/store.ts';

interface AppOptions {
  config: Config;
  /** Reads the configuration anew; rejects where it is invalid. */
  reload: () => Promise<Config>;
  store: Store;
  log: Logger;
  clock: Clock;
  ids: Ids;
  env?: Record<string, string | undefined>;
}

export interface App {
  /** One for each host that is served: `http://127.0.0.1:8787`. */
  urls: string[];
  port: number;
  /** What a user should know: a host that the machine lacks. */
  notes: string[];
  /** The providers as they are known now. */
  readonly providers: readonly ProviderConfig[];
  /** Requests that `stop` would wait for, and how long. */
  readonly underWay: { requests: number; graceMs: number };
  /** Resolves when the local servers were looked for, 300 ms at most. */
  ready: Promise<void>;
  /** Lets streams finish within `limits.shutdown_grace`. Gives the number of usage rows that could not be written. */
  stop(): Promise<number>;
  kill(): void;
}

const PROBE_MS = 300;
const LIST_MS = 10_000;
const LIST_EVERY_MS = 10 * 60_000;
const HEALTH_EVERY_MS = 1000;
const PRUNE_EVERY_MS = HOUR_MS;

/** Rejects where a host can't be listened on. */
export async function startApp(options: AppOptions): Promise<App> {
  const { store, log, clock, ids, env = process.env } = options;
  let config = options.config;
  const { client, sim } = createClients({ clock, ids, env, makeRoom: () => server.makeRoom() });
  const routing = createRouting({ config, clock });
  routing.addProviders([sim]);
  const usage = createUsageRecorder({ store, clock, log });
  const gate = createInFlightLimit();
  const database = createDatabaseHealth({ store, clock, log });
  let cancelled = false;

  async function discover(): Promise<void> {
    if (config.file !== null) return;
    const found = await probeLocal(client, LOCAL_CANDIDATES, { timeoutMs: PROBE_MS });
    routing.addProviders(found.map(({ provider }) => provider));
    for (const { provider, models } of found) routing.setDiscovered(provider.name, models);
  }

  /** Names of providers that list none in the file: asked at the start and every ten minutes. */
  async function refreshLists(): Promise<void> {
    const unlisted = routing
      .providers()
      .filter(({ models, source }) => models === null && source !== 'builtin');
    await Promise.all(
      unlisted.map(async (provider) => {
        try {
          routing.setDiscovered(provider.name, await listModels(client, provider, { timeoutMs: LIST_MS }));
        } catch (error) {
          log.warn('the models of a provider could not be listed', {
            provider: provider.name,
            reason: String(error),
          });
        }
      }),
    );
  }

  /** Without them the gateway serves all the same: costs are unknown then. */
  async function loadFacts(): Promise<void> {
    try {
      await routing.loadFacts();
    } catch (error) {
      log.warn('prices could not be read: costs stay unknown', { reason: String(error) });
    }
  }

  const items = createSealedItems({
    store,
    keyFile: `${store.location}.key`,
    keepMs: () => config.responses.keep,
    clock,
    log,
  });
  const discovered = discover();
  const deps: GatewayDeps = {
    config: () => config,
    observers: [usage, createRequestLog(log), createItemRecorder(items, () => config.responses.store)],
    store,
    items,
    routing,
    discovered,
    client,
    gate,
    database,
    clock,
    ids,
    log,
  };
  const server = createGatewayServer(deps);

  async function release(): Promise<number> {
    cancelled = true;
    const [unwritten] = await Promise.all([usage.flush(), items.flush()]);
    await client.close();
    return unwritten;
  }

  let listening;
  try {
    listening = await server.listen();
  } catch (error) {
    server.kill();
    await release();
    throw error;
  }

  function repeat(everyMs: number, task: () => Promise<void>): void {
    const run = (): void => {
      if (cancelled) return;
      void task().catch((error: unknown) => log.warn('housekeeping failed', { reason: String(error) }));
      clock.after(everyMs, run);
    };
    run();
  }
  void discovered.then(() => repeat(LIST_EVERY_MS, refreshLists));
  repeat(HEALTH_EVERY_MS, createHealthPublisher({ health: routing.health, store, clock, log }));
  repeat(PRUNE_EVERY_MS, () => store.prune(clock.now(), config.usage.keep));
  repeat(PRUNE_EVERY_MS, () => store.pruneItems(clock.now()));
  void loadFacts();

  async function applyReload(): Promise<void> {
    try {
      const next = await options.reload();
      for (const fixed of unchangeable(config, next)) log.warn(`${fixed} changes only with a restart`);
      config = { ...next, listen: { ...config.listen, names: next.listen.names }, database: config.database };
      routing.update(config);
      await loadFacts();
      log.info('the configuration was read anew', { providers: config.providers.length });
      for (const warning of next.warnings) log.warn(warning);
      // Not waited for: a provider that is slow to tell must not hold the next change back.
      void refreshLists();
    } catch (error) {
      const faults = (error as { faults?: string[] }).faults ?? [String(error)];
      for (const fault of faults) log.error(`the changed configuration is not used: ${fault}`);
    }
  }
  const sayGone = (): void =>
    log.warn('the configuration file is gone: what it said last stays in effect, until the gateway ends', {
      file: config.file,
    });
  const watcher =
    config.file === null
      ? undefined
      : watchConfig({ file: config.file, reload: applyReload, gone: sayGone, clock });

  const { hosts, port, skipped } = listening;
  return {
    urls: hosts.map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`),
    port,
    notes: skipped.map((host) => `this machine has no ${host}; it is not listened on`),
    get providers() {
      return routing.providers();
    },
    get underWay() {
      return { requests: gate.inFlight, graceMs: config.limits.shutdownGrace };
    },
    ready: discovered,
    async stop() {
      watcher?.close();
      await server.stop(config.limits.shutdownGrace);
      const unwritten = await release();
      if (unwritten > 0) log.error('usage rows are lost: they could not be written', { rows: unwritten });
      return unwritten;
    },
    kill() {
      cancelled = true;
      watcher?.close();
      server.kill();
    },
  };
}

/** What a running server can't take from a changed file. */
function unchangeable(before: Config, after: Config): string[] {
  const changed: string[] = [];
  if (before.listen.hosts.join() !== after.listen.hosts.join()) changed.push('listen.hosts');
  if (before.listen.port !== after.listen.port) changed.push('listen.port');
  if (before.database !== after.database) changed.push('database');
  if (before.limits.headerTimeout !== after.limits.headerTimeout) changed.push('limits.header_timeout');
  if (before.limits.requestTimeout !== after.limits.requestTimeout) changed.push('limits.request_timeout');
  return changed;
}

/** Of the built-in provider, in place of a port that it has only once it was asked. */
const SIM_URL = 'http://127.0.0.1:0';

/** The way to all providers, and the built-in one among them, which is started by its first request. */
export function createClients(options: {
  clock: Clock;
  ids: Ids;
  env: Record<string, string | undefined>;
  makeRoom?: () => void;
}): { client: ProviderClient; sim: ProviderConfig } {
  const { clock, ids, env, makeRoom } = options;
  const client = createProviderClient({ clock, env, makeRoom });
  let starting: Promise<Sim> | undefined;

  async function openSim(call: Call, cancellation: Cancellation): Promise<ProviderReply> {
    const { url, key } = await (starting ??= startSim({ clock, ids }));
    const headers = [...call.headers, 'authorization', `Bearer ${key}`];
    return client.open({ ...call, url: url + call.url.slice(SIM_URL.length), headers }, cancellation);
  }

  const models = SIM_MODELS.map((id) => ({ id, upstream: id }));
  const base = `${SIM_URL}/v1`;
  return {
    client: {
      open: (call, cancellation) =>
        call.url.startsWith(SIM_URL) ? openSim(call, cancellation) : client.open(call, cancellation),
      closeIdle: () => client.closeIdle(),
      async close() {
        await Promise.all([client.close(), starting?.then((sim) => sim.close())]);
      },
    },
    sim: { ...simProvider(models), baseUrls: { chat: base, messages: base } },
  };
}
