// The line in front of a provider with `max_concurrent`: as many requests as it may have are under way, the others wait in the order in
// which they came. Who leaves gives its place up.
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { LineConfig } from '../config/config.ts';
import { formatElapsed } from '../elapsed.ts';
import { plural } from '../plural.ts';

/** Gives the place to the next one. To be called once. */
export type Leave = () => void;

/** The line is full, or its wait is over: another target may be asked. */
export class TurnedAway extends Error {
  override readonly name = 'TurnedAway';
}

export interface Lines {
  /** A place at a provider; a promise where the request has to wait. Rejects with TurnedAway, or with the cancellation's reason; throws
   *  TurnedAway where the line is full. */
  enter(provider: { name: string; line: LineConfig }, cancellation: Cancellation): Leave | Promise<Leave>;
}

interface Line {
  /** The newest of the configuration. */
  most: number;
  underWay: number;
  /** In order of arrival. */
  waiting: Set<() => void>;
}

export function createLines(clock: Pick<Clock, 'after'>): Lines {
  const lines = new Map<string, Line>();

  function lineOf(name: string, { maxConcurrent: most }: LineConfig): Line {
    let line = lines.get(name);
    if (line === undefined) lines.set(name, (line = { most, underWay: 0, waiting: new Set() }));
    line.most = most;
    return line;
  }

  return {
    enter({ name, line: config }, cancellation) {
      const line = lineOf(name, config);
      admitWaiting(line);
      if (line.underWay < line.most) return placeIn(line);
      if (line.waiting.size < config.size) return waitIn(line, name, config, cancellation, clock);
      const waiting =
        config.size === 0 ? '' : `, and ${plural(config.size, 'more')} wait already (queue.size)`;
      throw new TurnedAway(
        `${name} has ${plural(line.underWay, 'request')} under way (max_concurrent)${waiting}`,
      );
    },
  };
}

function placeIn(line: Line): Leave {
  line.underWay += 1;
  let left = false;
  return () => {
    if (left) return;
    left = true;
    line.underWay -= 1;
    admitWaiting(line);
  };
}

function admitWaiting(line: Line): void {
  for (const admit of line.waiting) {
    if (line.underWay >= line.most) return;
    admit();
  }
}

function waitIn(
  line: Line,
  name: string,
  { wait }: LineConfig,
  cancellation: Cancellation,
  clock: Pick<Clock, 'after'>,
): Promise<Leave> {
  return new Promise((resolve, reject) => {
    const end = (tell: () => void): void => {
      line.waiting.delete(admit);
      cancellation.unsubscribe(gone);
      cancelTimer();
      tell();
    };
    const admit = (): void => end(() => resolve(placeIn(line)));
    const gone = (): void => end(() => reject(cancellation.reason ?? new Error('cancelled')));
    const late = (): void =>
      end(() => reject(new TurnedAway(`${name} had no place within ${formatElapsed(wait)} (queue.wait)`)));
    const cancelTimer = clock.after(wait, late);
    if (cancellation.reason !== undefined) return gone();
    cancellation.subscribe(gone);
    line.waiting.add(admit);
  });
}
