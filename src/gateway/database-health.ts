// Requests that are refused because the database fails: reported in the log, and by `/health`.
import type { Clock } from '../clock.ts';
import type { GatewayError } from '../errors.ts';
import type { Fields, Logger } from '../log.ts';
import { StoreError, type Store } from '../store/store.ts';

/** The log gets at most one line in this time. */
const LOG_EVERY_MS = 1000;
/** A full disk or a broken page fails some requests and no ping, so a failed request counts for this time. */
const FAILED_FOR_MS = 3000;

export interface DatabaseHealth {
  /** To be called with each refused request; counts it if the database is the cause of `error`. */
  refused(error: GatewayError, request: Fields): void;
  /** A lock of another program does not count: it delays requests, and ends. */
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
  let loggedAt = -Infinity;
  let unlogged = 0;
  let failedAt = -Infinity;

  return {
    refused({ options: { cause } }, request) {
      if (!(cause instanceof StoreError)) return;
      const now = clock.monotonic();
      if (cause.kind !== 'busy') failedAt = now;
      unlogged += 1;
      if (now - loggedAt < LOG_EVERY_MS) return;
      log.error('refused: the database cannot be used', {
        ...request,
        reason: cause.message,
        refused: unlogged,
      });
      loggedAt = now;
      unlogged = 0;
    },
    async isAway() {
      if (clock.monotonic() - failedAt < FAILED_FOR_MS) return true;
      try {
        await store.ping();
        return false;
      } catch (error) {
        return !(error instanceof StoreError && error.kind === 'busy');
      }
    },
  };
}
