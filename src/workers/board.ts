// Values that workers share (health, models, conversations), stored for workers that start later.
import type { Clock } from '../clock.ts';
import type { SharedHealth } from '../routing/state/health.ts';
import type { Shared } from './channel.ts';

interface Board {
  set(shared: Shared): void;
  /** The values of a topic, or those whose key passes `test`. */
  remove(topic: Shared['topic'], test?: (key: string) => boolean): void;
  values(): Shared[];
}

/** Of a topic: clients may send any name to some providers, so targets can be many, and conversations are. */
const MOST_VALUES = 4096;

export function createBoard(clock: Clock): Board {
  type Known = Map<string, { shared: Shared; at: number }>;
  const topics = new Map<Shared['topic'], Known>();
  return {
    set(shared) {
      const known = topics.get(shared.topic) ?? (new Map() as Known);
      topics.set(shared.topic, known);
      known.delete(shared.key);
      known.set(shared.key, { shared, at: clock.monotonic() });
      if (known.size <= MOST_VALUES) return;
      for (const oldest of known.keys()) {
        known.delete(oldest);
        return;
      }
    },
    remove(topic, test = () => true) {
      const known = topics.get(topic);
      for (const key of known?.keys() ?? []) if (test(key)) known?.delete(key);
    },
    values: () =>
      [...topics.values()].flatMap((known) =>
        Array.from(known.values(), ({ shared, at }) => aged(shared, clock.monotonic() - at)),
      ),
  };
}

/** Subtracts the time since the value was set from its pauses. */
function aged(shared: Shared, ms: number): Shared {
  if (shared.topic !== 'health' && shared.topic !== 'keys') return shared;
  const health = shared.value as SharedHealth;
  const left = (time: number): number => Math.max(time - ms, 0);
  return { ...shared, value: { ...health, openMs: left(health.openMs), coolMs: left(health.coolMs) } };
}
