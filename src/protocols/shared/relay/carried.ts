// An endpoint that providers have in another protocol than the client's, as a protocol of its own.
import type { Carrier, Relayed } from '../../interface/endpoint.ts';
import type { Protocol } from '../../interface/protocol.ts';

/** `spoken`, the protocol of its providers, whose answers are read as the endpoint's. */
export function carriedBy(spoken: Protocol, carrier: Carrier, endpoint: Relayed): Protocol {
  return {
    ...spoken,
    provider: {
      ...spoken.provider,
      decodeReply: (value) => carrier.decodeReply(value),
      createStreamDecoder: (context) =>
        carrier.createStreamDecoder?.() ?? spoken.provider.createStreamDecoder(context),
    },
    relay: {
      ...spoken.relay,
      inspectReply: (value) => endpoint.inspectReply(value),
      createClassifier: (options) =>
        endpoint.createClassifier?.(options) ?? spoken.relay.createClassifier(options),
    },
  };
}
