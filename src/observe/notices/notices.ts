// All notices of a process: each goes to the log, to the live stream and to the receiver of alerts.
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../log.ts';
import type { ProviderClient } from '../../providers/client.ts';
import type { Store } from '../../store/store.ts';
import { type Alerts, createAlerts } from './alerts.ts';
import { createLimitNotices, type LimitNotices } from './limit-notices.ts';
import { type Emit, logNotice } from './notice.ts';

export function createNotices(parts: {
  client: Pick<ProviderClient, 'open'>;
  store: Pick<Store, 'standings' | 'claimNotice'>;
  clock: Clock;
  log: Logger;
  live: { noticed: Emit };
  state: { readonly config: Config };
}): { limits: LimitNotices; alerts: Alerts; emit: Emit } {
  const { client, store, clock, log, live, state } = parts;
  const alerts = createAlerts({ client, clock, log, to: () => state.config.alerts });
  const emit: Emit = (notice) => {
    logNotice(notice, log);
    live.noticed(notice);
    alerts.send(notice);
  };
  const limits = createLimitNotices({ store, clock, tiers: () => state.config.tiers, emit });
  return { limits, alerts, emit };
}
