// The parts of one gateway that app.ts creates, what they learn from other workers of the same gateway, and the client for all
// providers.
import type { AdminDoor, createAdminDoor } from '../admin/door.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import type { GatewayDeps, Recording } from '../gateway/exchange.ts';
import type { Observer } from '../gateway/trace.ts';
import type { Live } from '../observe/live.ts';
import type { Alerts } from '../observe/notices/alerts.ts';
import type { LimitNotices } from '../observe/notices/limit-notices.ts';
import type { Emit } from '../observe/notices/notice.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { TraceExporter } from '../observe/traces.ts';
import type { UsageRecorder } from '../observe/records.ts';
import type { RefusalRecorder } from '../observe/refusals.ts';
import type { GatewayServer } from '../server/server.ts';
import type { Repeats } from '../repeats.ts';
import type { Store } from '../store/store.ts';
import type { UsageSpool } from '../store/usage-spool.ts';
import type { Clock } from '../clock.ts';
import { builtinProvider, SIM_URL } from '../config/providers.ts';
import { TAPE_URL } from '../config/provider/tape.ts';
import type { Ids } from '../ids.ts';
import type { Discovery } from './discovery.ts';
import { startingProvider } from '../providers/authorizer.ts';
import { createProviderClient, type ProviderClient } from '../providers/client.ts';
import { SIM_MODELS } from '../canonical/sim-models.ts';
import { startSim } from '../sim/sim.ts';
import type { Environment } from '../environment.ts';

export type AdminOptions = Parameters<typeof createAdminDoor>[0];

/** Values that one worker finds and all workers use: the health of a target and of its keys, what its refusals taught, where and when conversations go on, the models and windows of a provider, the local
 *  servers, whether the admin API was turned on. */
export type SharedTopic =
  | 'health'
  | 'keys'
  | 'lessons'
  | 'affinity'
  | 'beginnings'
  | 'lanes'
  | 'models'
  | 'windows'
  | 'local'
  | 'admin';

/** The other workers of a gateway, for one of them. */
export interface Peers {
  /** Sends the value of a key to the other workers, and to those that start later. */
  share(topic: SharedTopic, key: string, value: unknown): void;
  /** Sets the listener for values of the others; it also gets earlier values. */
  onShared(listener: (topic: SharedTopic, key: string, value: unknown) => void): void;
  /** Whether this worker is the leader, which works for all: it asks providers for their models, publishes health, prunes. */
  readonly leads: boolean;
  /** Sets the listener that is called when this worker becomes the leader. */
  onLead(listener: () => void): void;
  /** The live view of all workers. */
  live: AdminOptions['live'];
  sessions: NonNullable<AdminOptions['sessions']>;
  /** What was asked under which Idempotency-Key, of all workers. */
  repeats: Repeats;
  /** The page of metrics of all workers. */
  readMetrics(): Promise<string>;
  /** In all workers. */
  resetTargets: AdminOptions['resetTargets'];
}

/** What a gateway says about itself when it serves; it crosses the channel between two processes. */
export interface Served {
  /** One for each host: `http://127.0.0.1:8787`. */
  urls: string[];
  /** The path that a client of each protocol adds to a URL. */
  endpoints: { name: string; base: string }[];
  /** Notes for the user: hosts that this machine does not have. */
  notes: string[];
  /** The providers that are known now. */
  readonly providers: readonly ProviderConfig[];
}

/** All parts of one gateway, and what changes while it runs. */
export interface Parts {
  deps: GatewayDeps & { store: Store };
  server: GatewayServer;
  admin: AdminDoor;
  usage: UsageRecorder;
  refusals: RefusalRecorder;
  spool: UsageSpool;
  traces: TraceExporter | undefined;
  live: Live;
  notices: { limits: LimitNotices; alerts: Alerts; emit: Emit };
  /** The metrics of this process alone. */
  metrics: Metrics | undefined;
  discovery: Discovery;
  peers: Peers | undefined;
  state: { config: Config; stopped: boolean };
}

/** Sees the requests of one process, and what its gateway asks of providers for them. */
export interface GatewayRecorder extends Recording {
  observer: Observer;
  wrap(client: ProviderClient): ProviderClient;
}

/** One client for all providers: those of the configuration, and the simulated one inside this process. */
export function createClients(options: {
  clock: Clock;
  ids: Ids;
  env: Environment;
  makeRoom?: () => void;
  recorder?: GatewayRecorder | undefined;
}): {
  client: ProviderClient;
  sim: ProviderConfig;
} {
  const { clock, ids } = options;
  const authorizer = startingProvider(SIM_URL, () => startSim({ clock, ids }));
  const client = createProviderClient({ ...options, authorizer, tapes: tapesOf(options) });
  return { client: options.recorder?.wrap(client) ?? client, sim: builtinProvider(SIM_MODELS) };
}

/** Loads what plays tapes at the first request to one. */
function tapesOf(options: {
  clock: Clock;
  env: Environment;
}): Pick<ProviderClient, 'open'> & { baseUrl: string } {
  let loading: Promise<ProviderClient['open']> | undefined;
  return {
    baseUrl: TAPE_URL,
    async open(call, cancellation) {
      loading ??= import('../tapes/replay/client.ts').then(({ createTapeClient }) =>
        createTapeClient(options),
      );
      return (await loading)(call, cancellation);
    },
  };
}
