// Requests that are refused because the database fails: reported in the log, and by `/health`.
import type { Clock } from '../clock.ts';
import type { GatewayError } from '../errors.ts';
import type { Fields, Logger } from '../log.ts';
import { StoreError, type Store } from '../store/store.ts';

/** The log gets at most one line in this time. */
const LOG_EVERY_MS = 1000;
/** A full disk or a broken page fails some requests and no ping, so a failed request counts for this time. */
const FAILED_FOR_MS = 3000;
/** Whoever asks for `/health` takes a late answer for none: half a second is common. */
const ANSWER_MS = 300;
/** As long as requests wait for the database; then they are refused. */
const STALLED_MS = 2000;

/** `slow`: it has not answered yet; requests wait for it. */
type DatabaseState = 'ok' | 'slow' | 'away';

export interface DatabaseHealth {
  /** To be called with each refused request; counts it if the database is the cause of `error`. */
  refused(error: GatewayError, request: Fields): void;
  /** Resolves within half a second, whatever the database does. A lock of another program does not count: it delays requests, and ends. */
  check(): Promise<DatabaseState>;
}

export function createDatabaseHealth({
  store,
  clock,
  log,
}: {
  store: Pick<Store, 'ping'>;
  clock: Clock;
  log: Pick<Logger, 'error'>;
}): DatabaseHealth {
  let loggedAt = -Infinity;
  let unlogged = 0;
  let failedAt = -Infinity;
  /** One ping at a time. */
  let pinging: { since: number; done: Promise<DatabaseState> } | undefined;

  async function ping(): Promise<DatabaseState> {
    try {
      await store.ping();
      return 'ok';
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'busy') return 'ok';
      failedAt = clock.monotonic();
      return 'away';
    } finally {
      pinging = undefined;
    }
  }

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
    async check() {
      if (clock.monotonic() - failedAt < FAILED_FOR_MS) return 'away';
      const { since, done } = (pinging ??= { since: clock.monotonic(), done: ping() });
      return new Promise((resolve) => {
        const cancel = clock.after(ANSWER_MS, () =>
          resolve(clock.monotonic() - since < STALLED_MS ? 'slow' : 'away'),
        );
        void done.then((state) => {
          cancel();
          resolve(state);
        });
      });
    },
  };
}
