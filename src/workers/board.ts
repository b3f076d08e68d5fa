// Values that workers share (health, models, windows), stored for workers that start later.
import type { Clock } from '../clock.ts';
import type { SharedHealth } from '../routing/health.ts';
import type { Shared } from './channel.ts';

interface Board {
  set(shared: Shared): void;
  remove(topic: Shared['topic']): void;
  values(): Shared[];
}

/** Clients may send any name to some providers, so targets can be many. */
const MOST_VALUES = 4096;

export function createBoard(clock: Clock): Board {
  const known = new Map<string, { shared: Shared; at: number }>();
  return {
    set(shared) {
      const key = `${shared.topic} ${shared.key}`;
      known.delete(key);
      known.set(key, { shared, at: clock.monotonic() });
      if (known.size <= MOST_VALUES) return;
      for (const oldest of known.keys()) {
        known.delete(oldest);
        return;
      }
    },
    remove(topic) {
      for (const [key, { shared }] of known) if (shared.topic === topic) known.delete(key);
    },
    values: () => [...known.values()].map(({ shared, at }) => aged(shared, clock.monotonic() - at)),
  };
}

/** Subtracts the time since the value was set from its pauses. */
function aged(shared: Shared, ms: number): Shared {
  if (shared.topic !== 'health') return shared;
  const health = shared.value as SharedHealth;
  const left = (time: number): number => Math.max(time - ms, 0);
  return { ...shared, value: { ...health, openMs: left(health.openMs), coolMs: left(health.coolMs) } };
}
