// Applies a changed configuration to a running gateway. Most settings take effect at once, some need a restart, and an invalid
// configuration changes nothing.
import { LOCAL, noted } from '../accounts/admin.ts';
import { listenAt, placeChanges, type Config } from '../config/config.ts';
import { reportFaults } from '../config/watch.ts';
import { silentLog } from '../log.ts';
import { loadPrices } from './housekeeping.ts';
import type { Parts } from './parts.ts';

/** Reads the changed file; an invalid one is reported and changes nothing. */
export async function applyChange(parts: Parts, reload: () => Promise<Config>): Promise<readonly string[]> {
  const { deps, state, admin, peers } = parts;
  const leads = peers?.leads !== false;
  const log = leads ? deps.log : silentLog;
  try {
    const before = state.config;
    const next = await reload();
    for (const setting of fixedSettings(before, next)) log.warn(`${setting} changes only with a restart`);
    const listen = listenAt(before.listen, next.listen);
    const { database, metrics, otlp } = before;
    state.config = { ...next, listen, database, metrics, otlp };
    deps.routing.update(state.config);
    const action = admin.configChanged();
    if (leads && action !== undefined)
      await noted(deps, { actor: 'configuration', address: LOCAL, action }, 200);
    await loadPrices(deps);
    log.info('the configuration was reloaded', { providers: state.config.providers.length });
    for (const warning of next.warnings) log.warn(warning);
    // Not awaited: a provider that is slow to list its models must not delay the next change.
    if (leads) parts.discovery.askAll();
    return [];
  } catch (error) {
    return reportFaults(error, log);
  }
}

/** Changed settings that take effect only with a restart. */
function fixedSettings(before: Config, after: Config): string[] {
  const changed = placeChanges(before, after);
  if (before.otlp !== after.otlp) changed.push('otlp');
  if (before.metrics?.accounts !== after.metrics?.accounts) changed.push('metrics');
  if (before.limits.headerTimeout !== after.limits.headerTimeout) changed.push('limits.header_timeout');
  if (before.limits.keepAlive !== after.limits.keepAlive) changed.push('limits.keep_alive');
  if (before.limits.requestTimeout !== after.limits.requestTimeout) changed.push('limits.request_timeout');
  return changed;
}
