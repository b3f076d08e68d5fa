// Work of a gateway beside requests: it asks for models, windows and prices, publishes health, and deletes old rows. Of several
// workers, the leader does it, and the others adopt its results.
import { HOUR_MS } from '../clock.ts';
import type { ProviderConfig } from '../config/config.ts';
import { LOCAL_CANDIDATES } from '../config/providers.ts';
import type { GatewayDeps } from '../gateway/exchange.ts';
import { createHealthPublisher } from '../observe/health-publisher.ts';
import { listModels, MOST_MODELS, probeLocal, readWindows } from '../providers/discover.ts';
import type { Logger } from '../log.ts';
import type { SharedHealth } from '../routing/health.ts';
import type { Routing } from '../routing/routing.ts';
import type { Parts, Peers, SharedTopic } from './parts.ts';

const PROBE_MS = 300;
const LIST_MS = 10_000;
const LIST_EVERY_MS = 10 * 60_000;
const WINDOWS_MS = 1000;
/** Repeated, because a local server loads its model at the first request. */
const WINDOWS_EVERY_MS = 60_000;
const HEALTH_EVERY_MS = 1000;
/** Interval to read the spool files of other gateways in the data folder. */
const DRAIN_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = HOUR_MS;
/** Age at which audit rows are deleted. */
const AUDIT_KEEP_MS = 400 * 24 * HOUR_MS;

type Found = Awaited<ReturnType<typeof probeLocal>>;

/** Adopts values that other workers share. */
export function createAdopter({ deps: { routing }, admin }: Parts): Parameters<Peers['onShared']>[0] {
  const adopt = {
    health: (key, value) => routing.health.adopt(key, value as SharedHealth),
    models: (key, value) => routing.setDiscovered(key, value as string[]),
    windows: (key, value) => routing.setWindows(key, value as Map<string, number>),
    local: (_, value) => addLocalServers(routing, value as Found),
    admin: () => admin.turnOn(),
  } satisfies Record<SharedTopic, (key: string, value: unknown) => void>;
  return (topic, key, value) => adopt[topic](key, value);
}

/** Without a configuration file, model servers on their usual ports are providers, too. The leader looks for them; the other workers
 *  get its result, perhaps a moment after they begin to serve. */
export async function findLocalServers(
  { client, routing, clock, log }: Pick<GatewayDeps, 'client' | 'routing' | 'clock' | 'log'>,
  peers: Peers | undefined,
): Promise<void> {
  if (peers?.leads === false) return new Promise((resolve) => void clock.after(PROBE_MS, resolve));
  const found = await probeLocal(client, LOCAL_CANDIDATES, { timeoutMs: PROBE_MS });
  for (const { provider, more } of found) if (more) warnOfMore(log, provider);
  peers?.share('local', 'all', found);
  addLocalServers(routing, found);
}

function addLocalServers(routing: Routing, found: Found): void {
  routing.addProviders(found.map(({ provider }) => provider));
  for (const { provider, models } of found) routing.setDiscovered(provider.name, models);
}

/** Resolves when windows and prices are known. */
export function startHousekeeping(parts: Parts): Promise<void> {
  const { routing, store, clock, log, discovered } = parts.deps;
  const { peers } = parts;
  /** Only the leader of several workers runs the task. */
  const once = (everyMs: number, task: () => Promise<void>, firstMs?: number): void =>
    repeat(everyMs, async () => (peers?.leads === false ? undefined : task()), parts, firstMs);
  void discovered.then(() => {
    parts.deps.searched = true;
    once(LIST_EVERY_MS, () => refreshModelLists(parts));
  });
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

/** Asks the servers of this machine for the windows of their models. */
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

function warnOfMore(log: Logger, { name }: ProviderConfig): void {
  log.warn('a provider lists more models than are kept; any other is asked for as provider/NAME', {
    provider: name,
    kept: MOST_MODELS,
  });
}

/** Asks each provider that has no list of models in the file for its list. */
export async function refreshModelLists({ deps: { client, routing, log }, peers }: Parts): Promise<void> {
  const unlisted = routing
    .providers()
    .filter(({ models, source }) => models === null && source !== 'builtin');
  await Promise.all(
    unlisted.map(async (provider) => {
      try {
        const { models, more } = await listModels(client, provider, { timeoutMs: LIST_MS });
        // Said once, not at every reading.
        if (more && routing.modelsOf(provider).length < MOST_MODELS) warnOfMore(log, provider);
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

/** If prices cannot be read, the gateway serves without them, and costs are unknown. */
export async function loadPrices({ routing, log }: GatewayDeps): Promise<void> {
  try {
    await routing.loadPrices();
  } catch (error) {
    log.warn('prices could not be read: costs stay unknown', { reason: String(error) });
  }
}
