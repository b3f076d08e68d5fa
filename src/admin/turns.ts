// Whose report is made next. One is made at a time, so that many askers do not take all processors and all memory. Programs with a
// token stand in line, each with two at most; the page goes before them, so it waits for one report of others and no longer.
import type { Cancellation } from '../cancellation.ts';
import type { Caller } from './authenticate.ts';
import { Problem } from './reply.ts';

/** Of one token: the report that is made, and those that wait. */
const MOST_OF_TOKEN = 2;

export type Asker = Pick<Caller, 'id' | 'session'>;

export interface Turns {
  /** Runs `task` when its turn comes. Rejects with Problem 429, with the reason of the cancellation, and as the task does. */
  take<Result>(asker: Asker, cancellation: Cancellation, task: () => Promise<Result>): Promise<Result>;
}

interface Waiting {
  asker: Asker;
  begin: () => void;
}

export function createTurns(): Turns {
  const waiting: Waiting[] = [];
  let current: Asker | undefined;

  function next(): void {
    const ofPage = waiting.findIndex(({ asker }) => asker.session !== undefined);
    const [first] = waiting.splice(Math.max(ofPage, 0), 1);
    current = first?.asker;
    first?.begin();
  }

  /** Resolves when it is the asker's turn. */
  function turn(asker: Asker, cancellation: Cancellation): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(cancellation.reason ?? new Error('cancelled'));
      };
      const begin = (): void => {
        cancellation.unsubscribe(leave);
        resolve();
      };
      const entry = { asker, begin };
      waiting.push(entry);
      cancellation.subscribe(leave);
      if (current === undefined) next();
    });
  }

  return {
    async take(asker, cancellation, task) {
      if (cancellation.reason !== undefined) throw cancellation.reason;
      const own = [current, ...waiting.map(({ asker }) => asker)].filter((other) => other?.id === asker.id);
      if (asker.session === undefined && own.length >= MOST_OF_TOKEN) throw tooMany();
      await turn(asker, cancellation);
      try {
        return await task();
      } finally {
        next();
      }
    },
  };
}

function tooMany(): Problem {
  const detail = `this token waits for ${MOST_OF_TOKEN} reports already; ask again when one has arrived`;
  return new Problem(429, 'too_many_reports', detail, { headers: ['retry-after', '1'] });
}
