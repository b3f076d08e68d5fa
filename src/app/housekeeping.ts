// Work of a gateway beside requests: it asks for models, windows and prices, publishes health, and deletes old rows. Of several
// workers, the leader does it, and the others adopt its results.
import { hostname } from 'node:os';
import { HOUR_MS } from '../clock.ts';
import type { SharedBeginning } from '../conversations/beginnings.ts';
import type { SharedRequest } from '../conversations/misses/lanes.ts';
import type { GatewayDeps } from '../gateway/exchange.ts';
import { createHealthPublisher } from '../observe/health-publisher.ts';
import { createDatabaseNotices, createTargetNotices } from '../observe/notices/outages.ts';
import type { LastTarget } from '../routing/affinity.ts';
import type { SharedHealth } from '../routing/state/health.ts';
import type { Lesson } from '../routing/state/lessons.ts';
import { addLocalServers, type Found } from './discovery.ts';
import type { Parts, Peers, SharedTopic } from './parts.ts';

const DISCOVERY_EVERY_MS = 1000;
const HEALTH_EVERY_MS = 1000;
const SAMPLE_EVERY_MS = 1000;
const DATABASE_EVERY_MS = 6000;
/** Interval to read the spool files of other gateways in the data folder. */
const DRAIN_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = HOUR_MS;
/** With the time of a lease (store/holds), holds of a process that died are settled within a minute. */
const RELEASE_EVERY_MS = 10_000;
/** How long ended keys of `gateway run` are still listed. */
const ENDED_LEASES_KEEP_MS = 3 * 24 * HOUR_MS;
/** Audit rows older than this are deleted. */
const AUDIT_KEEP_MS = 400 * 24 * HOUR_MS;

/** Adopts values that other workers share. */
export function createAdopter({
  deps: { routing, beginnings, cacheMisses },
  admin,
}: Parts): Parameters<Peers['onShared']>[0] {
  const adopt = {
    health: (key, value) => routing.health.adopt(key, value as SharedHealth),
    keys: (id, value) => routing.keys.adopt(id, value as SharedHealth),
    lessons: (_, value) => routing.lessons.adopt(value as Lesson),
    affinity: (lane, value) => routing.affinity.adopt(lane, value as LastTarget),
    beginnings: (begun, value) => beginnings.adopt(begun, value as SharedBeginning),
    lanes: (_, value) => cacheMisses.adopt(value as SharedRequest),
    models: (key, value) => void routing.setDiscovered(key, value as string[]),
    windows: (key, value) => void routing.setWindows(key, value as Map<string, number>),
    local: (_, value) => addLocalServers(routing, value as Found),
    admin: () => admin.turnOn(),
  } satisfies Record<SharedTopic, (key: string, value: unknown) => void>;
  return (topic, key, value) => adopt[topic](key, value);
}

/** Resolves when windows and prices are known. */
export function startHousekeeping(parts: Parts, urls: readonly string[]): Promise<void> {
  const { routing, store, clock, log } = parts.deps;
  const { discovery, peers } = parts;
  /** Only the leader of several workers runs the task. */
  const once = (everyMs: number, task: () => Promise<void>, firstMs?: number): void =>
    repeat(everyMs, async () => (peers?.leads === false ? undefined : task()), parts, firstMs);
  const asked = discovery.ready.then(() => {
    once(DISCOVERY_EVERY_MS, () => discovery.askDue(), DISCOVERY_EVERY_MS);
    return peers?.leads === false ? undefined : discovery.askDue();
  });
  once(HEALTH_EVERY_MS, createHealthPublisher({ health: routing.health, store, clock, log }));
  const { emit } = parts.notices;
  const lookAtTargets = createTargetNotices({ health: routing.health, clock, emit });
  once(HEALTH_EVERY_MS, () => Promise.resolve(lookAtTargets()));
  repeat(SAMPLE_EVERY_MS, () => Promise.resolve(parts.live.sample()), parts, SAMPLE_EVERY_MS);
  const lookAtDatabase = createDatabaseNotices({ database: parts.deps.database, clock, emit });
  once(DATABASE_EVERY_MS, lookAtDatabase, DATABASE_EVERY_MS);
  repeat(DRAIN_EVERY_MS, () => parts.spool.drain(), parts);
  const release = async (): Promise<void> => {
    const holds = await store.releaseDead();
    if (holds > 0) log.warn('holds of a process that is gone were settled as estimated', { holds });
  };
  store.serveAt(`${hostname()} ${urls.join(' ')}`);
  // What this process replaces has left its holds: every worker looks, then the leader alone.
  void release().catch((error: unknown) =>
    log.warn('holds could not be released', { reason: String(error) }),
  );
  once(RELEASE_EVERY_MS, release, RELEASE_EVERY_MS);
  once(PRUNE_EVERY_MS, () => store.prune(clock.now(), parts.state.config.usage.keep));
  once(PRUNE_EVERY_MS, () => store.pruneItems(clock.now()));
  once(PRUNE_EVERY_MS, () => store.pruneKeys(clock.now() - ENDED_LEASES_KEEP_MS));
  once(PRUNE_EVERY_MS, () => store.pruneSignIns(clock.now()));
  once(PRUNE_EVERY_MS, () => store.pruneAudit(clock.now() - AUDIT_KEEP_MS));
  peers?.onLead(() => void discovery.ready.then(() => discovery.askAll()));
  return Promise.all([asked, loadPrices(parts.deps)]).then(() => undefined);
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

/** If prices cannot be read, the gateway serves without them, and costs are unknown. */
export async function loadPrices({ routing, log }: GatewayDeps): Promise<void> {
  try {
    await routing.loadPrices();
  } catch (error) {
    log.warn('prices could not be read: costs stay unknown', { reason: String(error) });
  }
}
