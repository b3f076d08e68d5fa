// What the stations of the line are given: the parts of the program, put together in app.ts.
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Ids } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { ProviderClient } from '../providers/client.ts';
import type { Routing } from '../routing/routing.ts';
import type { SealedItems } from '../store/sealed-items.ts';
import type { Store } from '../store/store.ts';
import type { DatabaseHealth } from './database-health.ts';
import type { InFlightLimit } from './in-flight-limit.ts';
import type { Observer } from './trace.ts';

export interface GatewayDeps {
  /** The configuration as it is now: a request reads it once. */
  config: () => Config;
  store: Store;
  /** What accounts may ask for again, and what is sealed for them. */
  items: SealedItems;
  routing: Routing;
  /** Resolves when the local servers were looked for. */
  discovered: Promise<void>;
  client: ProviderClient;
  /** Called at the end of each admitted request, in this order. */
  observers: readonly Observer[];
  gate: InFlightLimit;
  database: DatabaseHealth;
  clock: Clock;
  ids: Ids;
  log: Logger;
}
