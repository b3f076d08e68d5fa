// Notices of what requests suffer from: a target that is avoided for over a minute, a database that is away. Each once, until it is over.
import { isoTime, type Clock } from '../../clock.ts';
import type { Health } from '../../routing/state/health.ts';
import { unhealthyTargets } from '../health-publisher.ts';
import type { Emit } from './notice.ts';

const LONG_MS = 60_000;
/** A target that is tried again and fails again is avoided all the time. */
const GAP_MS = 5000;

/** In a row: a process that was stopped for a moment finds its database away once. */
const AWAY_CHECKS = 2;

const REASONS = {
  failing: 'its requests fail',
  cooling: 'it is rate limited or overloaded',
} as const;

/** To be called every second. */
export function createTargetNotices(deps: { health: Health; clock: Clock; emit: Emit }): () => void {
  const { health, clock, emit } = deps;
  const avoided = new Map<string, { since: number; last: number; isTold: boolean }>();
  return () => {
    const now = clock.monotonic();
    for (const { target, state, until } of unhealthyTargets(health, clock)) {
      const known = avoided.get(target) ?? { since: now, last: now, isTold: false };
      avoided.set(target, known);
      known.last = now;
      if (known.isTold || now - known.since <= LONG_MS) continue;
      known.isTold = true;
      const slash = target.indexOf('/');
      emit({
        event: 'target',
        provider: target.slice(0, slash),
        model: target.slice(slash + 1),
        until: isoTime(until),
        reason: REASONS[state],
        at: isoTime(clock.now()),
      });
    }
    for (const [target, { last }] of avoided) if (now - last > GAP_MS) avoided.delete(target);
  };
}

/** To be called every some seconds. */
export function createDatabaseNotices(deps: {
  database: { check(): Promise<'ok' | 'slow' | 'away'> };
  clock: Clock;
  emit: Emit;
}): () => Promise<void> {
  const { database, clock, emit } = deps;
  let checks = 0;
  return async () => {
    const state = await database.check();
    // A slow one may be either.
    if (state === 'slow') return;
    checks = state === 'away' ? checks + 1 : 0;
    if (checks === AWAY_CHECKS) emit({ event: 'database', at: isoTime(clock.now()) });
  };
}
