// Lets the admin API ask as a key: its request takes the line of all requests, and is recorded and refused as they are.
import type { AdminOptions } from './parts.ts';
import type { GatewayDeps } from '../gateway/exchange.ts';
import { ownArrival } from '../gateway/inbound/read-request.ts';
import { infer } from '../gateway/inference.ts';
import { protocols } from '../protocols/registry.ts';
import { refuse } from '../server/bad-request.ts';

export const askAsKey =
  (deps: GatewayDeps): AdminOptions['askAsKey'] =>
  async (name, exchange, finished) => {
    const watched = { ...deps, observers: [...deps.observers, { finished }] };
    try {
      await infer(ownArrival(protocols[name]), exchange, watched);
    } catch (error) {
      refuse(exchange, error, deps);
    }
  };
