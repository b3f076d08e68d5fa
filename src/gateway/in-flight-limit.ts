// Counts requests in flight, and refuses new ones during overload, maintenance and shutdown.
import type { Config } from '../config/config.ts';
import { GatewayError } from '../errors.ts';
import { plural } from '../plural.ts';

export interface InFlightLimit {
  /**
   * Counts a request, or throws 503. The returned function must be called once, when the request is over. A request that
   * `arrivedInTime`, before `close`, is not refused for the shutdown: behind a proxy, a restart would not be free of failures.
   */
  enter(config: Config, arrivedInTime: boolean): () => void;
  readonly inFlight: number;
  /** Refuses requests that arrive from now on; resolves when none is in flight. */
  close(): Promise<void>;
  readonly closed: boolean;
}

export function shuttingDown(): GatewayError {
  return new GatewayError('unavailable', 'the gateway is shutting down', { retryAfter: 5 });
}

export function createInFlightLimit(): InFlightLimit {
  let inFlight = 0;
  let closed = false;
  let onEmpty = (): void => undefined;
  return {
    enter(config, arrivedInTime) {
      if (closed && !arrivedInTime) throw shuttingDown();
      if (config.maintenance) {
        throw new GatewayError('unavailable', 'the gateway is in maintenance', { retryAfter: 60 });
      }
      if (inFlight >= config.limits.maxConcurrent) {
        const message = `the gateway serves ${plural(inFlight, 'request')} at once already (limits.max_concurrent)`;
        throw new GatewayError('unavailable', message, { retryAfter: 1 });
      }
      inFlight += 1;
      return () => {
        inFlight -= 1;
        if (inFlight === 0) onEmpty();
      };
    },
    get inFlight() {
      return inFlight;
    },
    close() {
      closed = true;
      return new Promise((resolve) => {
        onEmpty = resolve;
        if (inFlight === 0) resolve();
      });
    },
    get closed() {
      return closed;
    },
  };
}
