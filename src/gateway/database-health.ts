// Requests that are refused for the sake of the database: the log says why, and `/health` that it is away.
import type { Clock } from '../clock.ts';
import type { GatewayError } from '../errors.ts';
import type { Fields, Logger } from '../log.ts';
import { StoreError, type Store } from '../store/store.ts';

/** At most one line in so long. */
const SAY_EVERY_MS = 1000;
/** A full disk or a broken page is met by some requests and not by a mere look: the last one counts for so long. */
const BELIEVED_MS = 3000;

export interface DatabaseHealth {
  /** A request was refused with `error`: noted where the database is its cause. */
  refused(error: GatewayError, request: Fields): void;
  /** A lock of another program is no absence: it delays requests, and ends. */
  isAway(): Promise<boolean>;
}

export function createDatabaseHealth({
  store,
  clock,
  log,
}: {
  store: Store;
  clock: Clock;
  log: Pick<Logger, 'error'>;
}): DatabaseHealth {
  let saidAt = -Infinity;
  let unsaid = 0;
  let failedAt = -Infinity;

  return {
    refused({ options: { cause } }, request) {
      if (!(cause instanceof StoreError)) return;
      const now = clock.monotonic();
      if (cause.kind !== 'busy') failedAt = now;
      unsaid += 1;
      if (now - saidAt < SAY_EVERY_MS) return;
      log.error('refused: the database cannot be used', {
        ...request,
        reason: cause.message,
        refused: unsaid,
      });
      saidAt = now;
      unsaid = 0;
    },
    async isAway() {
      if (clock.monotonic() - failedAt < BELIEVED_MS) return true;
      try {
        await store.ping();
        return false;
      } catch (error) {
        return !(error instanceof StoreError && error.kind === 'busy');
      }
    },
  };
}
