// Reports which targets are failing or cooling: to the log at each change, and to the store for `gateway models`.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { withoutKeys } from '../ids.ts';
import type { Health } from '../routing/state/health.ts';
import type { TargetHealth, HealthStore } from '../store/store.ts';

/** A published open breaker is valid for this time, and published again before it ends. */
const VALID_MS = 60_000;

/** The targets that requests avoid now. */
export function unhealthyTargets(health: Health, clock: Clock): TargetHealth[] {
  return health.states().flatMap(([key, { breaker, coolingMs }]): TargetHealth[] => {
    const target = withoutKeys(key);
    if (breaker !== 'closed') return [{ target, state: 'failing', until: clock.now() + VALID_MS }];
    return coolingMs > 0 ? [{ target, state: 'cooling', until: Math.ceil(clock.now() + coolingMs) }] : [];
  });
}

/** The returned function compares the current health with what was published last, and publishes the difference. */
export function createHealthPublisher(deps: {
  health: Health;
  store: HealthStore;
  clock: Clock;
  log: Logger;
}): () => Promise<void> {
  const { health, store, clock, log } = deps;
  const published = new Map<string, TargetHealth>();

  function isChanged(next: TargetHealth): boolean {
    const last = published.get(next.target);
    return last === undefined || last.state !== next.state || next.until - last.until > VALID_MS / 2;
  }

  return async () => {
    const now = new Map(unhealthyTargets(health, clock).map((target) => [target.target, target]));
    const changed = [...now.values()].filter(isChanged);
    const healthy = [...published.keys()].filter((target) => !now.has(target));
    if (changed.length === 0 && healthy.length === 0) return;
    for (const { target, state } of changed) {
      if (published.get(target)?.state !== state) log.warn('a target is unhealthy', { target, state });
    }
    for (const target of healthy) log.info('a target is healthy again', { target });
    for (const next of changed) published.set(next.target, next);
    for (const target of healthy) published.delete(target);
    await store.publishHealth(changed, healthy);
  };
}
