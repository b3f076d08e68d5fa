// How many requests the gateway serves at once, and that a gateway which shuts down takes no new ones.
import { GatewayError } from '../errors.ts';
import { plural } from '../plural.ts';
import type { InFlightLimit } from './exchange.ts';

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
